//! What following a folder tells its user: a line per change, and a summary at the end.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Value, json};

use crate::cli::output::{print, warn};

/// The lines and the counts.
pub struct Report {
    as_json: bool,
    source: String,
    counts: BTreeMap<String, usize>,
    /// What was said and need not be said again.
    said: HashSet<String>,
    warned: Option<String>,
    /// Whether something was wrong in the present look.
    is_wrong: bool,
}

/// What is counted, in the order of the summary, with its word for people.
const COUNTED: [(&str, &str); 7] = [
    ("created", "new"),
    ("updated", "changed"),
    ("moved", "moved"),
    ("unchanged", "as before"),
    ("marked_missing", "missing"),
    ("skipped", "skipped"),
    ("failed", "failed"),
];

impl Report {
    pub fn new(as_json: bool, source: String) -> Self {
        Self {
            as_json,
            source,
            counts: BTreeMap::new(),
            said: HashSet::new(),
            warned: None,
            is_wrong: false,
        }
    }

    fn say(&self, event: &str, fields: Value, text: &str) {
        if !self.as_json {
            return print(text);
        }
        let mut line = json!({ "event": event });
        if let (Some(line), Value::Object(fields)) = (line.as_object_mut(), fields) {
            line.extend(fields);
        }
        print(&line.to_string());
    }

    fn count(&mut self, what: &str) {
        *self.counts.entry(what.to_owned()).or_default() += 1;
    }

    fn number(&self, what: &str) -> usize {
        self.counts.get(what).copied().unwrap_or(0)
    }

    /// The folder is followed from now on.
    pub fn watching(&self, place: &str, documents: usize, how: &str) {
        let fields =
            json!({ "folder": place, "source": self.source, "documents": documents, "how": how });
        let text = format!("watching {place} ({documents} documents, {how}); Ctrl-C ends it");
        self.say("watching", fields, &text);
    }

    /// The base took something in.
    pub fn sent(&mut self, action: &str, path: &str, from: Option<&str>, document: &str) {
        self.count(action);
        if action == "unchanged" {
            return;
        }
        let fields = json!({ "file": path, "from": from, "document_id": document });
        let text = match (action, from) {
            ("marked_missing", _) => format!("missing {path}"),
            (_, Some(from)) => format!("{action} {from} to {path}"),
            (_, None) => format!("{action} {path}"),
        };
        self.say(action, fields, &text);
    }

    /// A document can be searched.
    pub fn ready(&self, path: &str, document: &str) {
        if self.as_json {
            self.say(
                "ready",
                json!({ "file": path, "document_id": document }),
                "",
            );
        }
    }

    /// A document could not be read.
    pub fn failed(&mut self, path: &str, why: &str) {
        self.count("failed");
        let fields = json!({ "file": path, "reason": why });
        self.say("failed", fields, &format!("failed {path}: {why}"));
    }

    /// How many documents could not be read.
    pub fn failures(&self) -> usize {
        self.number("failed")
    }

    /// Something in the folder is no document.
    pub fn skipped(&mut self, path: &str, why: &str) {
        if self.said.insert(format!("{path}: {why}")) {
            self.count("skipped");
            let fields = json!({ "file": path, "reason": why });
            self.say("skipped", fields, &format!("skipped {path}: {why}"));
        }
    }

    /// Something is wrong; said once until it is well again or something else is.
    pub fn warn(&mut self, what: &str) {
        self.is_wrong = true;
        if self.warned.as_deref() == Some(what) {
            return;
        }
        self.warned = Some(what.to_owned());
        if self.as_json {
            self.say("warning", json!({ "message": what }), "");
        } else {
            warn(what);
        }
    }

    /// A look begins.
    pub fn look(&mut self) {
        self.is_wrong = false;
    }

    /// A look ended: if nothing was wrong in it, what was wrong before no longer is.
    pub fn looked(&mut self) {
        if !self.is_wrong && self.warned.take().is_some() {
            self.say("well", json!({}), "that is over; going on");
        }
    }

    /// What became of it all.
    pub fn summary(&self) {
        let counts: serde_json::Map<String, Value> = COUNTED
            .iter()
            .map(|(what, _)| ((*what).to_owned(), self.number(what).into()))
            .collect();
        let words: Vec<String> = COUNTED
            .iter()
            .filter(|(what, _)| 0 < self.number(what) && *what != "unchanged")
            .map(|(what, word)| format!("{} {word}", self.number(what)))
            .collect();
        let text = if words.is_empty() {
            "nothing changed".to_owned()
        } else {
            words.join(", ")
        };
        self.say("summary", Value::Object(counts), &text);
    }
}
