use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::backup::{BackupError, Checked};
use engine::base_archive::{self, Manifest};
use kernel::{Cx, Method, Operation, Reply, Spec, Tenant};
use model::{Code, Error, KbId, Result, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::base_rows::BaseRow;
use store::{Tx, bases};

use crate::documents::{enqueue_missing_vectors, take_up_unfinished};

/// Take in a base that `export_base` made an archive of, under its own ids.
///
/// The archive is checked from its first byte to its last before anything is written, and comes in
/// whole or not at all. You become the base's owner. A base whose id or slug is here already is
/// refused. While its rows are loaded, other writes wait.
#[derive(Deserialize, JsonSchema)]
pub struct ImportBase {}

/// A base that was taken in.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ImportedBase {
    /// The base's id.
    pub id: KbId,
    /// Its name in addresses.
    pub slug: String,
    /// Rows of all its tables.
    pub rows: u64,
    /// Files of its documents.
    pub files: u64,
    /// Files that were missing or damaged when the archive was made.
    pub lost: Vec<String>,
}

impl Reply for ImportedBase {
    const STATUS: u16 = 201;

    fn text(&self) -> String {
        let (id, slug, rows, files) = (self.id, &self.slug, self.rows, self.files);
        let mut text = format!("{id}  {slug}: {rows} rows, {files} files of documents\n");
        for lost in &self.lost {
            text.push_str(&format!("lost before it was exported: {lost}\n"));
        }
        text
    }
}

impl Operation for ImportBase {
    type Target = Tenant;
    type Output = ImportedBase;
    const SPEC: Spec = Spec::write("import_base", "Take in an archived base")
        .system_admin()
        .route(Method::Post, "/kbs/import")
        .upload()
        .deadline(Duration::from_hours(2));

    async fn run(self, cx: &Cx<'_, Tenant>) -> Result<ImportedBase> {
        let upload = cx.upload()?;
        let file = upload.staged.path().to_owned();
        let checked = check(file.clone()).await?;
        let base = &checked.manifest.base;
        cx.about("base", base.id);
        must_be_free(&mut cx.read().await?, base).await?;
        let read = base_archive::read_rows(&file, &checked).await?;

        let mut kept = Vec::new();
        let tenant = cx.target.id();
        let blobs = base_archive::keep_blobs(&file, &checked, &cx.blobs, tenant, &mut kept);
        let imported = match blobs.await {
            Ok(()) => take_in(cx, &file, &checked, read.values().sum()).await,
            Err(error) => Err(error.into()),
        };
        if imported.is_err() {
            base_archive::forget_blobs(&cx.blobs, &kept).await;
        }
        let imported = imported?;
        cx.db.count_what_was_loaded().await?;
        enqueue_missing_vectors(cx.core()).await?;
        Ok(imported)
    }
}

async fn check(file: PathBuf) -> Result<Checked<Manifest>> {
    let checked = tokio::task::spawn_blocking(move || {
        let file = File::open(&file).map_err(|source| BackupError::Io {
            what: "read it".to_owned(),
            source,
        })?;
        base_archive::check(BufReader::new(file), |_| ())
    });
    Ok(checked.await.map_err(Error::internal)??)
}

/// Refuses a base whose id or slug is taken. Of one that is another organisation's, no more is told
/// than that the id is.
async fn must_be_free(tx: &mut Tx, base: &BaseRow) -> Result<()> {
    let taken = |why: String| Err(Error::new(Code::Conflict, why));
    if bases::tenant_of(tx, base.id).await?.is_some() {
        let known = bases::find(tx, base.id).await?;
        let named = known.map_or_else(String::new, |base| format!(" `{}`", base.slug));
        return taken(format!("the base{named} with the id {} is here", base.id));
    }
    match bases::find_by_slug(tx, &base.slug).await? {
        None => Ok(()),
        Some(other) => taken(format!(
            "another base, {}, has the slug `{}` of the one to be taken in",
            other.id, base.slug
        )),
    }
}

async fn take_in(
    cx: &Cx<'_, Tenant>,
    file: &Path,
    checked: &Checked<Manifest>,
    rows: u64,
) -> Result<ImportedBase> {
    let manifest = &checked.manifest;
    let base = &manifest.base;
    let mut tx = cx.write().await?;
    must_be_free(&mut tx, base).await?;
    base_archive::load(&mut tx, file, checked).await?;
    let owner = cx.principal().user;
    bases::set_member(&mut tx, base.id, owner, Role::Owner, cx.now()).await?;
    take_up_unfinished(cx.core(), &mut tx, base.id).await?;
    let lost = manifest.missing.iter().chain(&manifest.damaged);
    tx.commit(ImportedBase {
        id: base.id,
        slug: base.slug.clone(),
        rows,
        files: manifest.blobs.count,
        lost: lost.cloned().collect(),
    })
    .await
}
