//! Sources, the documents that each of them has, and the pages that are pulled.

use std::str::FromStr;

use model::{DocumentId, KbId, RecordTime, Role, SourceId};

use crate::documents::{DocumentState, roles_up_to};
use crate::statement::statements;
use crate::value::{Row, params};
use crate::{StoreError, Tx};

/// How a source's documents come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourceKind {
    /// A program sends them.
    Push,
    /// A folder is watched, and what changes in it is sent.
    Folder,
    /// They are fetched from the web.
    Pull,
}

impl SourceKind {
    /// Its name on the wire and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            SourceKind::Push => "push",
            SourceKind::Folder => "folder",
            SourceKind::Pull => "pull",
        }
    }
}

/// The text names no kind of source.
#[derive(Debug, thiserror::Error)]
#[error("a source is `push`, `folder` or `pull`, not `{0}`")]
pub struct NotASourceKind(String);

impl FromStr for SourceKind {
    type Err = NotASourceKind;

    fn from_str(text: &str) -> Result<Self, NotASourceKind> {
        [SourceKind::Push, SourceKind::Folder, SourceKind::Pull]
            .into_iter()
            .find(|kind| kind.name() == text)
            .ok_or_else(|| NotASourceKind(text.to_owned()))
    }
}

/// Where documents of a base come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub id: SourceId,
    /// Its name for people; one of a kind among the sources with its least role.
    pub name: String,
    pub kind: SourceKind,
    /// The lowest role that sees it and its documents.
    pub least_role: Role,
    /// What it was told, as JSON.
    pub settings: String,
    pub created_at: RecordTime,
    /// The pull that is under way or comes next, from 1.
    pub run: u32,
    /// When the last pull ended.
    pub pulled_at: Option<RecordTime>,
    /// What became of the last pull, as JSON.
    pub outcome: Option<String>,
}

/// A source to be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewSource<'a> {
    pub id: SourceId,
    pub name: &'a str,
    pub kind: SourceKind,
    pub least_role: Role,
    /// JSON.
    pub settings: &'a str,
    pub created_at: RecordTime,
}

/// A document as its source has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub document: DocumentId,
    /// As `documents` stores it.
    pub external_key: String,
    pub filename: String,
    /// SHA-256 of the latest version's bytes.
    pub blob_hash: [u8; 32],
    pub state: DocumentState,
    /// Why it failed, in a sentence.
    pub failure: Option<String>,
    pub version: u32,
    /// Since when the source says that it no longer has it.
    pub missing_at: Option<RecordTime>,
    pub deleted_at: Option<RecordTime>,
}

/// How many documents a source has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ItemCount {
    /// All that it ever had and that were not purged.
    pub documents: u64,
    /// Those of them that it no longer has.
    pub missing: u64,
}

/// What is known of a page that is pulled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Its address; at most 2,000 bytes.
    pub url: String,
    /// What the server said to tell its content by.
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    pub asked_at: RecordTime,
    /// The pull in which it was asked for last.
    pub run: u32,
    /// How often in a row the server said that it is gone.
    pub gone: u32,
    /// Why it could not be taken, in a sentence.
    pub fault: Option<String>,
}

