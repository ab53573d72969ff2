//! What must hold between rows, and the rows for which it does not.
//!
//! The schema has no foreign keys: both engines are to load, purge and restore in any order. What
//! keeps rows together are the transactions that write them, so here stands, rule by rule, what
//! those are to leave behind.

pub(crate) mod ledger;
pub(crate) mod sources;

use std::collections::{BTreeSet, HashMap};

use model::{DocumentId, KbId, RecordTime};
use uuid::Uuid;

use crate::documents::DocumentState;
use crate::statement::{Statement, statements};
use crate::value::{Value, params};
use crate::{StoreError, Tx, jobs};

/// Rows named of each rule.
const NAMED: u32 = 20;

/// Something that must hold of a base's rows.
#[derive(Debug)]
pub struct Rule {
    /// What is wrong where it does not hold.
    pub says: &'static str,
    /// What the columns of the answer are called.
    columns: &'static [&'static str],
    statement: &'static Statement,
}

/// Rows for which a rule does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// What is wrong.
    pub says: &'static str,
    /// Where, such as `document 0198…, version 2`; twenty at most.
    pub places: Vec<String>,
}

/// Every rule over the rows of one base.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    LIBRARY.iter().chain(sources::RULES).chain(ledger::RULES)
}

static LIBRARY: &[Rule] = &[
    Rule {
        says: "versions without their document",
        columns: &["document", "version"],
        statement: &VERSION_ORPHANS,
    },
    Rule {
        says: "documents without their latest version",
        columns: &["document", "version"],
        statement: &DOCUMENT_WITHOUT_VERSION,
    },
    Rule {
        says: "sections without their version",
        columns: &["document", "version"],
        statement: &SECTION_ORPHANS,
    },
    Rule {
        says: "sections of a purged document",
        columns: &["document", "version"],
        statement: &SECTION_OF_PURGED,
    },
    Rule {
        says: "passages without their document",
        columns: &["document", "passage number"],
        statement: &CHUNK_ORPHANS,
    },
    Rule {
        says: "vectors without their passage",
        columns: &["passage", "model"],
        statement: &VECTOR_ORPHANS,
    },
    Rule {
        says: "passages held no longer before they were held, or numbered or dated after the base's last write",
        columns: &["passage number"],
        statement: &CHUNK_TIMES,
    },
    Rule {
        says: "passages held twice at one moment",
        columns: &["passage", "passage number"],
        statement: &CHUNK_TWICE,
    },
    Rule {
        says: "purged passages with text",
        columns: &["passage number"],
        statement: &PURGED_TEXT,
    },
    Rule {
        says: "passages that are held of a document that holds nothing",
        columns: &["document", "passage number"],
        statement: &CHUNK_OF_NOTHING,
    },
    Rule {
        says: "documents that hold a version which is not held",
        columns: &["document", "version"],
        statement: &HELD_NOT_OPEN,
    },
    Rule {
        says: "versions that are held and that their document does not hold",
        columns: &["document", "version"],
        statement: &OPEN_NOT_HELD,
    },
    Rule {
        says: "versions held no longer before they were held, or dated after the base's last write",
        columns: &["document", "version"],
        statement: &VERSION_TIMES,
    },
    Rule {
        says: "members without an account",
        columns: &["user"],
        statement: &MEMBER_ORPHANS,
    },
];

