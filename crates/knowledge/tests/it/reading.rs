//! Reading page by page, and the bounds of answers.

use serde_json::json;

use crate::app::{App, on_both_engines};

on_both_engines! {
    async fn walking_the_pages_gives_back_the_whole_text(app: &App) {
        let unit = "👩‍👩‍👧‍👦 e\u{301} 𝔘𐍈 line\r\nnext 漢字。 ";
        let bodies = [unit.repeat(700), String::new(), unit.repeat(1200)];
        let text = format!("{}\n# A\n## B\n{}", bodies[0], bodies[2]);
        let document = app.document("long.md", &text).await;

        let (mut walked, mut offset, mut pages) = (String::new(), json!(null), 0);
        loop {
            let asked = json!({ "document_id": document, "offset": offset });
            let page = app.viewer().call("get_document", asked).await.unwrap();
            for section in page.json["sections"].as_array().unwrap() {
                walked.push_str(section["text"].as_str().unwrap());
            }
            pages += 1;
            offset = page.json["next_offset"].clone();
            if offset.is_null() {
                break;
            }
            assert!(page.text.contains(&format!("\"offset\": {offset}")), "{offset}");
        }

        let whole: String = bodies.iter().map(|body| body.trim()).collect();
        assert_eq!(walked, whole);
        assert_eq!(pages, whole.chars().count().div_ceil(24_000));
        let past = json!({ "document_id": document, "offset": whole.chars().count() });
        assert!(app.viewer().call("get_document", past).await.unwrap().text.contains("no text remains"));
        let negative = json!({ "document_id": document, "offset": -1 });
        let refused = app.viewer().call("get_document", negative).await.unwrap_err();
        assert_eq!(refused.message, "`offset` must be 0 or more, not -1");
    }

    async fn a_search_gives_six_passages_of_at_most_800_characters(app: &App) {
        for n in 0..8 {
            let sentence = format!("The harbour master of place {n} writes about ships number {n}. ");
            app.document(&format!("{n}.md"), &sentence.repeat(16)).await;
        }

        let answer = app.viewer().call("search_chunks", json!({ "query": "harbour master" })).await.unwrap();

        let chunks = answer.json["chunks"].as_array().unwrap();
        assert_eq!((chunks.len(), &answer.json["limit_reached"]), (6, &json!(true)));
        for (n, hit) in (1..).zip(chunks) {
            let (text, document) = (hit["text"].as_str().unwrap(), hit["document_id"].as_str().unwrap());
            assert_eq!((text.chars().count(), text.ends_with('…')), (801, true));
            assert_eq!(hit["truncated"], true);
            let line = format!("[{n}] {} section {} (document_id: {document}):\n{text}", hit["filename"], hit["seq"]);
            assert!(answer.text.contains(&line), "{line}");
        }
    }

    /// Case 30: answers beyond the client's cap of some 25,000 tokens.
    async fn no_answer_outgrows_the_cap_of_its_client(app: &App) {
        // Four bytes a character, passages longer than what is shown, long names and headings.
        for n in 0..8 {
            let sentence = format!("{}number {n}. ", "𐍈𐌰𐌹𐍂𐌸𐌰 ".repeat(8));
            app.document(&format!("{n}{}.md", "x".repeat(180)), &sentence.repeat(16)).await;
        }
        let headings: String = (0..3_000).map(|n| format!("# {n} {}\nx\n", "heading ".repeat(20))).collect();
        let headed = app.document("headed.md", &headings).await;

        let answer = app.viewer().call("search_chunks", json!({ "query": "𐍈𐌰𐌹𐍂𐌸𐌰" })).await.unwrap();
        assert!(answer.text.len() < 32_000, "{}", answer.text.len());
        assert!(answer.json.to_string().len() < 32_000);
        let chunks = answer.json["chunks"].as_array().unwrap();
        assert!(chunks.len() == 6 && chunks.iter().all(|hit| hit["truncated"] == true));

        let page = app.viewer().call("get_document", json!({ "document_id": headed })).await.unwrap();
        assert!(page.text.len() < 100_000, "{}", page.text.len());
        assert!(0 < page.json["headings_left_out"].as_u64().unwrap());
        assert!(page.text.contains("heading(s) left out]"));
        let bodies: Vec<&str> = page.json["sections"].as_array().unwrap().iter().filter_map(|s| s["text"].as_str()).collect();
        assert_eq!(bodies.concat(), "x".repeat(3_000));
    }

    async fn a_search_without_a_hit_says_so(app: &App) {
        let answer = app.viewer().call("search_chunks", json!({ "query": "harbour" })).await.unwrap();
        assert_eq!((answer.text.as_str(), &answer.json["chunks"]), ("No results.", &json!([])));
    }

    async fn the_manual_is_searched_apart_from_the_documents(app: &App) {
        app.document("plan.md", "A token of our gratitude.").await;

        let answer = app.viewer().call("search_docs", json!({ "query": "when does a token expire" })).await.unwrap();

        let text = answer.json["sections"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("A token expires after 90 days.") && text.ends_with('…'));
        assert_eq!(text.chars().count(), 1601);
        assert!(!answer.text.contains("gratitude"));
    }
}