statements! {
    tenant {
        INSERT: "INSERT INTO source (tenant_id, base_id, id, name, kind, least_role, settings, created_at, run) \
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1)",
        FIND: "SELECT id, name, kind, least_role, settings, created_at, run, pulled_at, outcome \
            FROM source WHERE tenant_id = $1 AND base_id = $2 AND id = $3",
        LIST: "SELECT id, name, kind, least_role, settings, created_at, run, pulled_at, outcome \
            FROM source WHERE tenant_id = $1 AND base_id = $2 AND least_role = ANY($3) ORDER BY created_at, id",
        BASE_OF: "SELECT base_id FROM source WHERE tenant_id = $1 AND id = $2",
        UPDATE: "UPDATE source SET name = $4, settings = $5 WHERE tenant_id = $1 AND base_id = $2 AND id = $3",
        PULLED: "UPDATE source SET run = $4, pulled_at = $5, outcome = $6 WHERE tenant_id = $1 AND base_id = $2 AND id = $3",
        DELETE: "DELETE FROM source WHERE tenant_id = $1 AND base_id = $2 AND id = $3",
        DELETE_ITEMS: "DELETE FROM source_item WHERE tenant_id = $1 AND base_id = $2 AND source_id = $3",
        DELETE_PAGES: "DELETE FROM source_page WHERE tenant_id = $1 AND base_id = $2 AND source_id = $3",
        COUNTS: "SELECT source_id, COUNT(*), COUNT(missing_at) FROM source_item WHERE tenant_id = $1 AND base_id = $2 GROUP BY source_id",
        COUNT: "SELECT COUNT(*), COUNT(missing_at) FROM source_item WHERE tenant_id = $1 AND base_id = $2 AND source_id = $3",
        PUT_ITEM: "INSERT INTO source_item (tenant_id, base_id, document_id, source_id, missing_at) VALUES ($1, $2, $3, $4, $5) \
            ON CONFLICT (tenant_id, base_id, document_id) DO UPDATE SET missing_at = excluded.missing_at",
        MISSING_AT: "SELECT missing_at FROM source_item WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3",
        SOURCE_OF: "SELECT source_id FROM source_item WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3",
        FORGET_ITEM: "DELETE FROM source_item WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3",
        ITEMS: "SELECT source_item.document_id, document.external_key, document.filename, document_version.blob_hash, document.state, document.failure, \
            document.version, source_item.missing_at, document.deleted_at FROM source_item \
            JOIN document ON document.tenant_id = source_item.tenant_id AND document.base_id = source_item.base_id AND document.id = source_item.document_id \
            JOIN document_version ON document_version.tenant_id = document.tenant_id AND document_version.base_id = document.base_id \
            AND document_version.document_id = document.id AND document_version.version = document.version \
            WHERE source_item.tenant_id = $1 AND source_item.base_id = $2 AND source_item.source_id = $3 AND source_item.document_id > $4 \
            ORDER BY source_item.document_id LIMIT $5",
        PUT_PAGE: "INSERT INTO source_page (tenant_id, base_id, source_id, url, etag, last_modified, asked_at, run, gone, fault) \
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (tenant_id, base_id, source_id, url) DO UPDATE SET \
            etag = excluded.etag, last_modified = excluded.last_modified, asked_at = excluded.asked_at, run = excluded.run, gone = excluded.gone, fault = excluded.fault",
        PAGES: "SELECT url, etag, last_modified, asked_at, run, gone, fault FROM source_page \
            WHERE tenant_id = $1 AND base_id = $2 AND source_id = $3 ORDER BY asked_at, url",
        FAULTS: "SELECT url, etag, last_modified, asked_at, run, gone, fault FROM source_page \
            WHERE tenant_id = $1 AND base_id = $2 AND source_id = $3 AND fault IS NOT NULL ORDER BY url LIMIT $4",
        FORGET_PAGE: "DELETE FROM source_page WHERE tenant_id = $1 AND base_id = $2 AND source_id = $3 AND url = $4",
    }
}

fn read(row: &mut Row) -> Result<Source, StoreError> {
    Ok(Source {
        id: row.take()?,
        name: row.take()?,
        kind: row.named()?,
        least_role: row.named()?,
        settings: row.take()?,
        created_at: row.take()?,
        run: row.take()?,
        pulled_at: row.take()?,
        outcome: row.take()?,
    })
}

fn read_page(row: &mut Row) -> Result<Page, StoreError> {
    Ok(Page {
        url: row.take()?,
        etag: row.take()?,
        last_modified: row.take()?,
        asked_at: row.take()?,
        run: row.take()?,
        gone: row.take()?,
        fault: row.take()?,
    })
}

/// Adds a source.
///
/// # Errors
/// `Unique` if the base has one of that name for that least role.
pub async fn insert(tx: &mut Tx, kb: KbId, source: &NewSource<'_>) -> Result<(), StoreError> {
    let row = params![
        kb,
        source.id,
        source.name,
        source.kind.name(),
        source.least_role,
        source.settings,
        source.created_at,
    ];
    tx.execute(&INSERT, row).await.map(drop)
}

/// The source with this id.
pub async fn find(tx: &mut Tx, kb: KbId, id: SourceId) -> Result<Option<Source>, StoreError> {
    tx.row(&FIND, params![kb, id])
        .await?
        .as_mut()
        .map(read)
        .transpose()
}

/// The sources that `role` sees, in the order they were added.
pub async fn list(tx: &mut Tx, kb: KbId, role: Role) -> Result<Vec<Source>, StoreError> {
    tx.rows(&LIST, params![kb, roles_up_to(role)])
        .await?
        .iter_mut()
        .map(read)
        .collect()
}

/// The base that a source belongs to.
pub async fn base_of(tx: &mut Tx, id: SourceId) -> Result<Option<KbId>, StoreError> {
    tx.row(&BASE_OF, params![id])
        .await?
        .map(|mut row| row.take())
        .transpose()
}

/// Gives a source another name and other settings.
///
/// # Errors
/// `Unique` if the base has another one of that name for its least role.
pub async fn update(
    tx: &mut Tx,
    kb: KbId,
    id: SourceId,
    name: &str,
    settings: &str,
) -> Result<(), StoreError> {
    tx.execute(&UPDATE, params![kb, id, name, settings])
        .await
        .map(drop)
}

/// A pull ended: what became of it, and the number of the next one.
pub async fn put_outcome(
    tx: &mut Tx,
    kb: KbId,
    id: SourceId,
    (next, at): (u32, RecordTime),
    outcome: &str,
) -> Result<(), StoreError> {
    tx.execute(&PULLED, params![kb, id, next, at, outcome])
        .await
        .map(drop)
}

