use std::fmt::Write as _;

use kernel::{Base, Cx, Method, Operation, Reply, Spec};
use model::{DocumentId, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::documents;

use super::{DocumentInfo, VersionInfo, known};

/// Show where a document stands: its state, why it failed, and the version that can be read.
#[derive(Deserialize, JsonSchema)]
pub struct ShowDocument {
    /// The document's id.
    document_id: DocumentId,
}

/// A document and what can be read of it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ShownDocument {
    /// The document.
    #[serde(flatten)]
    pub document: DocumentInfo,
    /// The version that can be searched and read now; null if none can.
    pub held: Option<VersionInfo>,
    /// How many versions it has.
    pub versions: usize,
    /// Sections of the version that can be read.
    pub sections: u32,
    /// Passages of the version that can be searched.
    pub chunks: usize,
}

impl Reply for ShownDocument {
    fn text(&self) -> String {
        let mut text = self.document.text();
        if let Some(held) = &self.held {
            let (sections, chunks, chars) = (self.sections, self.chunks, held.chars);
            let date = held.date.as_deref().unwrap_or("no date");
            let line = format!(
                "version {} of {}, {date}: {chars} characters, {sections} section(s), {chunks} passage(s)\n",
                held.version, self.versions
            );
            text.push_str(&line);
            for sentence in &held.left_out {
                let _ = writeln!(text, "left out: {sentence}");
            }
        }
        text
    }
}

impl Operation for ShowDocument {
    type Target = Base;
    type Output = ShownDocument;
    const SPEC: Spec = Spec::read("show_document", "Show a document")
        .route(Method::Get, "/kbs/{kb_id}/documents/{document_id}")
        .cli("document show", &["document_id"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<ShownDocument> {
        cx.about("document", self.document_id);
        let kb = cx.target.id();
        let mut tx = cx.read().await?;
        let document = known(&mut tx, cx, self.document_id).await?;
        let versions = documents::versions(&mut tx, kb, document.id).await?;
        let held = versions
            .iter()
            .find(|version| Some(version.version) == document.held_version);
        let sections = match held {
            Some(held) => {
                documents::count_sections(&mut tx, kb, (document.id, held.version)).await?
            }
            None => 0,
        };
        let chunks = held
            .and_then(|held| held.chunk_order.as_ref())
            .map_or(0, Vec::len);
        Ok(ShownDocument {
            held: held.cloned().map(VersionInfo::from),
            versions: versions.len(),
            document: document.into(),
            sections,
            chunks,
        })
    }
}
