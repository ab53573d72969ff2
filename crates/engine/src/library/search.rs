//! The one search over documents; each contract that searches cuts its own answer from it.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use model::{Code, DocumentId, Error, KbId, RecordTime, Result, Role, TenantId};
use providers::Embedders;
use store::chunks::{self, Chunk};
use store::documents::{self, Version};
use store::index::{Hit, Indexes, Query};
use store::{Db, Tx, models};

use super::embed::{self, Meant, Without};

/// What to search for, for whom, and as of when.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// The question. Words only: no sign in it is an operator.
    pub text: &'a str,
    /// The asker's role: what asks for a higher one is neither found nor counted.
    pub role: Role,
    /// The record time to search at; none for what is held now.
    pub as_of: Option<RecordTime>,
    /// Hits at most.
    pub limit: usize,
}

/// What a search came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The passages, best first.
    pub found: Vec<Found>,
    /// Why words alone decided, where vectors were to have a say.
    pub without: Option<Without>,
}

/// A passage that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The passage as it was held.
    pub chunk: Chunk,
    /// The name of its document's file then.
    pub filename: String,
    /// Its place in the document then, from 0.
    pub seq: u32,
    /// The score by which hits are ordered.
    pub score: f32,
    /// Passages that say the same and are not among the hits.
    pub folded: u32,
}

/// How long a search waits for the cache to know the base's last write.
const PATIENCE: Duration = Duration::from_secs(2);

fn behind() -> Error {
    let sentence = "the search index does not know the last documents yet; try again in a moment";
    Error::new(Code::Unavailable, sentence).retry_after(2)
}

/// The best passages for a question, best first.
///
/// # Errors
/// `unavailable`, to be tried again, if the search cache does not know the base's last write yet.
pub async fn search(
    db: &Db,
    (indexes, embedders): (&Indexes, &Embedders),
    (tenant, kb): (TenantId, KbId),
    search: &Search<'_>,
) -> Result<Answer> {
    let serving = models::of_base(&mut db.read(tenant).await?, kb)
        .await?
        .serving;
    let meant = embed::mean(embedders, serving, search.text).await;
    let answer = hybrid(db, indexes, (tenant, kb), search, &meant).await?;
    if answer.without != Some(Without::Reading) {
        return Ok(answer);
    }
    let serving = models::of_base(&mut db.read(tenant).await?, kb)
        .await?
        .serving;
    if serving == meant.serving {
        return Ok(answer);
    }
    // The base was switched meanwhile, and the vectors of two models are never compared.
    let meant = embed::mean(embedders, serving, search.text).await;
    hybrid(db, indexes, (tenant, kb), search, &meant).await
}

/// The best passages for a question that a model has read, best first.
///
/// # Errors
/// As [`search`].
pub async fn hybrid(
    db: &Db,
    indexes: &Indexes,
    (tenant, kb): (TenantId, KbId),
    search: &Search<'_>,
    meant: &Meant,
) -> Result<Answer> {
    let wanted = meant.serving.as_ref().filter(|_| meant.vector.is_some());
    let synced = tokio::time::timeout(PATIENCE, indexes.synced(tenant, kb, wanted)).await;
    let index = if let Ok(index) = synced {
        index?
    } else {
        let words = indexes.words_at_hand(tenant, kb).await?;
        words.ok_or_else(behind)?
    };
    let is_reading = wanted.is_some() && !index.has_vectors();
    let query = Query {
        as_of: search.as_of,
        vector: meant.vector.as_deref(),
        nameless: meant.nameless.as_ref(),
        ..Query::new(search.text, search.role, search.limit)
    };
    let hits = index.find(query).await?;
    // As the base stood when the search began, whatever was written since.
    let head = index.head();
    let as_of = search.as_of.map_or(head, |as_of| as_of.min(head));
    Ok(Answer {
        found: join(&mut db.read(tenant).await?, kb, &hits, as_of).await?,
        without: meant.without.or(is_reading.then_some(Without::Reading)),
    })
}

/// The hits with what is shown of them; what was purged since is left out.
async fn join(tx: &mut Tx, kb: KbId, hits: &[Hit], as_of: RecordTime) -> Result<Vec<Found>> {
    let ordinals: Vec<i64> = hits.iter().map(|hit| hit.ordinal).collect();
    let rows = chunks::by_ordinals(tx, kb, &ordinals).await?;
    let mut rows: HashMap<i64, Chunk> = rows.into_iter().map(|row| (row.ordinal, row)).collect();
    let ids: HashSet<DocumentId> = hits.iter().map(|hit| hit.document).collect();
    let ids: Vec<DocumentId> = ids.into_iter().collect();
    let versions = documents::versions_at(tx, kb, &ids, as_of).await?;
    let versions: HashMap<DocumentId, Version> = versions
        .into_iter()
        .map(|version| (version.document, version))
        .collect();
    let found = hits.iter().filter_map(|hit| {
        let chunk = rows
            .remove(&hit.ordinal)
            .filter(|chunk| chunk.purged_at.is_none())?;
        let version = versions.get(&hit.document)?;
        let order = version.chunk_order.as_deref().unwrap_or_default();
        let seq = order.iter().position(|&ordinal| ordinal == hit.ordinal)?;
        Some(Found {
            chunk,
            filename: version.filename.clone(),
            seq: seq as u32,
            score: hit.score,
            folded: hit.folded,
        })
    });
    Ok(found.collect())
}