/// Removes a source and what is known of its pages. Which documents were its is still known.
pub async fn delete(tx: &mut Tx, kb: KbId, id: SourceId) -> Result<(), StoreError> {
    tx.execute(&DELETE_PAGES, params![kb, id]).await?;
    tx.execute(&DELETE, params![kb, id]).await.map(drop)
}

/// Makes all documents of a source documents of none.
pub async fn release_items(tx: &mut Tx, kb: KbId, id: SourceId) -> Result<(), StoreError> {
    tx.execute(&DELETE_ITEMS, params![kb, id]).await.map(drop)
}

/// Makes a document one of no source.
pub async fn release_item(tx: &mut Tx, kb: KbId, document: DocumentId) -> Result<(), StoreError> {
    tx.execute(&FORGET_ITEM, params![kb, document])
        .await
        .map(drop)
}

/// How many documents each source of a base has; sources without any are left out.
pub async fn counts(tx: &mut Tx, kb: KbId) -> Result<Vec<(SourceId, ItemCount)>, StoreError> {
    let rows = tx.rows(&COUNTS, params![kb]).await?;
    rows.into_iter()
        .map(|mut row| {
            let id = row.take()?;
            let (documents, missing) = (row.take()?, row.take()?);
            Ok((id, ItemCount { documents, missing }))
        })
        .collect()
}

/// How many documents a source has.
pub async fn count(tx: &mut Tx, kb: KbId, id: SourceId) -> Result<ItemCount, StoreError> {
    match tx.row(&COUNT, params![kb, id]).await? {
        Some(mut row) => Ok(ItemCount {
            documents: row.take()?,
            missing: row.take()?,
        }),
        None => Ok(ItemCount::default()),
    }
}

/// Says that a document is the source's, and since when the source no longer has it.
pub async fn put_item(
    tx: &mut Tx,
    kb: KbId,
    (document, source): (DocumentId, SourceId),
    missing_at: Option<RecordTime>,
) -> Result<(), StoreError> {
    tx.execute(&PUT_ITEM, params![kb, document, source, missing_at])
        .await
        .map(drop)
}

/// Since when the source of a document no longer has it.
pub async fn missing_at(
    tx: &mut Tx,
    kb: KbId,
    document: DocumentId,
) -> Result<Option<RecordTime>, StoreError> {
    match tx.row(&MISSING_AT, params![kb, document]).await? {
        Some(mut row) => row.take(),
        None => Ok(None),
    }
}

/// The source that a document is of.
pub async fn of_document(
    tx: &mut Tx,
    kb: KbId,
    document: DocumentId,
) -> Result<Option<SourceId>, StoreError> {
    let mut row = tx.row(&SOURCE_OF, params![kb, document]).await?;
    row.as_mut().map(Row::take).transpose()
}

/// Forgets that a document came from a source, and the page it was.
pub async fn forget_document(
    tx: &mut Tx,
    kb: KbId,
    document: DocumentId,
    url: &str,
) -> Result<(), StoreError> {
    let Some(source) = of_document(tx, kb, document).await? else {
        return Ok(());
    };
    tx.execute(&FORGET_PAGE, params![kb, source, url]).await?;
    release_item(tx, kb, document).await
}

/// A source's documents in the order they were first sent, those after `after`.
pub async fn items(
    tx: &mut Tx,
    kb: KbId,
    id: SourceId,
    after: Option<DocumentId>,
    limit: u32,
) -> Result<Vec<Item>, StoreError> {
    let after = after.unwrap_or(DocumentId::new(uuid::Uuid::nil()));
    let rows = tx.rows(&ITEMS, params![kb, id, after, limit]).await?;
    rows.into_iter()
        .map(|mut row| {
            Ok(Item {
                document: row.take()?,
                external_key: row.take()?,
                filename: row.take()?,
                blob_hash: row.take()?,
                state: row.named()?,
                failure: row.take()?,
                version: row.take()?,
                missing_at: row.take()?,
                deleted_at: row.take()?,
            })
        })
        .collect()
}

/// Stores what is known of a page.
pub async fn put_page(
    tx: &mut Tx,
    kb: KbId,
    source: SourceId,
    page: &Page,
) -> Result<(), StoreError> {
    let row = params![
        kb,
        source,
        &page.url,
        page.etag.as_deref(),
        page.last_modified.as_deref(),
        page.asked_at,
        page.run,
        page.gone,
        page.fault.as_deref(),
    ];
    tx.execute(&PUT_PAGE, row).await.map(drop)
}

/// A source's pages, those first that were not asked for the longest.
pub async fn pages(tx: &mut Tx, kb: KbId, source: SourceId) -> Result<Vec<Page>, StoreError> {
    tx.rows(&PAGES, params![kb, source])
        .await?
        .iter_mut()
        .map(read_page)
        .collect()
}

/// A source's pages that could not be taken, by address.
pub async fn faults(
    tx: &mut Tx,
    kb: KbId,
    source: SourceId,
    limit: u32,
) -> Result<Vec<Page>, StoreError> {
    tx.rows(&FAULTS, params![kb, source, limit])
        .await?
        .iter_mut()
        .map(read_page)
        .collect()
}
