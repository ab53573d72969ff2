//! The rows of one base, table by table, without what only its deployment knows: what an archive
//! of a base is made of.
//!
//! A line is a row of [`rows`] without the organisation and the base, so the rows of
//! a base are the same bytes wherever it lives.

use std::sync::LazyLock;

use model::{KbId, RecordTime, Visibility};
use serde::{Deserialize, Serialize};

use crate::rows::{self, Column, Cursor, LoadError, Page, Table, leaked, marks_from};
use crate::statement::{Statement, statements};
use crate::value::{Param, Value, params};
use crate::{StoreError, Tx};

/// Tables whose rows belong to a base, wherever it lives.
const KEPT: &[&str] = &[
    "source",
    "source_item",
    "source_page",
    "document",
    "document_version",
    "section",
    "chunk",
    "vector",
    "base_model",
    "entity_type",
    "entity_type_parent",
    "entity_type_disjoint",
    "relation_type",
    "relation_type_link",
    "event",
    "event_payload",
    "entity",
    "entity_kind",
    "fact",
    "fact_hold",
    "fact_evidence",
    "fact_qualifier",
    "same_as",
    "identity",
    "different_from",
];

/// Tables that name a base and belong to its deployment, and why.
#[cfg(test)]
const LEFT: &[(&str, &str)] = &[
    ("member", "who may do what is a matter of the deployment"),
    ("credential_base", "tokens are the deployment's"),
    ("audit", "the chain of the log is the organisation's"),
    (
        "idempotency",
        "it remembers calls that were made here, for a day",
    ),
    ("job", "work is queued anew where the base arrives"),
    ("erasure", "what was being erased is in no archive"),
];

/// A table of the rows of a base.
#[derive(Debug)]
pub struct BaseTable {
    name: &'static str,
    /// All but the organisation and the base.
    columns: Vec<Column>,
    /// Places of the columns of the primary key behind those two.
    key: Vec<usize>,
    read: Statement,
    load: Statement,
    count: Statement,
}

/// What the row of a base itself says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseRow {
    /// Its id.
    pub id: KbId,
    /// Its name.
    pub name: String,
    /// Its second, human name.
    pub slug: String,
    /// Who sees it.
    pub visibility: Visibility,
    /// When it was made.
    pub created_at: RecordTime,
    /// Record time of its last write.
    pub clock: RecordTime,
    /// The number that its next passage gets.
    pub next_ordinal: u64,
}

/// Rows read at once.
const PAGE: u32 = 500;

/// What every kept table's primary key begins with.
const SCOPE: [&str; 2] = ["tenant_id", "base_id"];

/// The tables of the newest schema, in the order of an archive.
pub fn tables() -> &'static [BaseTable] {
    static TABLES: LazyLock<Vec<BaseTable>> = LazyLock::new(|| {
        let table = |name: &&str| {
            let table = rows::tables().iter().find(|table| table.name() == *name);
            BaseTable::of(table.expect("a kept table is one of the schema"))
        };
        KEPT.iter().map(table).collect()
    });
    &TABLES
}

/// The statements made from the tables.
pub(crate) fn of_tables() -> impl Iterator<Item = &'static Statement> {
    tables()
        .iter()
        .flat_map(|table| [&table.read, &table.load, &table.count])
}

impl BaseTable {
    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    fn of(table: &'static Table) -> Self {
        let is_own = |column: &&Column| !SCOPE.contains(&column.name);
        let columns: Vec<Column> = table.columns.iter().filter(is_own).copied().collect();
        let place = |key: &usize| {
            let name = table.columns[*key].name;
            columns.iter().position(|column| column.name == name)
        };
        let key: Vec<usize> = table.key.iter().filter_map(place).collect();
        let name = table.name();
        let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        let keys: Vec<&str> = key.iter().map(|&place| names[place]).collect();
        let (all, ordered) = (names.join(", "), keys.join(", "));
        // The organisation and the base are the first two parameters.
        let (after, limit) = (marks_from(3, key.len()), 3 + key.len());
        let read = if key.is_empty() {
            // One row a base: there is no going on after it.
            format!("SELECT {all} FROM {name} WHERE tenant_id = $1 AND base_id = $2 LIMIT ${limit}")
        } else {
            format!(
                "SELECT {all} FROM {name} WHERE tenant_id = $1 AND base_id = $2 AND ({ordered}) > ({after}) ORDER BY {ordered} LIMIT ${limit}"
            )
        };
        let values = marks_from(3, columns.len());
        let load =
            format!("INSERT INTO {name} (tenant_id, base_id, {all}) VALUES ($1, $2, {values})");
        let count = format!("SELECT COUNT(*) FROM {name} WHERE tenant_id = $1 AND base_id = $2");
        let statement = |verb: &str, text: String| {
            let named = format!("{}::{verb}_{name}", module_path!());
            Statement::of_tenant(leaked(named), leaked(text))
        };
        Self {
            name,
            read: statement("READ", read),
            load: statement("LOAD", load),
            count: statement("COUNT", count),
            columns,
            key,
        }
    }
}

