//! A change of the embedding model: it refuses no start, destroys, mixes and hides nothing, and
//! can be taken back.

use std::time::Duration;

use http::Method;
use kernel::job;
use providers::models::{MINILM, Manifest, ManifestFile};
use providers::{Embedder, EndpointOptions, KnownModel};
use serde_json::{Value, json};
use server::app::JOBS;

use crate::house::{House, on_both_engines};
use crate::openai::{Endpoint, Mood};

/// Words of one meaning, so that a hit can be one of vectors only.
const SAME: &[(&str, &str)] = &[("automobile", "car")];

const CAR: &str = "The car stands behind the barn.";

impl House {
    /// A model without a file or a server.
    fn know(&self, name: &str, width: usize) {
        let embedder = Embedder::hash_named(name, width, SAME);
        self.app.core.embedders.put(KnownModel::new(name, embedder));
    }

    fn lose(&self, name: &str) {
        let gone = KnownModel {
            name: name.to_owned(),
            embedder: Err("its file is missing; put it back".to_owned()),
        };
        self.app.core.embedders.put(gone);
    }

    async fn choose(&self, name: &str) -> Value {
        let name = json!({ "name": name });
        self.local(Method::POST, "/api/v1/models/use", name)
            .await
            .ok()
    }

    async fn roll_back(&self) -> Value {
        self.local(Method::POST, "/api/v1/models/rollback", Value::Null)
            .await
            .ok()
    }

    async fn models(&self) -> Value {
        self.local(Method::GET, "/api/v1/models", Value::Null)
            .await
            .ok()
    }

    /// The state of the one base.
    async fn base_state(&self) -> Value {
        self.models().await["bases"][0].clone()
    }

    /// Vectors of the model whose tag begins so.
    async fn vectors(&self, model: &str) -> u64 {
        let state = self.base_state().await;
        let coverage = state["coverage"].as_array().unwrap().iter();
        let mut of_model = coverage.filter(|one| one["model"].as_str().unwrap().starts_with(model));
        of_model
            .next()
            .map_or(0, |one| one["vectors"].as_u64().unwrap())
    }

    async fn ask(&self, kb: &str, query: &str) -> Value {
        self.local(
            Method::GET,
            &format!("/api/v1/kbs/{kb}/search?query={query}"),
            Value::Null,
        )
        .await
        .ok()
    }

    /// Whether the word finds the car, which only vectors can tell, and what the answer notes.
    async fn finds_the_car(&self, kb: &str) -> (bool, Value) {
        let answer = self.ask(kb, "automobile").await;
        let first = answer["chunks"][0]["text"].as_str().unwrap_or_default();
        (first == CAR, answer["notes"].clone())
    }

    async fn doctor(&self) -> Value {
        self.local(Method::GET, "/api/v1/doctor", Value::Null)
            .await
            .ok()
    }

    /// What the doctor says about the subject, with whether it is right.
    async fn doctor_says(&self, about: &str) -> Vec<(bool, String)> {
        let doctor = self.doctor().await;
        let findings = doctor["findings"].as_array().unwrap().iter();
        findings
            .filter(|one| one["about"] == about)
            .map(|one| {
                (
                    one["right"].as_bool().unwrap(),
                    one["sentence"].as_str().unwrap().to_owned(),
                )
            })
            .collect()
    }
}

/// A base with the car among other things, searched with the model `small`.
async fn garage(house: &House) -> String {
    house.know("small", 64);
    house.know("large", 96);
    house.know("mirror", 64);
    house.choose("small").await;
    let kb = house.base("Garage", "open").await;
    house.document(&kb, "car.md", CAR).await;
    for n in 0..3 {
        house
            .document(
                &kb,
                &format!("{n}.md"),
                &format!("Otter {n} sleeps on the river."),
            )
            .await;
    }
    assert_eq!(house.finds_the_car(&kb).await, (true, json!([])));
    kb
}

