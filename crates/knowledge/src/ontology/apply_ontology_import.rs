use kernel::{Base, Cx, Method, Operation, Spec};
use model::{Code, Error, Result, Role};
use schemars::JsonSchema;
use serde::Deserialize;

use super::import::Wanted;
use super::{OntologyImport, accepted};

/// Import an ontology, as `preview_ontology_import` showed it.
///
/// It is given the same file or `pack` again, and the `digest` of the preview: where the file is
/// another one or the base has changed since, nothing is done. An import adds and changes words and
/// takes none away; the same file once more changes nothing. Individuals are not imported, and what
/// a file imports is not fetched.
#[derive(Deserialize, JsonSchema)]
pub struct ApplyOntologyImport {
    /// The digest of the preview.
    digest: String,
    /// The file's name. The name that came with the file if absent.
    filename: Option<String>,
    /// The name of a pack, instead of a file.
    pack: Option<String>,
    /// What relative IRIs of the file are relative to, where it does not say so itself.
    base_iri: Option<String>,
    /// Make the import though stored facts then contradict the words.
    #[serde(default)]
    accept_contradictions: bool,
}

impl Operation for ApplyOntologyImport {
    type Target = Base;
    type Output = OntologyImport;
    const SPEC: Spec = Spec::write("apply_ontology_import", "Import an ontology")
        .route(Method::Post, "/kbs/{kb_id}/ontology/imports")
        .least(Role::Admin)
        .upload()
        .idempotency_key()
        .cli("ontology import", &[]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<OntologyImport> {
        let wanted = Wanted {
            filename: self.filename,
            pack: self.pack,
            base_iri: self.base_iri,
        };
        let words = wanted.read(cx).await?;
        let mut tx = cx.write().await?;
        let (mut told, contradictions) = words.make(cx, &mut tx).await?;
        cx.about("ontology", &told.name);
        if told.digest != self.digest.trim() {
            let sentence = "`digest` is of another file, or the base has changed since; preview \
                            the import again";
            return Err(Error::new(Code::Conflict, sentence));
        }
        accepted(contradictions, self.accept_contradictions)?;
        told.applied = true;
        tx.commit(told).await
    }
}
