use engine::library::{self, Accept, Action, ExternalKey};
use kernel::{Base, Cx, Method, Operation, Reply, Spec, Upload, job};
use model::{DocumentId, Error, Result, Role, WorldTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ParseDocument, State, files};

/// Add a document, or a version of one that is known.
///
/// The file is the body of the request, or its part `file`; the manual's page on documents names
/// the formats. The answer comes when the file is safely kept; reading and indexing it goes on
/// after that, and `show_document` tells how far it is. Sending the same bytes again changes
/// nothing; other bytes under the same `external_id` become the next version, and the version
/// before stays searchable until that one is ready. A deleted document comes back with the new
/// version.
#[derive(Deserialize, JsonSchema)]
pub struct AddDocument {
    /// The file's name, which may be a path. The name that came with the file if absent.
    filename: Option<String>,
    /// What you know the document by: the same id always means the same document. The file's
    /// name if absent.
    external_id: Option<String>,
    /// The lowest role that is to see the document, at most your own: `viewer` if absent, or as
    /// it is for a document that is known.
    least_role: Option<Role>,
    /// When the document is from, as exactly as is known (`2024`, `2024-03`, `2024-03-05`). Read
    /// from the document if absent.
    doc_time: Option<WorldTime>,
}

/// What became of a document that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum AddAction {
    /// It was not known.
    Created,
    /// It was known and has another version now.
    Updated,
    /// It is what it was.
    Unchanged,
}

impl From<Action> for AddAction {
    fn from(action: Action) -> Self {
        match action {
            Action::Created => AddAction::Created,
            Action::Updated => AddAction::Updated,
            Action::Unchanged => AddAction::Unchanged,
        }
    }
}

/// A document that was taken in.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AddedDocument {
    /// The document's id.
    pub document_id: DocumentId,
    /// What became of it.
    pub action: AddAction,
    /// Its latest version, from 1.
    pub version: u32,
    /// Where that version stands.
    pub state: State,
    /// The name of its file.
    pub filename: String,
}

impl Reply for AddedDocument {
    const STATUS: u16 = 202;

    fn text(&self) -> String {
        let action = match self.action {
            AddAction::Created => "created",
            AddAction::Updated => "updated",
            AddAction::Unchanged => "unchanged",
        };
        format!(
            "{}  {action}  version {}  {}\n",
            self.document_id, self.version, self.filename
        )
    }
}

impl Operation for AddDocument {
    type Target = Base;
    type Output = AddedDocument;
    const SPEC: Spec = Spec::write("add_document", "Add a document")
        .route(Method::Post, "/kbs/{kb_id}/documents")
        .upload()
        .idempotency_key();

    async fn run(self, cx: &Cx<'_, Base>) -> Result<AddedDocument> {
        let (tenant, kb, role) = (cx.target.tenant(), cx.target.id(), cx.target.role());
        let Upload { staged, filename } = cx.upload()?;
        let filename = file_name(self.filename.or(filename))?;
        let key = ExternalKey::new(self.external_id.as_ref().unwrap_or(&filename))
            .map_err(|fault| Error::invalid(format!("`external_id` {fault}")))?;
        if staged.size == 0 {
            return Err(Error::invalid(format!(
                "the file `{filename}` is empty: it has 0 bytes"
            )));
        }
        at_most(role, self.least_role)?;
        let file = files(cx).keep(staged, (tenant, kb)).await?;

        let mut tx = cx.write().await?;
        let sent = Accept {
            key,
            filename: &filename,
            least_role: self.least_role,
            role,
            date: self.doc_time,
            blob_hash: file.hash,
            size: file.size,
            fresh_id: DocumentId::new(cx.ids.next()),
        };
        let accepted = library::accept(&mut tx, kb, &sent, cx.now()).await?;
        library::still_kept(&mut tx, kb, &file).await?;
        let (document, version) = (accepted.document, accepted.version);
        if accepted.to_parse {
            job::enqueue(cx, &mut tx, Some(kb), &ParseDocument { document, version }).await?;
        }
        cx.about("document", document);
        tx.commit(AddedDocument {
            document_id: document,
            action: accepted.action.into(),
            version,
            state: accepted.state.into(),
            filename,
        })
        .await
    }
}

/// Refuses a least role above the caller's own.
pub(crate) fn at_most(role: Role, least_role: Option<Role>) -> Result<()> {
    match least_role.filter(|&asked| role < asked) {
        None => Ok(()),
        Some(asked) => Err(Error::invalid(format!(
            "`least_role` must be at most your own role `{role}`, not `{asked}`"
        ))),
    }
}

/// Longest name of a file, in characters.
const NAME_LENGTH_MAX: usize = 500;

pub(crate) fn file_name(given: Option<String>) -> Result<String> {
    let Some(name) = given else {
        return Err(Error::invalid(
            "`filename` is missing, and the file came without a name",
        ));
    };
    let name = name.trim();
    let length = name.chars().count();
    if length == 0 || NAME_LENGTH_MAX < length || name.chars().any(char::is_control) {
        let sentence = format!(
            "`filename` must be 1 to {NAME_LENGTH_MAX} characters without line breaks or control characters"
        );
        return Err(Error::invalid(sentence));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_needs_a_name_that_fits_a_line() {
        assert_eq!(file_name(Some(" a/b.md ".to_owned())).unwrap(), "a/b.md");
        for given in [None, Some(" "), Some("a\nb"), Some("a\0b")] {
            let refused = file_name(given.map(str::to_owned)).unwrap_err();
            assert!(refused.message.starts_with("`filename`"), "{refused}");
        }
    }
}
