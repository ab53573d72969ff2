//! What the gate makes of calls that end oddly: one row each, one outcome each.

use std::sync::Arc;
use std::time::Duration;

use kernel::{Answer, Base, Cx, Entry, Operation, Reply, Spec};
use model::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::audit;
use store::idempotency::{self, Outcome};
use tokio::sync::{Notify, Semaphore};

use crate::app::{App, on_both_engines};

/// Operations that no house has.
pub const OPS: &[Entry] = &[
    Entry::of::<CommitAtTheDeadline>(),
    Entry::of::<CommitInNoTime>(),
    Entry::of::<NeverEnd>(),
    Entry::of::<WaitAndCommit>(),
];

#[derive(Debug, Serialize, JsonSchema)]
pub struct Done {
    number: u32,
}

impl Reply for Done {}

/// Commits, and the deadline strikes as soon as nothing else goes on.
#[derive(Deserialize, JsonSchema)]
pub struct CommitAtTheDeadline {}

impl Operation for CommitAtTheDeadline {
    type Target = Base;
    type Output = Done;
    const SPEC: Spec = Spec::write("commit_at_the_deadline", "").deadline(Duration::from_secs(5));

    async fn run(self, cx: &Cx<'_, Base>) -> Result<Done> {
        let tx = cx.write().await?;
        // From here on the runtime's time leaps to the next timer whenever it would wait.
        tokio::time::pause();
        tx.commit(Done { number: 1 }).await
    }
}

/// Commits, with a deadline that strikes somewhere on the way.
#[derive(Deserialize, JsonSchema)]
pub struct CommitInNoTime {}

impl Operation for CommitInNoTime {
    type Target = Base;
    type Output = Done;
    const SPEC: Spec = Spec::write("commit_in_no_time", "").deadline(Duration::from_millis(2));

    async fn run(self, cx: &Cx<'_, Base>) -> Result<Done> {
        cx.write().await?.commit(Done { number: 2 }).await
    }
}

/// Does nothing for good.
#[derive(Deserialize, JsonSchema)]
pub struct NeverEnd {}

impl Operation for NeverEnd {
    type Target = Base;
    type Output = Done;
    const SPEC: Spec = Spec::write("never_end", "").deadline(Duration::from_millis(10));

    async fn run(self, _: &Cx<'_, Base>) -> Result<Done> {
        std::future::pending().await
    }
}

/// How a test holds a call.
struct Hold {
    /// Rung when the call runs.
    begun: Notify,
    /// What it waits for.
    go: Semaphore,
    /// What it answers.
    number: u32,
}

impl Hold {
    fn new(number: u32, permits: usize) -> Arc<Self> {
        let (begun, go) = (Notify::new(), Semaphore::new(permits));
        Arc::new(Self { begun, go, number })
    }
}

tokio::task_local! {
    static HOLD: Arc<Hold>;
}

/// Waits for its hold and commits.
#[derive(Deserialize, JsonSchema)]
pub struct WaitAndCommit {}

impl Operation for WaitAndCommit {
    type Target = Base;
    type Output = Done;
    const SPEC: Spec = Spec::write("wait_and_commit", "").idempotency_key();

    async fn run(self, cx: &Cx<'_, Base>) -> Result<Done> {
        let hold = HOLD.get();
        hold.begun.notify_one();
        let _go = hold.go.acquire().await.unwrap();
        let number = hold.number;
        cx.about("hold", number);
        cx.write().await?.commit(Done { number }).await
    }
}

/// Operation and verdict of each row, oldest first.
async fn told(app: &App) -> Vec<(String, String)> {
    app.core.activity.flush(&app.core).await.unwrap();
    let mut tx = app.core.db.read(app.tenant).await.unwrap();
    let rows = audit::page(&mut tx, None, None, 100).await.unwrap();
    let told = rows.into_iter().rev();
    told.map(|row| (row.operation, row.verdict)).collect()
}

fn verdict(answer: &Result<Answer>) -> &'static str {
    answer
        .as_ref()
        .map_or_else(|error| error.code.name(), |_| "ok")
}

fn row(operation: &str, verdict: &str) -> (String, String) {
    (operation.to_owned(), verdict.to_owned())
}