#[test]
fn a_model_change_hides_nothing_while_the_new_vectors_are_made() {
    on_both_engines(|house| async move {
        let kb = garage(&house).await;

        house.choose("large").await;
        let meanwhile = house.base_state().await;
        let found = house.finds_the_car(&kb).await;
        house.work().await;
        let after = house.base_state().await;

        assert_eq!(found, (true, json!([])));
        assert_eq!(
            (&meanwhile["serving"], &meanwhile["building"]),
            (&json!("small-64@1"), &json!("large-96@1"))
        );
        let covered = |model: &str, vectors: u64, share: f64| json!({ "model": model, "vectors": vectors, "share": share });
        assert_eq!(
            meanwhile["coverage"],
            json!([covered("small-64@1", 4, 1.0), covered("large-96@1", 0, 0.0)])
        );
        assert_eq!(
            (&after["serving"], &after["building"]),
            (&json!("large-96@1"), &Value::Null)
        );
        assert_eq!(
            after["coverage"],
            json!([covered("large-96@1", 4, 1.0), covered("small-64@1", 4, 1.0)])
        );
        assert_eq!(house.finds_the_car(&kb).await, (true, json!([])));
    });
}

#[test]
fn a_base_is_switched_only_when_no_passage_lacks_a_vector() {
    on_both_engines(|house| async move {
        let kb = garage(&house).await;
        // 40 passages more: two batches.
        let sections: String = (0..40)
            .map(|n| format!("# Shed {n}\n\nTool number {n} hangs here.\n\n"))
            .collect();
        house.document(&kb, "sheds.md", &sections).await;
        let endpoint = Endpoint::start(Mood::Stops(32, 32));
        house
            .app
            .core
            .embedders
            .put(KnownModel::new("slow", embedder(&endpoint, "slow", 32)));
        house.choose("slow").await;

        let core = std::sync::Arc::clone(&house.app.core);
        let working =
            tokio::spawn(async move { while job::run_next(&core, JOBS).await.unwrap() {} });
        tokio::task::block_in_place(|| endpoint.wait_until_asked_in_vain());
        let half = (
            house.base_state().await["serving"].clone(),
            house.vectors("slow").await,
        );
        let found = house.finds_the_car(&kb).await;
        endpoint.set(Mood::Answers(32));
        working.await.unwrap();
        let whole = house.base_state().await;

        assert_eq!(half, (json!("small-64@1"), 32));
        assert_eq!(house.vectors("slow").await, 44);
        assert_eq!(found, (true, json!([])));
        assert!(
            whole["serving"]
                .as_str()
                .unwrap()
                .starts_with("slow@127.0.0.1")
        );
    });
}

fn embedder(endpoint: &Endpoint, model: &str, width: usize) -> Embedder {
    let options = EndpointOptions {
        attempts: 1.try_into().unwrap(),
        pause: Duration::from_millis(1),
        time: Duration::from_mins(1),
        ..EndpointOptions::new(&endpoint.url, model, width.try_into().unwrap())
    };
    Embedder::endpoint(options).unwrap()
}

#[test]
fn a_model_change_destroys_no_vector_and_is_taken_back_at_once() {
    on_both_engines(|house| async move {
        let kb = garage(&house).await;
        house.choose("large").await;
        house.work().await;
        house
            .document(&kb, "late.md", "The ferry leaves at noon.")
            .await;

        let back = house.roll_back().await;
        let found = house.finds_the_car(&kb).await;
        let lacking = house.vectors("small").await;
        house.work().await;

        assert_eq!(
            (&back["wanted"], &back["before"]),
            (&json!("small"), &json!("large"))
        );
        assert_eq!(
            (&back["bases"][0]["serving"], &back["bases"][0]["previous"]),
            (&json!("small-64@1"), &json!("large-96@1"))
        );
        assert_eq!(found, (true, json!([])));
        assert_eq!(
            (
                lacking,
                house.vectors("small").await,
                house.vectors("large").await
            ),
            (4, 5, 5)
        );
        let forth = house.roll_back().await;
        assert_eq!(forth["bases"][0]["serving"], "large-96@1");
    });
}