statements! {
    tenant {
        VERSION_ORPHANS: "SELECT document_id, version FROM document_version WHERE tenant_id = $1 AND base_id = $2 AND NOT EXISTS (SELECT 1 FROM document \
            WHERE document.tenant_id = document_version.tenant_id AND document.base_id = document_version.base_id AND document.id = document_version.document_id) LIMIT $3",
        DOCUMENT_WITHOUT_VERSION: "SELECT id, version FROM document WHERE tenant_id = $1 AND base_id = $2 AND NOT EXISTS (SELECT 1 FROM document_version \
            WHERE document_version.tenant_id = document.tenant_id AND document_version.base_id = document.base_id AND document_version.document_id = document.id AND document_version.version = document.version) LIMIT $3",
        SECTION_ORPHANS: "SELECT document_id, version FROM section WHERE tenant_id = $1 AND base_id = $2 AND seq = 0 AND NOT EXISTS (SELECT 1 FROM document_version \
            WHERE document_version.tenant_id = section.tenant_id AND document_version.base_id = section.base_id AND document_version.document_id = section.document_id \
            AND document_version.version = section.version) LIMIT $3",
        SECTION_OF_PURGED: "SELECT section.document_id, section.version FROM document JOIN section ON section.tenant_id = document.tenant_id AND section.base_id = document.base_id AND section.document_id = document.id \
            WHERE document.tenant_id = $1 AND document.base_id = $2 AND document.purged_at IS NOT NULL AND section.seq = 0 LIMIT $3",
        CHUNK_ORPHANS: "SELECT document_id, ordinal FROM chunk WHERE tenant_id = $1 AND base_id = $2 AND NOT EXISTS (SELECT 1 FROM document \
            WHERE document.tenant_id = chunk.tenant_id AND document.base_id = chunk.base_id AND document.id = chunk.document_id) LIMIT $3",
        VECTOR_ORPHANS: "SELECT chunk_id, model FROM vector WHERE tenant_id = $1 AND base_id = $2 AND NOT EXISTS (SELECT 1 FROM chunk \
            WHERE chunk.tenant_id = vector.tenant_id AND chunk.base_id = vector.base_id AND chunk.id = vector.chunk_id AND chunk.purged_at IS NULL) LIMIT $3",
        CHUNK_TIMES: "SELECT chunk.ordinal FROM chunk JOIN base ON base.tenant_id = chunk.tenant_id AND base.id = chunk.base_id \
            WHERE chunk.tenant_id = $1 AND chunk.base_id = $2 AND (chunk.invalidated_at <= chunk.recorded_at OR chunk.recorded_at > base.clock OR chunk.invalidated_at > base.clock \
            OR chunk.purged_at > base.clock OR chunk.ordinal >= base.next_ordinal) LIMIT $3",
        CHUNK_TWICE: "SELECT chunk.id, later.ordinal FROM chunk JOIN chunk AS later ON later.tenant_id = chunk.tenant_id AND later.base_id = chunk.base_id AND later.id = chunk.id AND later.recorded_at > chunk.recorded_at \
            WHERE chunk.tenant_id = $1 AND chunk.base_id = $2 AND (chunk.invalidated_at IS NULL OR chunk.invalidated_at > later.recorded_at) LIMIT $3",
        PURGED_TEXT: "SELECT ordinal FROM chunk WHERE tenant_id = $1 AND base_id = $2 AND purged_at IS NOT NULL \
            AND (invalidated_at IS NULL OR text <> '' OR title <> '' OR heading_path <> '[]') LIMIT $3",
        CHUNK_OF_NOTHING: "SELECT chunk.document_id, chunk.ordinal FROM chunk JOIN document ON document.tenant_id = chunk.tenant_id AND document.base_id = chunk.base_id AND document.id = chunk.document_id \
            WHERE chunk.tenant_id = $1 AND chunk.base_id = $2 AND chunk.invalidated_at IS NULL AND document.held_version IS NULL LIMIT $3",
        HELD_NOT_OPEN: "SELECT id, held_version FROM document WHERE tenant_id = $1 AND base_id = $2 AND held_version IS NOT NULL AND NOT EXISTS (SELECT 1 FROM document_version \
            WHERE document_version.tenant_id = document.tenant_id AND document_version.base_id = document.base_id AND document_version.document_id = document.id \
            AND document_version.version = document.held_version AND document_version.recorded_at IS NOT NULL AND document_version.invalidated_at IS NULL) LIMIT $3",
        OPEN_NOT_HELD: "SELECT document_version.document_id, document_version.version FROM document_version JOIN document ON document.tenant_id = document_version.tenant_id \
            AND document.base_id = document_version.base_id AND document.id = document_version.document_id \
            WHERE document_version.tenant_id = $1 AND document_version.base_id = $2 AND document_version.recorded_at IS NOT NULL AND document_version.invalidated_at IS NULL \
            AND (document.held_version IS NULL OR document.held_version <> document_version.version) LIMIT $3",
        VERSION_TIMES: "SELECT document_version.document_id, document_version.version FROM document_version JOIN base ON base.tenant_id = document_version.tenant_id AND base.id = document_version.base_id \
            WHERE document_version.tenant_id = $1 AND document_version.base_id = $2 AND (document_version.invalidated_at <= document_version.recorded_at \
            OR document_version.recorded_at > base.clock OR document_version.invalidated_at > base.clock) LIMIT $3",
        MEMBER_ORPHANS: "SELECT user_id FROM member WHERE tenant_id = $1 AND base_id = $2 AND NOT EXISTS (SELECT 1 FROM user_account \
            WHERE user_account.tenant_id = member.tenant_id AND user_account.id = member.user_id) LIMIT $3",
        HELD_ORDERS: "SELECT document_id, version, chunk_order FROM document_version WHERE tenant_id = $1 AND base_id = $2 AND recorded_at IS NOT NULL AND invalidated_at IS NULL ORDER BY document_id",
        HELD_CHUNKS: "SELECT document_id, COUNT(*), CAST(SUM(ordinal) AS BIGINT) FROM chunk WHERE tenant_id = $1 AND base_id = $2 AND invalidated_at IS NULL GROUP BY document_id",
        UNFINISHED: "SELECT id, version, state FROM document WHERE tenant_id = $1 AND base_id = $2 AND state NOT IN ('ready', 'failed') AND deleted_at IS NULL AND purged_at IS NULL",
        LAPSED: "SELECT kind, key FROM job WHERE tenant_id = $1 AND state = 'running' AND lease_until < $2 LIMIT $3",
        COUNT_CHUNKS: "SELECT COUNT(*) FROM chunk WHERE tenant_id = $1 AND base_id = $2 AND purged_at IS NULL",
        STRANGERS: "SELECT id FROM base WHERE tenant_id = $1 AND NOT EXISTS (SELECT 1 FROM base_directory WHERE base_directory.id = base.id AND base_directory.tenant_id = base.tenant_id) LIMIT $2",
    }
}

