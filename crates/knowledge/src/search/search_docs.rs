use kernel::{Base, Cx, Door, Method, Operation, Reply, Spec};
use model::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cut;

/// Search Quipu's own manual, for questions about how it works. Never the base's documents.
#[derive(Deserialize, JsonSchema)]
pub struct SearchDocs {
    /// What to look for in the manual.
    query: String,
}

/// Sections of the manual.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ManualHits {
    /// The sections that match best, at most four.
    pub sections: Vec<ManualSection>,
}

/// A section of the manual.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ManualSection {
    /// Its title.
    pub title: String,
    /// Its text, cut at 1,600 characters.
    pub text: String,
    /// Whether its text was cut.
    pub truncated: bool,
}

/// Sections in an answer.
const SECTIONS_MAX: usize = 4;
/// Characters of a section in an answer.
const SECTION_CHARS_MAX: usize = 1600;

impl Reply for ManualHits {
    fn text(&self) -> String {
        if self.sections.is_empty() {
            return "No results.".to_owned();
        }
        let sections = self
            .sections
            .iter()
            .map(|section| format!("# {}\n\n{}", section.title, section.text));
        sections.collect::<Vec<_>>().join("\n\n")
    }
}

impl Operation for SearchDocs {
    type Target = Base;
    type Output = ManualHits;
    const SPEC: Spec = Spec::read("search_docs", "Search the manual")
        .route(Method::Get, "/kbs/{kb_id}/manual")
        .tool(&[Door::Base]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<ManualHits> {
        let found = cx.manual.search(&self.query, SECTIONS_MAX);
        let sections = found.into_iter().map(|section| {
            let (text, truncated) = cut(&section.text, SECTION_CHARS_MAX);
            ManualSection {
                title: section.title.clone(),
                text,
                truncated,
            }
        });
        Ok(ManualHits {
            sections: sections.collect(),
        })
    }
}
