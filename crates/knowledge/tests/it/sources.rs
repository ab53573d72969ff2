//! What a source says of its documents, and what the base makes of it.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::app::{App, Person, on_both_engines};

/// A source of the admin's, by its id.
async fn source(app: &App, name: &str) -> String {
    let made = app
        .admin()
        .call("create_source", json!({ "name": name }))
        .await
        .unwrap();
    made.json["id"].as_str().unwrap().to_owned()
}

/// One document, said by the editor; the answer.
async fn say(app: &App, source: &str, item: Value) -> Value {
    let mut item = item;
    item["source_id"] = json!(source);
    app.editor().call("push_items", item).await.unwrap().json
}

async fn items(person: &Person<'_>, source: &str) -> Vec<Value> {
    let listed = person
        .call("list_source_items", json!({ "source_id": source }))
        .await
        .unwrap();
    listed.json["items"].as_array().unwrap().clone()
}

async fn versions(app: &App, document: &Value) -> Vec<Value> {
    let listed = app
        .viewer()
        .call("list_versions", json!({ "document_id": document }))
        .await
        .unwrap();
    listed.json["versions"].as_array().unwrap().clone()
}

on_both_engines! {
    async fn what_is_sent_again_is_unchanged_moved_or_updated_by_what_differs(app: &App) {
        let wiki = source(app, "wiki").await;
        let first = json!({ "external_id": "7", "filename": "plan.md", "content": "The harbour opens." });
        let moved = json!({ "external_id": "7", "filename": "plans/plan.md", "content": "The harbour opens." });
        let other = json!({ "external_id": "7", "filename": "plans/plan.md", "content": "The harbour closes." });

        let mut actions = Vec::new();
        for item in [&first, &first, &moved, &moved, &other] {
            let said = say(app, &wiki, item.clone()).await;
            app.work().await;
            app.tick();
            actions.push(said["action"].as_str().unwrap().to_owned());
        }

        assert_eq!(actions, ["created", "unchanged", "moved", "unchanged", "updated"]);
        let found = app.viewer().call("search_chunks", json!({ "query": "harbour" })).await.unwrap().json;
        assert_eq!(found["chunks"][0]["text"], "The harbour closes.");
        assert_eq!(found["chunks"][0]["filename"], "plans/plan.md");
        let listed = items(&app.viewer(), &wiki).await;
        assert_eq!((&listed[0]["external_id"], &listed[0]["version"]), (&json!("7"), &json!(3)));
        let all = versions(app, &listed[0]["document_id"]).await;
        let names: Vec<&str> = all.iter().map(|one| one["filename"].as_str().unwrap()).collect();
        assert_eq!(names, ["plans/plan.md", "plans/plan.md", "plan.md"]);
    }

    async fn what_is_unchanged_makes_no_version_and_no_work(app: &App) {
        let wiki = source(app, "wiki").await;
        let plan = json!({ "filename": "plan.md", "content": "The harbour opens." });
        let made = say(app, &wiki, plan.clone()).await;
        app.work().await;
        let recording = app.core.db.record_statements();

        let again = say(app, &wiki, plan).await;

        assert_eq!((&again["action"], &again["document_id"]), (&json!("unchanged"), &made["document_id"]));
        assert_eq!(versions(app, &made["document_id"]).await.len(), 1);
        let ran = recording.statements();
        let works = |name: &&str| ["jobs::ENQUEUE", "documents::NEXT_VERSION", "documents::SET_STATE"].iter().any(|one| name.ends_with(one));
        assert!(!ran.iter().any(works), "{ran:?}");
    }

    async fn a_document_that_moved_is_not_read_again_and_its_passages_keep_their_ids(app: &App) {
        let wiki = source(app, "wiki").await;
        let text = "# Plan\nThe harbour opens.\n";
        let made = say(app, &wiki, json!({ "external_id": "7", "filename": "plan.md", "content": text })).await;
        app.work().await;
        let id = async || {
            let found = app.viewer().call("search_chunks", json!({ "query": "harbour" })).await.unwrap().json;
            (found["chunks"][0]["chunk_id"].clone(), found["chunks"][0]["filename"].clone())
        };
        let before = id().await;
        app.tick();

        let moved = say(app, &wiki, json!({ "external_id": "7", "filename": "b/plan.md", "content": text })).await;
        // Nothing is left that could be read.
        std::fs::remove_dir_all(app.data.path().join("blobs/kept")).unwrap();
        app.work().await;
        let after = id().await;

        assert_eq!(moved["action"], "moved");
        assert_eq!((before.1, &after.1), (json!("plan.md"), &json!("b/plan.md")));
        assert_eq!(before.0, after.0);
        let shown = app.viewer().call("show_document", json!({ "document_id": made["document_id"] })).await.unwrap().json;
        assert_eq!((&shown["state"], &shown["held_version"]), (&json!("ready"), &json!(2)));
    }

    async fn a_document_that_is_missing_is_gone_and_comes_back_when_it_is_sent_again(app: &App) {
        let wiki = source(app, "wiki").await;
        let plan = json!({ "external_id": "7", "filename": "plan.md", "content": "The harbour opens." });
        let made = say(app, &wiki, plan.clone()).await;
        app.work().await;
        app.tick();
        let then = app.tick();

        let gone = say(app, &wiki, json!({ "external_id": "7", "deleted": true })).await;
        let again = say(app, &wiki, json!({ "external_id": "7", "deleted": true })).await;
        let meanwhile = app.viewer().found("harbour").await;
        let listed = items(&app.viewer(), &wiki).await;
        app.tick();
        let back = say(app, &wiki, plan).await;
        app.work().await;

        assert_eq!((&gone["action"], &again["action"]), (&json!("marked_missing"), &json!("unchanged")));
        assert_eq!(gone["document_id"], made["document_id"]);
        assert!(meanwhile.is_empty());
        assert!(listed[0]["missing_at"].is_string());
        assert_eq!((&back["action"], &back["document_id"]), (&json!("updated"), &made["document_id"]));
        assert_eq!(app.viewer().found("harbour").await, ["The harbour opens."]);
        assert_eq!(app.viewer().found_as_of("harbour", Some(then)).await, ["The harbour opens."]);
        assert!(items(&app.viewer(), &wiki).await[0]["missing_at"].is_null());
    }

    async fn a_missing_document_comes_back_with_another_content_and_name(app: &App) {
        let wiki = source(app, "wiki").await;
        let made = say(app, &wiki, json!({ "external_id": "7", "filename": "plan.md", "content": "The harbour opens." })).await;
        app.work().await;
        say(app, &wiki, json!({ "external_id": "7", "deleted": true })).await;

        let back = say(app, &wiki, json!({ "external_id": "7", "filename": "new.md", "content": "The harbour closes." })).await;
        app.work().await;

        assert_eq!((&back["action"], &back["document_id"]), (&json!("updated"), &made["document_id"]));
        assert_eq!(app.viewer().found("harbour").await, ["The harbour closes."]);
    }

    async fn what_a_source_never_had_is_not_missed(app: &App) {
        let wiki = source(app, "wiki").await;

        let said = say(app, &wiki, json!({ "external_id": "7", "deleted": true })).await;

        assert_eq!((&said["action"], &said["items"][0]["document_id"]), (&json!("unchanged"), &Value::Null));
    }

    async fn the_date_that_a_source_gives_is_the_documents_date(app: &App) {
        let wiki = source(app, "wiki").await;
        let dated = "Date: 2020-01-01\nThe harbour opens.";

        let made = say(app, &wiki, json!({ "filename": "plan.md", "content": dated, "doc_time": "2024-03" })).await;
        app.work().await;
        let other = say(app, &wiki, json!({ "filename": "plan.md", "content": dated, "doc_time": "2024-04" })).await;
        app.work().await;
        let none = say(app, &wiki, json!({ "filename": "plan.md", "content": dated })).await;

        assert_eq!((&other["action"], &none["action"]), (&json!("updated"), &json!("unchanged")));
        let all = versions(app, &made["document_id"]).await;
        let dates: Vec<(&str, &str)> = all.iter().map(|one| (one["date"].as_str().unwrap(), one["date_source"].as_str().unwrap())).collect();
        assert_eq!(dates, [("2024-04", "source"), ("2024-03", "source")]);
    }

    async fn a_bad_item_does_not_keep_the_good_ones_out(app: &App) {
        let wiki = source(app, "wiki").await;
        let batch = json!({ "source_id": wiki, "items": [
            { "external_id": "1", "filename": "one.md", "content": "The first harbour." },
            { "external_id": "2", "filename": "two.md" },
            { "external_id": "3", "filename": "three.md", "content": "x", "doc_time": "last week" },
            { "external_id": "4", "filename": "four.md", "contents": "x" },
            "five",
            { "external_id": "6", "filename": "six.md", "content": "!", "encoding": "base64" },
            { "external_id": "7", "filename": "seven.md", "content": "x", "deleted": true },
            { "content": "x" },
            { "external_id": "9", "filename": "nine.md", "content": "VGhlIG5pbnRoIGhhcmJvdXIu", "encoding": "base64", "doc_time": "" },
        ] });

        let first = app.editor().call("push_items", batch.clone()).await.unwrap().json;
        app.work().await;
        let again = app.editor().call("push_items", batch).await.unwrap().json;

        let actions = |answer: &Value| -> Vec<String> {
            answer["items"].as_array().unwrap().iter().map(|item| match item["action"].as_str() {
                Some(action) => action.to_owned(),
                None => item["code"].as_str().unwrap().to_owned(),
            }).collect()
        };
        let bad = "invalid_argument";
        assert_eq!(actions(&first), ["created", bad, bad, bad, bad, bad, bad, bad, "created"]);
        assert_eq!(actions(&again), ["unchanged", bad, bad, bad, bad, bad, bad, bad, "unchanged"]);
        let why = |n: usize| first["items"][n]["error"].as_str().unwrap().to_owned();
        assert!(why(1).contains("`content` is missing"), "{}", why(1));
        assert!(why(2).contains("not `last week`"), "{}", why(2));
        assert!(why(3).contains("`contents`"), "{}", why(3));
        assert!(why(5).contains("no base64"), "{}", why(5));
        assert!(why(6).contains("contradict"), "{}", why(6));
        assert!(why(7).contains("`external_id`"), "{}", why(7));
        let mut found = app.viewer().found("harbour").await;
        found.sort_unstable();
        assert_eq!(found, ["The first harbour.", "The ninth harbour."]);
    }

    async fn what_is_said_twice_in_a_batch_is_taken_in_its_order(app: &App) {
        let wiki = source(app, "wiki").await;
        let here = |text: &str| json!({ "external_id": "7", "filename": "plan.md", "content": text });
        say(app, &wiki, here("The harbour opens.")).await;
        app.work().await;

        let batch = json!({ "source_id": wiki, "items": [here("The harbour closes."), here("The harbour opens.")] });
        let said = app.editor().call("push_items", batch).await.unwrap().json;
        app.work().await;

        assert_eq!((&said["items"][0]["action"], &said["items"][1]["action"]), (&json!("updated"), &json!("updated")));
        assert_eq!(app.viewer().found("harbour").await, ["The harbour opens."]);
    }

    async fn a_batch_is_bounded_and_one_wrong_document_is_refused_like_any_argument(app: &App) {
        let wiki = source(app, "wiki").await;
        let many: Vec<Value> = (0..501).map(|n| json!({ "external_id": n.to_string(), "deleted": true })).collect();

        let long = app.editor().call("push_items", json!({ "source_id": wiki, "items": many })).await.unwrap_err();
        let both = app.editor().call("push_items", json!({ "source_id": wiki, "filename": "a.md", "items": [] })).await.unwrap_err();
        let bare = app.editor().call("push_items", json!({ "source_id": wiki })).await.unwrap_err();

        assert!(long.message.contains("at most 500, not 501"), "{long}");
        assert!(both.message.contains("one document or several"), "{both}");
        assert!(bare.message.contains("`external_id` or `filename`"), "{bare}");
    }

    async fn two_sources_and_the_base_itself_may_use_one_key(app: &App) {
        let (wiki, mail) = (source(app, "wiki").await, source(app, "mail").await);
        let own = app.editor().add("7", "The base's own harbour.", json!({ "filename": "7.md", "external_id": "7" })).await.unwrap();

        let mut ids = vec![own.json["document_id"].clone()];
        for (source, text) in [(&wiki, "The wiki's harbour."), (&mail, "The mail's harbour.")] {
            let said = say(app, source, json!({ "external_id": "7", "filename": "7.md", "content": text })).await;
            assert_eq!(said["action"], "created");
            ids.push(said["document_id"].clone());
        }
        app.work().await;

        ids.dedup();
        assert_eq!(ids.len(), 3);
        assert_eq!(app.viewer().found("harbour").await.len(), 3);
    }

    async fn a_document_that_could_not_be_read_is_tried_again_when_it_is_sent_again(app: &App) {
        let wiki = source(app, "wiki").await;
        let broken = json!({ "filename": "a.md", "content": "//79", "encoding": "base64" });
        let made = say(app, &wiki, broken.clone()).await;
        app.work_until_given_up().await;
        let failed = app.viewer().call("show_document", json!({ "document_id": made["document_id"] })).await.unwrap().json;

        let again = say(app, &wiki, broken).await;
        let waiting = app.viewer().call("show_document", json!({ "document_id": made["document_id"] })).await.unwrap().json;

        assert_eq!((&failed["state"], &again["action"], &waiting["state"]), (&json!("failed"), &json!("unchanged"), &json!("pending")));
    }

    async fn a_purge_forgets_what_the_source_called_the_document(app: &App) {
        let wiki = source(app, "wiki").await;
        let plan = json!({ "external_id": "canary-7", "filename": "plan.md", "content": "The harbour opens." });
        let made = say(app, &wiki, plan.clone()).await;
        app.work().await;

        app.admin().call("purge_document", json!({ "document_id": made["document_id"] })).await.unwrap();
        app.work().await;
        let listed = items(&app.admin(), &wiki).await;
        let anew = say(app, &wiki, plan).await;

        assert!(listed.is_empty(), "{listed:?}");
        assert_eq!(anew["action"], "created");
        assert_ne!(anew["document_id"], made["document_id"]);
    }

    async fn a_source_and_its_documents_are_for_its_least_role(app: &App) {
        let made = app.admin().call("create_source", json!({ "name": "board", "least_role": "admin" })).await.unwrap().json;
        let board = made["id"].as_str().unwrap();
        let item = json!({ "source_id": board, "filename": "plan.md", "content": "The harbour closes." });
        app.admin().call("push_items", item.clone()).await.unwrap();
        app.work().await;
        let made_up = "0198c5f2-7c1e-7b8a-9f5e-2b1c6a7d8e90";

        for person in [app.viewer(), app.editor()] {
            assert!(person.found("harbour").await.is_empty());
            let listed = person.call("list_sources", json!({})).await.unwrap().json;
            assert_eq!(listed["sources"], json!([]));
            for name in ["show_source", "list_source_items"] {
                let hidden = person.call(name, json!({ "source_id": board })).await.unwrap_err();
                let unknown = person.call(name, json!({ "source_id": made_up })).await.unwrap_err();
                assert_eq!((hidden.code, &hidden.message), (unknown.code, &unknown.message), "{name}");
            }
        }
        let refused = app.editor().call("push_items", item).await.unwrap_err();
        assert_eq!(refused.message, "no source with that id");
        assert_eq!(app.admin().found("harbour").await, ["The harbour closes."]);
    }

    async fn who_sees_a_document_of_a_source_its_source_says_until_it_is_deleted(app: &App) {
        let wiki = source(app, "wiki").await;
        let made = say(app, &wiki, json!({ "filename": "plan.md", "content": "The harbour opens." })).await;
        app.work().await;
        let hide = json!({ "document_id": made["document_id"], "least_role": "admin" });

        let refused = app.admin().call("update_document", hide.clone()).await.unwrap_err();
        app.admin().call("delete_source", json!({ "source_id": wiki })).await.unwrap();
        app.work().await;
        let hidden = app.admin().call("update_document", hide).await.unwrap().json;

        assert_eq!(refused.code.name(), "conflict");
        assert_eq!((&hidden["external_id"], &hidden["least_role"]), (&json!("plan.md"), &json!("admin")));
        assert!(app.viewer().found("harbour").await.is_empty());
        assert_eq!(app.admin().found("harbour").await, ["The harbour opens."]);
    }

    async fn editors_send_and_admins_make_and_delete_sources(app: &App) {
        let wiki = source(app, "wiki").await;
        let named = json!({ "source_id": wiki });
        let item = json!({ "source_id": wiki, "filename": "plan.md", "content": "The harbour opens." });

        let mut refused = Vec::new();
        for (person, name, arguments) in [
            (app.viewer(), "push_items", &item),
            (app.editor(), "create_source", &json!({ "name": "mail" })),
            (app.editor(), "update_source", &named),
            (app.editor(), "delete_source", &named),
        ] {
            refused.push(person.call(name, arguments.clone()).await.unwrap_err().code.name());
        }

        assert_eq!(refused, ["forbidden"; 4]);
        assert_eq!(say(app, &wiki, item).await["action"], "created");
    }

    async fn a_deleted_source_leaves_its_documents_or_takes_them_along(app: &App) {
        let (kept, taken) = (source(app, "kept").await, source(app, "taken").await);
        for (source, text) in [(&kept, "The kept harbour."), (&taken, "The taken harbour.")] {
            say(app, source, json!({ "filename": "plan.md", "content": text })).await;
        }
        app.work().await;

        let keeps = app.admin().call("delete_source", json!({ "source_id": kept })).await.unwrap().json;
        let takes = app.admin().call("delete_source", json!({ "source_id": taken, "documents": "delete" })).await.unwrap().json;
        app.work().await;

        assert_eq!((&keeps["kept"], &keeps["deleted"]), (&json!(1), &json!(0)));
        assert_eq!((&takes["kept"], &takes["deleted"]), (&json!(0), &json!(1)));
        assert_eq!(app.viewer().found("harbour").await, ["The kept harbour."]);
        let late = app.editor().call("push_items", json!({ "source_id": kept, "filename": "a.md", "content": "x" })).await.unwrap_err();
        assert_eq!(late.message, "no source with that id");
    }

    async fn a_source_has_a_name_of_its_own_and_can_be_renamed(app: &App) {
        let wiki = source(app, "wiki").await;
        let folder = json!({ "name": "papers", "kind": "folder", "path": "/srv/papers" });
        let papers = app.admin().call("create_source", folder).await.unwrap().json;

        let twice = app.admin().call("create_source", json!({ "name": "wiki" })).await.unwrap_err();
        let taken = app.admin().call("update_source", json!({ "source_id": wiki, "name": "papers" })).await.unwrap_err();
        let renamed = app.admin().call("update_source", json!({ "source_id": wiki, "name": "handbook" })).await.unwrap().json;
        let listed = app.viewer().call("list_sources", json!({})).await.unwrap().json;

        assert_eq!((twice.code.name(), taken.code.name()), ("conflict", "conflict"));
        assert_eq!((&renamed["name"], &renamed["id"]), (&json!("handbook"), &json!(wiki)));
        assert_eq!((&papers["kind"], &papers["settings"]["path"]), (&json!("folder"), &json!("/srv/papers")));
        let names: Vec<&str> = listed["sources"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["handbook", "papers"]);
    }
}