/// The rows of a base for which a rule does not hold; none if it holds.
pub async fn broken(tx: &mut Tx, kb: KbId, rule: &Rule) -> Result<Option<Broken>, StoreError> {
    let rows = tx.rows(rule.statement, params![kb, NAMED]).await?;
    let places = rows.into_iter().map(|row| {
        let cells = rule.columns.iter().zip(row.into_values());
        let cells: Vec<String> = cells
            .map(|(name, cell)| format!("{name} {}", shown(&cell)))
            .collect();
        cells.join(", ")
    });
    Ok(of_places(rule.says, places.collect()))
}

fn of_places(says: &'static str, places: Vec<String>) -> Option<Broken> {
    (!places.is_empty()).then_some(Broken { says, places })
}

/// An id, a number or a name; no rule shows stored text.
fn shown(cell: &Value) -> String {
    match cell {
        Value::Uuid(id) => id.to_string(),
        Value::Bytes(bytes) => {
            Uuid::from_slice(bytes).map_or_else(|_| "?".to_owned(), |id| id.to_string())
        }
        Value::Int(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        _ => "?".to_owned(),
    }
}

/// Versions that are held and whose reading order is not made of the passages that are.
pub async fn broken_orders(tx: &mut Tx, kb: KbId) -> Result<Option<Broken>, StoreError> {
    let mut held: HashMap<DocumentId, (i64, i64)> = HashMap::new();
    for mut row in tx.rows(&HELD_CHUNKS, params![kb]).await? {
        held.insert(row.take()?, (row.take()?, row.take()?));
    }
    let mut places = Vec::new();
    for mut row in tx.rows(&HELD_ORDERS, params![kb]).await? {
        let (document, version): (DocumentId, i64) = (row.take()?, row.take()?);
        let order = row.take::<Option<Vec<u8>>>()?.unwrap_or_default();
        let order = crate::documents::unpack(&order);
        let each: BTreeSet<i64> = order.iter().copied().collect();
        let (count, sum) = held.get(&document).copied().unwrap_or_default();
        let fits = each.len() == order.len()
            && order.len() as i64 == count
            && order.iter().sum::<i64>() == sum;
        if !fits && places.len() < NAMED as usize {
            places.push(format!("document {document}, version {version}"));
        }
    }
    Ok(of_places(
        "versions whose reading order names other passages than are held",
        places,
    ))
}

/// Documents on their way that no waiting or running job will bring any further.
pub async fn stuck_documents(tx: &mut Tx, kb: KbId) -> Result<Option<Broken>, StoreError> {
    let unfinished = tx.rows(&UNFINISHED, params![kb]).await?;
    if unfinished.is_empty() {
        return Ok(None);
    }
    let unfinished_jobs = jobs::unfinished(tx, kb).await?;
    let keys: BTreeSet<String> = unfinished_jobs.into_iter().map(|(_, key)| key).collect();
    let mut places = Vec::new();
    for mut row in unfinished {
        let (document, version): (DocumentId, i64) = (row.take()?, row.take()?);
        let state: DocumentState = row.named()?;
        if !keys.contains(&format!("{document}/{version}")) && places.len() < NAMED as usize {
            places.push(format!(
                "document {document}, version {version}, {}",
                state.name()
            ));
        }
    }
    Ok(of_places(
        "documents on their way that no job brings further",
        places,
    ))
}

/// Jobs whose worker gave no sign of life until a moment.
pub async fn lapsed_jobs(tx: &mut Tx, since: RecordTime) -> Result<Option<Broken>, StoreError> {
    let rows = tx.rows(&LAPSED, params![since, NAMED]).await?;
    let places = rows.into_iter().map(|mut row| {
        Ok(format!(
            "job {} of {}",
            row.take::<String>()?,
            row.take::<String>()?
        ))
    });
    let places: Result<_, StoreError> = places.collect();
    Ok(of_places(
        "jobs whose worker has died and that none has taken up",
        places?,
    ))
}

/// Bases that cannot be found by their address.
pub async fn lost_bases(tx: &mut Tx) -> Result<Option<Broken>, StoreError> {
    let rows = tx.rows(&STRANGERS, params![NAMED]).await?;
    let places = rows
        .into_iter()
        .map(|mut row| Ok(format!("base {}", row.take::<KbId>()?)));
    let places: Result<_, StoreError> = places.collect();
    Ok(of_places(
        "bases that the directory of bases lacks",
        places?,
    ))
}

/// How many passages a search cache of the base must hold: all that were not purged.
pub async fn count_to_index(tx: &mut Tx, kb: KbId) -> Result<u64, StoreError> {
    match tx.row(&COUNT_CHUNKS, params![kb]).await? {
        Some(mut row) => row.take(),
        None => Ok(0),
    }
}
