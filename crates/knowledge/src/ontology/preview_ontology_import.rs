use kernel::{Base, Cx, Method, Operation, Spec};
use model::{Result, Role};
use schemars::JsonSchema;
use serde::Deserialize;

use super::OntologyImport;
use super::import::Wanted;

/// See what importing an ontology would do, without doing it.
///
/// The file, in Turtle or RDF/XML, is the body of the request, or its part `file`; or a `pack` is
/// named. The answer lists what would be added and changed, what of the file would be left out and
/// why, and which stored facts would contradict the words; its `digest` is what
/// `apply_ontology_import` asks for.
#[derive(Deserialize, JsonSchema)]
pub struct PreviewOntologyImport {
    /// The file's name. The name that came with the file if absent.
    filename: Option<String>,
    /// The name of a pack, instead of a file.
    pack: Option<String>,
    /// What relative IRIs of the file are relative to, where it does not say so itself.
    base_iri: Option<String>,
}

impl Operation for PreviewOntologyImport {
    type Target = Base;
    type Output = OntologyImport;
    const SPEC: Spec = Spec::read(
        "preview_ontology_import",
        "Preview an import of an ontology",
    )
    .route(Method::Post, "/kbs/{kb_id}/ontology/imports/preview")
    .least(Role::Admin)
    .upload()
    .cli("ontology preview", &[]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<OntologyImport> {
        let wanted = Wanted {
            filename: self.filename,
            pack: self.pack,
            base_iri: self.base_iri,
        };
        let words = wanted.read(cx).await?;
        // It is made and never committed: so what is told is what would come of it.
        let mut tx = cx.write().await?;
        let (told, _) = words.make(cx, &mut tx).await?;
        Ok(told)
    }
}