#[test]
fn a_change_that_is_taken_back_half_way_leaves_every_base_as_it_was() {
    on_both_engines(|house| async move {
        let kb = garage(&house).await;
        house.choose("large").await;

        house.roll_back().await;
        house.work().await;

        let state = house.base_state().await;
        assert_eq!(
            (&state["serving"], &state["building"]),
            (&json!("small-64@1"), &Value::Null)
        );
        assert_eq!(house.vectors("large").await, 0);
        assert_eq!(house.finds_the_car(&kb).await, (true, json!([])));
    });
}

#[test]
fn two_models_of_one_width_are_never_mixed() {
    on_both_engines(|house| async move {
        let kb = garage(&house).await;

        // After each change the question is read by another model than the passages before.
        for name in ["mirror", "small", "mirror"] {
            house.choose(name).await;
            assert_eq!(
                house.finds_the_car(&kb).await,
                (true, json!([])),
                "before {name}"
            );
            house.work().await;
            assert_eq!(
                house.finds_the_car(&kb).await,
                (true, json!([])),
                "after {name}"
            );
        }
    });
}

#[test]
fn a_document_that_comes_during_the_change_has_vectors_of_both_models() {
    on_both_engines(|house| async move {
        let kb = garage(&house).await;
        house.choose("large").await;

        house
            .upload(&kb, "late.md", "A late lorry.", "viewer")
            .await
            .ok();
        let is_ready = async || {
            let all = house
                .local(
                    Method::GET,
                    &format!("/api/v1/kbs/{kb}/documents"),
                    Value::Null,
                )
                .await
                .ok();
            all["documents"]
                .as_array()
                .unwrap()
                .iter()
                .all(|one| one["state"] == "ready")
        };
        while !is_ready().await {
            assert!(job::run_next(&house.app.core, JOBS).await.unwrap());
        }

        let state = house.base_state().await;
        assert_eq!(
            (&state["serving"], &state["passages"]),
            (&json!("small-64@1"), &json!(5))
        );
        assert_eq!(
            (house.vectors("small").await, house.vectors("large").await),
            (5, 1)
        );
        house.work().await;
        assert_eq!(
            (
                house.base_state().await["serving"].clone(),
                house.vectors("large").await
            ),
            (json!("large-96@1"), 5)
        );
    });
}

#[test]
fn pruning_takes_only_what_no_search_asks_for() {
    on_both_engines(|house| async move {
        let kb = garage(&house).await;
        house.choose("large").await;
        let half = house
            .local(Method::POST, "/api/v1/models/prune", Value::Null)
            .await
            .ok();
        house.work().await;

        let pruned = house
            .local(Method::POST, "/api/v1/models/prune", Value::Null)
            .await
            .ok();
        house.work().await;

        assert_eq!(half["pruned"], json!([]));
        assert_eq!(
            (
                &pruned["pruned"][0]["model"],
                &pruned["pruned"][0]["vectors"]
            ),
            (&json!("small-64@1"), &json!(4))
        );
        assert_eq!(
            (house.vectors("small").await, house.vectors("large").await),
            (0, 4)
        );
        assert_eq!(house.base_state().await["previous"], Value::Null);
        assert_eq!(house.finds_the_car(&kb).await, (true, json!([])));
        house.roll_back().await;
        assert_eq!(
            house.finds_the_car(&kb).await,
            (true, json!([])),
            "it waits for vectors as at first"
        );
        house.work().await;
        assert_eq!(house.base_state().await["serving"], "small-64@1");
    });
}

#[test]
fn a_model_that_is_gone_leaves_its_vectors_and_the_words() {
    on_both_engines(|house| async move {
        let kb = garage(&house).await;

        house.lose("small");
        let (found, notes) = house.finds_the_car(&kb).await;
        let by_words = house.ask(&kb, "barn").await;
        let doctor = house.doctor_says("vectors").await;
        house.document(&kb, "new.md", "A new shed.").await;
        let kept = house.vectors("small").await;
        house.know("small", 64);
        knowledge::documents::enqueue_missing_vectors(&house.app.core)
            .await
            .unwrap();
        house.work().await;

        assert!(!found);
        assert!(
            notes[0]
                .as_str()
                .unwrap()
                .starts_with("Searched by words only: the model"),
            "{notes}"
        );
        assert_eq!(by_words["chunks"][0]["text"], CAR);
        assert!(
            !doctor[0].0 && doctor[0].1.contains("reads no question here"),
            "{doctor:?}"
        );
        assert_eq!((kept, house.vectors("small").await), (4, 5));
        assert_eq!(house.finds_the_car(&kb).await, (true, json!([])));
    });
}