async fn a_deadline_during_a_commit_leaves_one_row(app: &App) {
    let answer = app.editor().call("commit_at_the_deadline", json!({})).await;
    tokio::time::resume();

    assert_eq!(
        told(app).await,
        [row("commit_at_the_deadline", verdict(&answer))]
    );
}

// On one thread, as only there time can be made to leap.
#[tokio::test]
async fn a_deadline_during_a_commit_leaves_one_row_on_sqlite() {
    a_deadline_during_a_commit_leaves_one_row(&App::sqlite().await).await;
}

#[tokio::test]
async fn a_deadline_during_a_commit_leaves_one_row_on_postgres() {
    if let Some(app) = App::postgres().await {
        a_deadline_during_a_commit_leaves_one_row(&app).await;
    }
}

on_both_engines! {
    async fn whenever_a_deadline_strikes_the_row_says_what_the_caller_was_told(app: &App) {
        let mut answered = Vec::new();
        for _ in 0..100 {
            let answer = app.editor().call("commit_in_no_time", json!({})).await;
            answered.push(row("commit_in_no_time", verdict(&answer)));
        }

        let mut rows = told(app).await;
        // Rows of refusals are written later than those of what was done.
        rows.sort();
        answered.sort();
        assert_eq!(rows, answered);
    }

    async fn a_call_that_is_late_and_one_whose_caller_left_have_a_row_each(app: &App) {
        let late = app.editor().call("never_end", json!({})).await.unwrap_err();
        assert_eq!(late.code.name(), "deadline_exceeded");

        let (hold, editor) = (Hold::new(1, 0), app.editor());
        tokio::select! {
            _ = HOLD.scope(hold.clone(), editor.call("wait_and_commit", json!({}))) => panic!("nothing lets it go on"),
            () = hold.begun.notified() => {}
        }

        assert_eq!(told(app).await, [row("never_end", "deadline_exceeded"), row("wait_and_commit", "cut_off")]);
    }

    async fn a_call_that_lost_its_key_to_another_changes_nothing_any_more(app: &App) {
        let (slow, free) = (Hold::new(1, 0), Hold::new(2, 9));
        let editor = app.editor();
        let with_key = |hold: &Arc<Hold>| HOLD.scope(hold.clone(), editor.call_with_key("wait_and_commit", json!({}), "k"));
        let first = with_key(&slow);
        let second = async {
            slow.begun.notified().await;
            let running = with_key(&free).await.unwrap_err();
            assert_eq!(running.code.name(), "idempotency_in_progress");
            app.core.clock.advance_seconds(91);
            let second = with_key(&free).await;
            slow.go.add_permits(1);
            second
        };

        let (first, second) = tokio::join!(first, second);

        assert_eq!(second.unwrap().json, json!({ "number": 2 }));
        assert_eq!(first.unwrap_err().code.name(), "idempotency_in_progress");
        let again = with_key(&free).await.unwrap();
        assert_eq!((again.json, again.replayed), (json!({ "number": 2 }), true));
    }

    async fn a_purge_erases_what_a_key_remembers_of_the_document(app: &App) {
        let editor = app.editor();
        let added = editor.add_with_key("secret-plan.md", "The canary sings.", "k").await.unwrap();
        app.work().await;
        let again = editor.add_with_key("secret-plan.md", "The canary sings.", "k").await.unwrap();
        assert!(again.replayed);
        let document = added.json["document_id"].as_str().unwrap();

        app.admin().call("purge_document", json!({ "document_id": document })).await.unwrap();
        let refused = editor.add_with_key("secret-plan.md", "The canary sings.", "k").await.unwrap_err();

        assert_eq!(refused.code.name(), "conflict");
        let key = idempotency::Key { principal: editor.id(), operation: "add_document", base: Some(app.kb), key: "k" };
        let mut tx = app.core.db.read(app.tenant).await.unwrap();
        let record = idempotency::find(&mut tx, &key).await.unwrap().unwrap();
        assert_eq!(record.outcome, Some(Outcome::Erased));
        let listed: Value = editor.call("list_documents", json!({})).await.unwrap().json;
        assert_eq!(listed["total"], 0, "the document does not come back");
    }
}
