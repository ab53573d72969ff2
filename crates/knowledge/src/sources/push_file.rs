use engine::library::ExternalKey;
use kernel::{Base, Cx, Method, Operation, Spec, Upload};
use model::{Error, Result, SourceId, WorldTime};
use schemars::JsonSchema;
use serde::Deserialize;

use super::push_items::may_be_pushed;
use super::take::{self, Content, Here, Said};
use super::{PushedItem, known};
use crate::documents::file_name;

/// Send a file of a source: what `push_items` does for one document, with the file as the body of
/// the request, or its part `file`, and as large as any document may be.
#[derive(Deserialize, JsonSchema)]
pub struct PushFile {
    /// The source's id.
    source_id: SourceId,
    /// The file's name, which may be a path. The name that came with the file if absent.
    filename: Option<String>,
    /// Which document of the source it is: the same id always means the same document. The file's
    /// name if absent.
    external_id: Option<String>,
    /// When the document is from, as exactly as is known (`2024`, `2024-03`, `2024-03-05`). Read
    /// from the document if absent.
    doc_time: Option<WorldTime>,
}

impl Operation for PushFile {
    type Target = Base;
    type Output = PushedItem;
    const SPEC: Spec = Spec::write("push_file", "Send a file of a source")
        .route(Method::Post, "/sources/{source_id}/ingest/file")
        .upload()
        .idempotency_key();

    async fn run(self, cx: &Cx<'_, Base>) -> Result<PushedItem> {
        cx.about("source", self.source_id);
        let place = (cx.target.tenant(), cx.target.id());
        let Upload { staged, filename } = cx.upload()?;
        let filename = file_name(self.filename.or(filename))?;
        let key = ExternalKey::new(self.external_id.as_ref().unwrap_or(&filename))
            .map_err(|fault| Error::invalid(format!("`external_id` {fault}")))?;
        if staged.size == 0 {
            let sentence = format!("the file `{filename}` is empty: it has 0 bytes");
            return Err(Error::invalid(sentence));
        }
        let source = known(&mut cx.read().await?, cx, self.source_id).await?;
        may_be_pushed(&source)?;
        let external_id = key.as_str().to_owned();
        let here = Some(Here {
            filename,
            date: self.doc_time,
            content: Content::Staged(staged),
        });

        let steps = take::prepare(cx, place, &source, vec![Said { key, here }]).await?;
        let mut tx = cx.write().await?;
        // It may have been deleted meanwhile.
        let source = known(&mut tx, cx, self.source_id).await?;
        let mut done = take::settle(cx, &mut tx, place.1, &source, &steps).await?;
        let pushed = done.pop().flatten();
        tx.commit(PushedItem::of(&external_id, pushed)).await
    }
}