#[test]
fn with_the_old_model_gone_words_serve_until_the_new_vectors_are_whole() {
    on_both_engines(|house| async move {
        let kb = garage(&house).await;
        house.lose("small");

        house.choose("large").await;
        let meanwhile = house.finds_the_car(&kb).await;
        house.work().await;

        assert!(!meanwhile.0 && meanwhile.1[0].as_str().unwrap().contains("words only"));
        assert_eq!(house.finds_the_car(&kb).await, (true, json!([])));
        let refused = house
            .local(Method::POST, "/api/v1/models/rollback", Value::Null)
            .await;
        assert_eq!(refused.status, 409);
        assert!(
            refused.json()["error"]
                .as_str()
                .unwrap()
                .contains("its file is missing; put it back")
        );
        assert_eq!(house.finds_the_car(&kb).await, (true, json!([])));
    });
}

#[test]
fn a_server_that_is_down_stops_no_document_and_no_search() {
    on_both_engines(|house| async move {
        let endpoint = Endpoint::start(Mood::Refuses(503));
        house
            .app
            .core
            .embedders
            .put(KnownModel::new("far", embedder(&endpoint, "far", 32)));
        house.choose("far").await;
        let kb = house.base("Garage", "open").await;

        house.document(&kb, "car.md", CAR).await;
        let documents = house
            .local(
                Method::GET,
                &format!("/api/v1/kbs/{kb}/documents"),
                Value::Null,
            )
            .await
            .ok();
        let by_words = house.ask(&kb, "barn").await;
        let state = house.models().await;
        let doctor = house.doctor_says("model").await;
        endpoint.set(Mood::Answers(32));
        house.clock.advance_seconds(31);
        house.work().await;

        assert_eq!(documents["documents"][0]["state"], "ready");
        assert_eq!(by_words["chunks"][0]["text"], CAR);
        let down = "the embedding server `127.0.0.1` answered 503";
        let far = state["models"]
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["name"] == "far")
            .unwrap();
        assert_eq!(
            (&far["trouble"], &state["bases"][0]["waits_for"]),
            (&json!(down), &json!(down))
        );
        assert!(!doctor[0].0 && doctor[0].1.contains(down), "{doctor:?}");
        assert_eq!(house.finds_the_car(&kb).await, (true, json!([])));
        // And down again: what has vectors stays, the question is without.
        endpoint.set(Mood::Refuses(503));
        let (found, notes) = house.finds_the_car(&kb).await;
        assert!(
            !found && notes[0].as_str().unwrap().contains("did not answer"),
            "{notes}"
        );
        assert_eq!(house.vectors("far").await, 1);
    });
}

#[test]
fn an_answer_of_another_width_is_no_vector() {
    on_both_engines(|house| async move {
        let endpoint = Endpoint::start(Mood::Answers(16));
        house
            .app
            .core
            .embedders
            .put(KnownModel::new("far", embedder(&endpoint, "far", 32)));
        house.choose("far").await;
        let kb = house.base("Garage", "open").await;

        house.document(&kb, "car.md", CAR).await;

        let state = house.base_state().await;
        assert!(
            state["waits_for"]
                .as_str()
                .unwrap()
                .contains("answered 16 numbers and not 32"),
            "{state}"
        );
        assert_eq!(house.vectors("far").await, 0);
        assert_eq!(house.ask(&kb, "barn").await["chunks"][0]["text"], CAR);
    });
}