/// What a sender does with a document.
#[derive(Debug, Clone)]
struct Act {
    document: u8,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    Here {
        name: u8,
        content: u8,
        date: Option<u16>,
    },
    Gone,
    /// A person deletes it, without the source.
    DeletedByHand,
}

/// The plain version of a document.
#[derive(Debug, Clone, Default, PartialEq)]
struct Plain {
    name: u8,
    content: u8,
    /// The last date that its source gave the present content.
    date: Option<u16>,
    is_here: bool,
    is_missing: bool,
}

/// What should be answered, and what should be so afterwards.
fn plainly(base: &mut BTreeMap<u8, Plain>, act: &Act) -> Option<&'static str> {
    let known = base.get_mut(&act.document);
    match (&act.what, known) {
        (
            What::Here {
                name,
                content,
                date,
            },
            None,
        ) => {
            let plain = Plain {
                name: *name,
                content: *content,
                date: *date,
                is_here: true,
                is_missing: false,
            };
            base.insert(act.document, plain);
            Some("created")
        }
        (
            What::Here {
                name,
                content,
                date,
            },
            Some(plain),
        ) => {
            let same_content = plain.content == *content && (date.is_none() || plain.date == *date);
            let same_name = plain.name == *name;
            let action = match (plain.is_here, same_content, same_name) {
                (true, true, true) => "unchanged",
                (true, true, false) => "moved",
                _ => "updated",
            };
            // The same bytes keep the date that they were given.
            plain.date = if plain.content == *content {
                date.or(plain.date)
            } else {
                *date
            };
            (plain.name, plain.content, plain.is_here, plain.is_missing) =
                (*name, *content, true, false);
            Some(action)
        }
        (What::Gone, None) => Some("unchanged"),
        (What::Gone, Some(plain)) => {
            let known = plain.is_missing && !plain.is_here;
            (plain.is_here, plain.is_missing) = (false, true);
            Some(if known { "unchanged" } else { "marked_missing" })
        }
        (What::DeletedByHand, Some(plain)) => {
            plain.is_here = false;
            None
        }
        (What::DeletedByHand, None) => None,
    }
}