statements! {
    tenant {
        FIND: "SELECT name, slug, visibility, created_at, clock, next_ordinal FROM base WHERE tenant_id = $1 AND id = $2",
        INSERT: "INSERT INTO base (tenant_id, id, name, slug, visibility, created_at, clock, next_ordinal) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        ENTER: "INSERT INTO base_directory (tenant_id, id) VALUES ($1, $2)",
    }
}

/// The row of a base.
pub async fn find(tx: &mut Tx, kb: KbId) -> Result<Option<BaseRow>, StoreError> {
    let Some(mut row) = tx.row(&FIND, params![kb]).await? else {
        return Ok(None);
    };
    Ok(Some(BaseRow {
        id: kb,
        name: row.take()?,
        slug: row.take()?,
        visibility: row.named()?,
        created_at: row.take()?,
        clock: row.take()?,
        next_ordinal: row.take()?,
    }))
}

/// Adds a base as it was elsewhere.
///
/// # Errors
/// `Unique` if its id is taken in the deployment, or its slug in the organisation.
pub async fn insert(tx: &mut Tx, base: &BaseRow) -> Result<(), StoreError> {
    let row = params![
        base.id,
        &base.name,
        &base.slug,
        base.visibility.name(),
        base.created_at,
        base.clock,
        base.next_ordinal
    ];
    tx.execute(&INSERT, row).await?;
    tx.execute(&ENTER, params![base.id]).await.map(drop)
}

/// How many rows of a table the base has.
pub async fn count(tx: &mut Tx, kb: KbId, table: &'static BaseTable) -> Result<u64, StoreError> {
    match tx.row(&table.count, params![kb]).await? {
        Some(mut row) => row.take(),
        None => Ok(0),
    }
}

/// Appends the next rows of a table to `out`, a line each, by primary key.
pub async fn read(
    tx: &mut Tx,
    kb: KbId,
    table: &'static BaseTable,
    after: Option<Cursor>,
    out: &mut Vec<u8>,
) -> Result<Page, StoreError> {
    let keys = table.key.iter().map(|&key| table.columns[key]);
    let after = after.map_or_else(|| keys.map(rows::least).collect(), |cursor| cursor.0);
    let mut bound = vec![Param::from(kb)];
    bound.extend(after.iter().map(rows::param));
    bound.push(Param::from(PAGE));
    let found = tx.rows(&table.read, &bound).await?;
    let count = found.len();
    let mut next = None;
    for (number, row) in found.into_iter().enumerate() {
        let values = row.into_values();
        rows::write_line(&table.columns, &values, out);
        if number + 1 == PAGE as usize {
            let key = table.key.iter().map(|&key| values[key].clone());
            next = Some(Cursor(key.collect()));
        }
    }
    Ok(Page {
        rows: count as u64,
        next,
    })
}

/// Rows of a table that wait to be loaded.
#[derive(Debug)]
pub struct Lines {
    table: &'static BaseTable,
    rows: Vec<Vec<Value>>,
}

impl Lines {
    /// The rows of a text, a line each.
    ///
    /// # Errors
    /// If a line is no row of the table.
    pub fn of(table: &'static BaseTable, text: &str) -> Result<Self, LoadError> {
        let rows = rows::read_lines(table.name, &table.columns, text)?;
        Ok(Self { table, rows })
    }

    /// The name of their table.
    pub fn table(&self) -> &'static str {
        self.table.name
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Adds them to a base.
    pub async fn load(&self, tx: &mut Tx, kb: KbId) -> Result<(), StoreError> {
        let mut bound: Vec<Vec<Param<'_>>> = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            let own = row.iter().map(rows::param);
            bound.push(std::iter::once(Param::from(kb)).chain(own).collect());
        }
        tx.bulk(&self.table.load, &bound).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_of_a_base_is_kept_or_left_for_a_reason() {
        for table in rows::tables() {
            let is_kept = KEPT.contains(&table.name());
            let is_left = LEFT.iter().any(|(name, _)| *name == table.name());
            let is_of_base = table.columns().any(|column| column == "base_id");
            assert_eq!(
                is_of_base,
                is_kept || is_left,
                "say whether an archive of a base has the rows of `{}`",
                table.name()
            );
            assert!(!(is_kept && is_left), "{}", table.name());
        }
    }

    #[test]
    fn a_kept_table_is_ordered_within_its_base() {
        for name in KEPT {
            let table = rows::tables().iter().find(|table| table.name() == *name);
            let table = table.unwrap();
            let key: Vec<&str> = table
                .key
                .iter()
                .map(|&place| table.columns[place].name)
                .collect();
            assert_eq!(key[..2], SCOPE, "{name}");
        }
    }
}