#[test]
fn a_passage_that_the_model_refuses_keeps_no_other_waiting() {
    on_both_engines(|house| async move {
        let endpoint = Endpoint::start(Mood::RefusesPoison(32));
        house
            .app
            .core
            .embedders
            .put(KnownModel::new("picky", embedder(&endpoint, "picky", 32)));
        let kb = garage(&house).await;
        house
            .document(&kb, "poison.md", "A bottle of poison.")
            .await;

        house.choose("picky").await;
        house.work().await;

        assert!(
            house.base_state().await["serving"]
                .as_str()
                .unwrap()
                .starts_with("picky@")
        );
        assert_eq!(house.vectors("picky").await, 5);
        assert_eq!(house.finds_the_car(&kb).await, (true, json!([])));
        assert_eq!(
            house.ask(&kb, "bottle").await["chunks"][0]["text"],
            "A bottle of poison."
        );
    });
}

#[test]
fn a_changed_file_of_the_local_model_is_named_with_what_to_do() {
    on_both_engines(|house| async move {
        // Files of the right names and sizes, and other content.
        let folder = house.app.settings.models().join(MINILM.name);
        std::fs::create_dir_all(&folder).unwrap();
        let files = MINILM.files.iter().map(|file| {
            let out = std::fs::File::create(folder.join(file.name)).unwrap();
            out.set_len(file.bytes).unwrap();
            ManifestFile {
                name: file.name.into(),
                sha256: file.sha256.into(),
                bytes: file.bytes,
                package: file.package.into(),
            }
        });
        let manifest = Manifest {
            name: MINILM.name.into(),
            revision: MINILM.revision.into(),
            licence: MINILM.licence.into(),
            files: files.collect(),
        };
        std::fs::write(
            folder.join("manifest.json"),
            serde_json::to_vec(&manifest).unwrap(),
        )
        .unwrap();
        let house = house.restarted(&[]).await;
        let kb = house.base("Garage", "open").await;

        house.document(&kb, "car.md", CAR).await;

        assert_eq!(house.ask(&kb, "barn").await["chunks"][0]["text"], CAR);
        let state = house.base_state().await;
        assert!(
            state["waits_for"]
                .as_str()
                .unwrap()
                .contains("has changed since its install; remove the model's folder"),
            "{state}"
        );
        let doctor = house.doctor_says("model").await;
        assert!(
            !doctor[0].0 && doctor[0].1.contains("has changed since its install"),
            "{doctor:?}"
        );
    });
}

#[test]
fn settings_that_name_another_model_start_the_house_and_keep_every_vector() {
    on_both_engines(|house| async move {
        let endpoint = Endpoint::start(Mood::Answers(32));
        let table = |name: &str| {
            format!(
                "[models.{name}]\nurl = \"{}\"\nmodel = \"{name}\"\nwidth = 32\n",
                endpoint.url
            )
        };
        house.write_settings(&format!(
            "{}{}[models.broken]\nurl = \"nowhere\"\nmodel = \"b\"\nwidth = 1\n",
            table("one"),
            table("two")
        ));
        let house = house.restarted(&[("QUIPU_MODEL", "one")]).await;
        let kb = house.base("Garage", "open").await;
        house.document(&kb, "car.md", CAR).await;
        let first = house.base_state().await["serving"].clone();

        let house = house.restarted(&[("QUIPU_MODEL", "two")]).await;
        knowledge::documents::enqueue_missing_vectors(&house.app.core)
            .await
            .unwrap();
        let meanwhile = (
            house.base_state().await["serving"].clone(),
            house.finds_the_car(&kb).await,
        );
        house.work().await;
        let second = house.base_state().await;

        assert!(first.as_str().unwrap().starts_with("one@127.0.0.1"));
        assert_eq!(meanwhile, (first.clone(), (true, json!([]))));
        assert!(
            second["serving"]
                .as_str()
                .unwrap()
                .starts_with("two@127.0.0.1")
        );
        assert_eq!(second["previous"], first);
        // What was chosen by hand stays while the setting does; a wrong one is told.
        house.roll_back().await;
        let house = house.restarted(&[("QUIPU_MODEL", "two")]).await;
        assert_eq!(house.models().await["wanted"], "one");
        let house = house.restarted(&[("QUIPU_MODEL", "three")]).await;
        assert_eq!(house.models().await["wanted"], "one");
        let house = house.restarted(&[("QUIPU_MODEL", "broken")]).await;
        assert_eq!(house.finds_the_car(&kb).await, (true, json!([])));
        let doctor = house.doctor_says("model").await;
        assert!(
            !doctor[0].0 && doctor[0].1.contains("address is no URL"),
            "{doctor:?}"
        );
    });
}