fn name_of(name: u8) -> String {
    format!("folder/{name}.md")
}

fn text_of(content: u8) -> String {
    format!("The harbour at quay {content} opens.")
}

fn act() -> impl Strategy<Value = Act> {
    let here = (
        0_u8..3,
        0_u8..3,
        prop::option::weighted(0.3, 2000_u16..2002),
    )
        .prop_map(|(name, content, date)| What::Here {
            name,
            content,
            date,
        });
    let what = prop_oneof![6 => here, 2 => Just(What::Gone), 1 => Just(What::DeletedByHand)];
    (0_u8..3, what).prop_map(|(document, what)| Act { document, what })
}

/// Each part is one batch, and whether it is read before the next; what people do by hand comes
/// between.
fn history() -> impl Strategy<Value = Vec<(bool, Vec<Act>)>> {
    prop::collection::vec((any::<bool>(), prop::collection::vec(act(), 1..4)), 1..5)
}

async fn agree(app: &App, case: u32, batches: &[(bool, Vec<Act>)]) -> Result<(), TestCaseError> {
    let source = source(app, &format!("case {case}")).await;
    let mut base = BTreeMap::new();
    let mut ids: BTreeMap<u8, Value> = BTreeMap::new();
    for (is_read, batch) in batches {
        let (mut sent, mut wanted) = (Vec::new(), Vec::new());
        for act in batch {
            let id = act.document.to_string();
            let item = match &act.what {
                What::Here {
                    name,
                    content,
                    date,
                } => json!({
                    "external_id": id, "filename": name_of(*name), "content": text_of(*content),
                    "doc_time": date.map(|date| date.to_string()),
                }),
                What::Gone => json!({ "external_id": id, "deleted": true }),
                What::DeletedByHand => {
                    if let Some(document) = ids.get(&act.document).filter(|_| sent.is_empty()) {
                        plainly(&mut base, act);
                        let _ = app
                            .editor()
                            .call("delete_document", json!({ "document_id": document }))
                            .await;
                    }
                    continue;
                }
            };
            wanted.push((act.document, plainly(&mut base, act).unwrap()));
            sent.push(item);
        }
        if sent.is_empty() {
            continue;
        }
        let said = app
            .editor()
            .call("push_items", json!({ "source_id": source, "items": sent }))
            .await
            .unwrap()
            .json;
        for (item, (document, action)) in said["items"].as_array().unwrap().iter().zip(&wanted) {
            prop_assert_eq!(
                item["action"].as_str(),
                Some(*action),
                "{} of {:?}",
                document,
                batch
            );
            if !item["document_id"].is_null() {
                ids.insert(*document, item["document_id"].clone());
            }
        }
        if *is_read {
            app.work().await;
        }
        app.tick();
    }
    app.work().await;

    let listed: BTreeMap<u8, Value> = items(&app.viewer(), &source)
        .await
        .into_iter()
        .map(|item| (item["external_id"].as_str().unwrap().parse().unwrap(), item))
        .collect();
    prop_assert_eq!(
        listed.keys().collect::<Vec<_>>(),
        base.keys().collect::<Vec<_>>()
    );
    for (document, plain) in &base {
        let item = &listed[document];
        prop_assert_eq!(item["filename"].as_str().unwrap(), name_of(plain.name));
        prop_assert_eq!(item["missing_at"].is_null(), !plain.is_missing);
        prop_assert_eq!(item["deleted_at"].is_null(), plain.is_here);
        let read = app
            .viewer()
            .read(item["document_id"].as_str().unwrap())
            .await;
        prop_assert_eq!(read.is_ok(), plain.is_here);
        if let Ok(text) = read {
            prop_assert!(text.contains(&text_of(plain.content)), "{text}");
            let date = plain
                .date
                .map_or("no date".to_owned(), |date| date.to_string());
            prop_assert!(
                text.starts_with(&format!("\"{}\" ({date})", name_of(plain.name))),
                "{text}"
            );
        }
    }
    Ok(())
}

fn try_histories(app: Option<App>, runtime: &tokio::runtime::Runtime, cases: u32) {
    let Some(app) = app else { return };
    let case = std::cell::Cell::new(0);
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 200,
        ..Config::default()
    };
    let tried = TestRunner::new(config).run(&history(), |batches| {
        case.set(case.get() + 1);
        runtime.block_on(agree(&app, case.get(), &batches))
    });
    if let Err(failed) = tried {
        panic!("{failed}");
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

#[test]
fn any_history_of_pushes_leaves_the_base_as_a_plain_model_of_it_on_sqlite() {
    let runtime = runtime();
    let app = runtime.block_on(App::sqlite());
    try_histories(Some(app), &runtime, 256);
}

#[test]
fn any_history_of_pushes_leaves_the_base_as_a_plain_model_of_it_on_postgres() {
    let runtime = runtime();
    let app = runtime.block_on(App::postgres());
    try_histories(app, &runtime, 64);
}