#[test]
fn an_endpoint_with_another_model_under_its_name_is_another_model() {
    on_both_engines(|house| async move {
        let endpoint = Endpoint::start(Mood::Answers(32));
        let settings = |model: &'static str| {
            [
                ("QUIPU_EMBEDDING_URL", endpoint.url.clone()),
                ("QUIPU_EMBEDDING_MODEL", model.to_owned()),
                ("QUIPU_EMBEDDING_WIDTH", "32".to_owned()),
            ]
        };
        let one = settings("one");
        let house = house
            .restarted(&one.each_ref().map(|(name, value)| (*name, value.as_str())))
            .await;
        let kb = house.base("Garage", "open").await;
        house.document(&kb, "car.md", CAR).await;

        let two = settings("two");
        let house = house
            .restarted(&two.each_ref().map(|(name, value)| (*name, value.as_str())))
            .await;
        knowledge::documents::enqueue_missing_vectors(&house.app.core)
            .await
            .unwrap();
        let meanwhile = house.finds_the_car(&kb).await;
        house.work().await;

        assert!(!meanwhile.0 && meanwhile.1[0].as_str().unwrap().contains("words only"));
        assert_eq!(house.finds_the_car(&kb).await, (true, json!([])));
        assert_eq!(
            (house.vectors("one@").await, house.vectors("two@").await),
            (1, 1)
        );
    });
}

#[test]
fn none_stops_at_once_and_the_model_before_comes_back_at_once() {
    on_both_engines(|house| async move {
        let kb = garage(&house).await;

        house.choose("none").await;
        let without = house.finds_the_car(&kb).await;
        house.roll_back().await;

        assert_eq!(without, (false, json!([])));
        assert_eq!(house.finds_the_car(&kb).await, (true, json!([])));
    });
}

#[test]
fn a_search_of_the_past_finds_by_the_meaning_of_old_versions() {
    on_both_engines(|house| async move {
        let kb = garage(&house).await;
        house.clock.advance_seconds(60);
        let then = house.now();
        house.clock.advance_seconds(60);
        house
            .document(&kb, "car.md", "The boat lies at the pier.")
            .await;
        let past = format!("/api/v1/kbs/{kb}/search?query=automobile&as_of={then}");

        for model in ["small", "large"] {
            house.choose(model).await;
            house.work().await;
            let past = house.local(Method::GET, &past, Value::Null).await.ok();
            assert_eq!(past["chunks"][0]["text"], CAR, "{model}");
            assert!(!house.finds_the_car(&kb).await.0);
        }
    });
}

#[test]
fn what_is_no_model_is_refused_with_those_there_are() {
    on_both_engines(|house| async move {
        house.know("small", 64);

        let unknown = house
            .local(
                Method::POST,
                "/api/v1/models/use",
                json!({ "name": "smal" }),
            )
            .await;
        let absent = house
            .local(
                Method::POST,
                "/api/v1/models/use",
                json!({ "name": "local" }),
            )
            .await;
        let nothing = house
            .local(Method::POST, "/api/v1/models/rollback", Value::Null)
            .await;

        assert_eq!(
            (unknown.status, absent.status, nothing.status),
            (400, 409, 409)
        );
        assert_eq!(
            unknown.json()["error"],
            "no model is called `smal`; there are: local, small, none"
        );
        assert!(
            absent.json()["error"]
                .as_str()
                .unwrap()
                .contains("`quipu models install`")
        );
        assert!(
            nothing.json()["error"]
                .as_str()
                .unwrap()
                .contains("no model to go back to")
        );
    });
}
