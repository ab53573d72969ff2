//! Every table, row by row, in a form that either engine takes: what a backup is made of.
//!
//! The tables are read off the migrations, so that a new table is in the next backup without
//! anyone having to remember it. A row is a line of JSON: an array of its columns in the order
//! of [`Table::columns`].

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use model::{KbId, TenantId};
use uuid::Uuid;

use crate::migrations;
use crate::statement::{Statement, statements};
use crate::value::{Param, Value, params};
use crate::{StoreError, Tx};

/// Rows read at once.
const PAGE: u32 = 200;

/// A table of the schema.
#[derive(Debug)]
pub struct Table {
    name: &'static str,
    pub(crate) columns: Vec<Column>,
    /// Places of the columns of its primary key.
    pub(crate) key: Vec<usize>,
    read: Statement,
    load: Statement,
    count: Statement,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    kind: Kind,
}

/// What a column holds, as the migrations write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Uuid,
    Text,
    Int,
    Bytes,
    Bool,
    Real,
}

/// Where reading a table goes on.
#[derive(Debug, Clone)]
pub struct Cursor(pub(crate) Vec<Value>);

/// Some rows of a table.
#[derive(Debug)]
pub struct Page {
    /// How many were read.
    pub rows: u64,
    /// Where to go on; none at the end.
    pub next: Option<Cursor>,
}

/// A line is no row of the table.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// What it says is not what the table holds.
    #[error("line {line} is no row of `{table}`: {why}")]
    NotARow {
        table: &'static str,
        line: usize,
        why: String,
    },
    /// It could not be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Every table of the newest schema, in the order of the migrations.
pub fn tables() -> &'static [Table] {
    static NEWEST: LazyLock<Vec<Table>> = LazyLock::new(|| tables_at(migrations::ALL.len()));
    &NEWEST
}

/// Every table as the schema had it after so many migrations.
///
/// The statements of the answer live as long as the process: it is asked for once in a restore.
pub fn tables_at(steps: usize) -> Vec<Table> {
    let texts = migrations::ALL.iter().take(steps).map(|step| step.sqlite());
    Schema::read(texts).tables
}

impl Table {
    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The names of its columns, in the order of a row; without the quotation marks that a word of
    /// SQL's own stands in.
    pub fn columns(&self) -> impl Iterator<Item = &'static str> {
        self.columns
            .iter()
            .map(|column| column.name.trim_matches('"'))
    }

    fn new(name: &'static str, columns: Vec<Column>, key: Vec<usize>) -> Self {
        let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        let keys: Vec<&str> = key.iter().map(|&place| names[place]).collect();
        let (all, ordered) = (names.join(", "), keys.join(", "));
        let (marks, limit) = (marks(key.len()), key.len() + 1);
        let read = format!(
            "SELECT {all} FROM {name} WHERE ({ordered}) > ({marks}) ORDER BY {ordered} LIMIT ${limit}"
        );
        let values = self::marks(columns.len());
        let load = format!("INSERT INTO {name} ({all}) VALUES ({values})");
        let count = format!("SELECT COUNT(*) FROM {name}");
        let of = |verb: &str, text: String, reason| {
            let named = format!("{}::{verb}_{name}", module_path!());
            Statement::of_directory(leaked(named), leaked(text), reason)
        };
        Self {
            name,
            read: of("READ", read, "a backup holds the rows of every tenant"),
            load: of(
                "LOAD",
                load,
                "a restore brings back the rows of every tenant",
            ),
            count: of("COUNT", count, "a backup counts the rows of every tenant"),
            columns,
            key,
        }
    }
}

pub(crate) fn leaked(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// `$1, $2, …`.
fn marks(count: usize) -> String {
    marks_from(1, count)
}

/// So many marks of parameters, numbered from `first`.
pub(crate) fn marks_from(first: usize, count: usize) -> String {
    let marks: Vec<String> = (first..first + count)
        .map(|number| format!("${number}"))
        .collect();
    marks.join(", ")
}

/// The statements made from the tables.
pub(crate) fn of_tables() -> impl Iterator<Item = &'static Statement> {
    tables()
        .iter()
        .flat_map(|table| [&table.read, &table.load, &table.count])
}

/// The tables of the migrations so far.
#[derive(Default)]
struct Schema {
    tables: Vec<Table>,
}

impl Schema {
    fn read(texts: impl Iterator<Item = &'static str>) -> Self {
        let mut schema = Self::default();
        for text in texts {
            let bare: String = text
                .lines()
                .map(|line| line.split("--").next().unwrap_or_default())
                .flat_map(|line| [line, "\n"])
                .collect();
            for statement in leaked(bare).split(';').map(str::trim) {
                schema.take(statement);
            }
        }
        schema
    }

    /// Takes in one statement; those that change no table are passed over.
    fn take(&mut self, statement: &'static str) {
        let words: Vec<&str> = statement.split_whitespace().collect();
        match words.as_slice() {
            ["CREATE", "TABLE", name, ..] => {
                let body = statement
                    .split_once('(')
                    .and_then(|(_, body)| body.rsplit_once(')'));
                let (body, _) = body.expect("a table has columns in parentheses");
                self.tables.push(create(name, body));
            }
            ["ALTER", "TABLE", name, "ADD", "COLUMN", rest @ ..] => {
                let added = column(rest).expect("an added column has a name and a type");
                self.change(name, |columns| columns.push(added));
            }
            ["ALTER", "TABLE", name, "DROP", "COLUMN", gone] => {
                self.change(name, |columns| {
                    columns.retain(|column| column.name != *gone);
                });
            }
            ["DROP", "TABLE", name] => self.tables.retain(|table| table.name != *name),
            _ => {}
        }
    }

    fn change(&mut self, name: &str, change: impl FnOnce(&mut Vec<Column>)) {
        let place = self.tables.iter().position(|table| table.name == name);
        let place = place.expect("a table is changed after it was made");
        let old = &self.tables[place];
        let keys: Vec<&str> = old.key.iter().map(|&key| old.columns[key].name).collect();
        let mut columns = old.columns.clone();
        change(&mut columns);
        let key = places(&columns, &keys);
        self.tables[place] = Table::new(old.name, columns, key);
    }
}

fn create(name: &'static str, body: &'static str) -> Table {
    let (mut columns, mut keys) = (Vec::new(), Vec::new());
    for part in parts(body) {
        let words: Vec<&str> = part.split_whitespace().collect();
        if let ["PRIMARY", "KEY", ..] = words.as_slice() {
            let inside = part
                .split_once('(')
                .and_then(|(_, inside)| inside.rsplit_once(')'));
            let (inside, _) = inside.expect("a primary key names its columns");
            keys = inside.split(',').map(str::trim).collect();
        } else if let Some(column) = column(&words) {
            if part.contains("PRIMARY KEY") {
                keys = vec![column.name];
            }
            columns.push(column);
        }
    }
    let key = places(&columns, &keys);
    Table::new(name, columns, key)
}

fn places(columns: &[Column], names: &[&str]) -> Vec<usize> {
    let place = |name: &&str| columns.iter().position(|column| column.name == *name);
    let places: Vec<usize> = names.iter().filter_map(place).collect();
    assert!(
        !places.is_empty() && places.len() == names.len(),
        "a table has a primary key of its own columns"
    );
    places
}

/// The parts between the commas that stand in no parentheses.
fn parts(body: &'static str) -> Vec<&'static str> {
    let (mut found, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, sign) in body.char_indices() {
        match sign {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                found.push(body[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(body[start..].trim());
    found
}

/// A column's name and kind; none for a constraint.
fn column(words: &[&'static str]) -> Option<Column> {
    let kind = match *words.get(1)? {
        "UUID" => Kind::Uuid,
        "TEXT" => Kind::Text,
        "BIGINT" => Kind::Int,
        "BYTEA" => Kind::Bytes,
        "BOOLEAN" => Kind::Bool,
        "DOUBLE" => Kind::Real,
        _ => return None,
    };
    Some(Column {
        name: words[0],
        kind,
    })
}

/// How many rows a table has. In the directory.
pub async fn count(tx: &mut Tx, table: &'static Table) -> Result<u64, StoreError> {
    match tx.row(&table.count, &[]).await? {
        Some(mut row) => row.take(),
        None => Ok(0),
    }
}

/// Appends the next rows of a table to `out`, a line each, by primary key. In the directory.
pub async fn read(
    tx: &mut Tx,
    table: &'static Table,
    after: Option<Cursor>,
    out: &mut Vec<u8>,
) -> Result<Page, StoreError> {
    let after = match after {
        Some(Cursor(values)) => values,
        None => table
            .key
            .iter()
            .map(|&key| least(table.columns[key]))
            .collect(),
    };
    let mut bound: Vec<Param<'_>> = after.iter().map(param).collect();
    bound.push(Param::from(PAGE));
    let found = tx.rows(&table.read, &bound).await?;
    let rows = found.len();
    let mut next = None;
    for (number, row) in found.into_iter().enumerate() {
        let values = row.into_values();
        write_line(&table.columns, &values, out);
        if number + 1 == PAGE as usize {
            next = Some(Cursor(
                table.key.iter().map(|&key| values[key].clone()).collect(),
            ));
        }
    }
    Ok(Page {
        rows: rows as u64,
        next,
    })
}

/// What is before every value of the kind that a key has.
pub(crate) fn least(column: Column) -> Value {
    match column.kind {
        Kind::Uuid => Value::Uuid(Uuid::nil()),
        Kind::Text => Value::Text(String::new()),
        Kind::Int => Value::Int(i64::MIN),
        Kind::Bytes => Value::Bytes(Vec::new()),
        Kind::Bool => Value::Bool(false),
        Kind::Real => Value::Real(f64::MIN),
    }
}

pub(crate) fn param(value: &Value) -> Param<'_> {
    match value {
        Value::Null => Param::Null,
        Value::Bool(truth) => Param::from(*truth),
        Value::Int(number) => Param::from(*number),
        Value::Real(number) => Param::from(*number),
        Value::Text(text) => Param::from(text),
        Value::Bytes(bytes) => Param::from(bytes.as_slice()),
        Value::Uuid(id) => Param::from(*id),
    }
}

/// A row as a line: its cells in the order of the columns.
pub(crate) fn write_line(columns: &[Column], values: &[Value], out: &mut Vec<u8>) {
    let cells: Vec<serde_json::Value> = columns
        .iter()
        .zip(values)
        .map(|(column, value)| cell(column.kind, value))
        .collect();
    serde_json::to_writer(&mut *out, &cells).expect("a list of cells is JSON");
    out.push(b'\n');
}

/// A value as JSON. Numbers with a fraction are texts, which no reader rounds.
fn cell(kind: Kind, value: &Value) -> serde_json::Value {
    match (kind, value) {
        (_, Value::Null) => serde_json::Value::Null,
        // SQLite keeps booleans as 0 and 1, and UUIDs as 16 bytes.
        (Kind::Bool, Value::Int(number)) => (*number != 0).into(),
        (Kind::Uuid, Value::Bytes(bytes)) => Uuid::from_slice(bytes)
            .expect("a column of UUIDs holds 16 bytes")
            .to_string()
            .into(),
        (_, Value::Bool(truth)) => (*truth).into(),
        (_, Value::Int(number)) => (*number).into(),
        (_, Value::Real(number)) => number.to_string().into(),
        (_, Value::Text(text)) => text.as_str().into(),
        (_, Value::Bytes(bytes)) => BASE64.encode(bytes).into(),
        (_, Value::Uuid(id)) => id.to_string().into(),
    }
}

/// Adds rows to a table of a store whose schema it is, a line each; how many. In the directory.
///
/// # Errors
/// If a line is no row of the table; the transaction is then to be dropped.
pub async fn load(tx: &mut Tx, table: &'static Table, lines: &str) -> Result<u64, LoadError> {
    let rows = read_lines(table.name, &table.columns, lines)?;
    let bound: Vec<Vec<Param<'_>>> = rows
        .iter()
        .map(|row| row.iter().map(param).collect())
        .collect();
    Ok(tx.bulk(&table.load, &bound).await?)
}

/// The rows of a text, a line each.
pub(crate) fn read_lines(
    table: &'static str,
    columns: &[Column],
    lines: &str,
) -> Result<Vec<Vec<Value>>, LoadError> {
    let rows = lines.lines().enumerate().map(|(number, line)| {
        read_line(columns, line).map_err(|why| LoadError::NotARow {
            table,
            line: number + 1,
            why,
        })
    });
    rows.collect()
}

fn read_line(columns: &[Column], line: &str) -> Result<Vec<Value>, String> {
    let cells: Vec<serde_json::Value> =
        serde_json::from_str(line).map_err(|error| error.to_string())?;
    if cells.len() != columns.len() {
        return Err(format!(
            "it has {} cells and the table {} columns",
            cells.len(),
            columns.len()
        ));
    }
    let values = columns.iter().zip(cells).map(|(column, cell)| {
        value(column.kind, cell)
            .ok_or_else(|| format!("`{}` does not hold {:?}", column.name, column.kind))
    });
    values.collect()
}

fn value(kind: Kind, cell: serde_json::Value) -> Option<Value> {
    use serde_json::Value as Json;
    Some(match (kind, cell) {
        (_, Json::Null) => Value::Null,
        (Kind::Bool, Json::Bool(truth)) => Value::Bool(truth),
        (Kind::Int, Json::Number(number)) => Value::Int(number.as_i64()?),
        (Kind::Real, Json::String(text)) => Value::Real(text.parse().ok()?),
        (Kind::Text, Json::String(text)) => Value::Text(text),
        (Kind::Bytes, Json::String(text)) => Value::Bytes(BASE64.decode(text).ok()?),
        (Kind::Uuid, Json::String(text)) => Value::Uuid(text.parse().ok()?),
        _ => return None,
    })
}

/// Documents' files that rows name: those of one base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedBlobs {
    pub tenant: TenantId,
    pub kb: KbId,
    /// SHA-256 and size of each, by SHA-256.
    pub blobs: Vec<([u8; 32], u64)>,
}

statements! {
    tenant {
        BLOBS: "SELECT document_version.blob_hash, MAX(document_version.size) FROM document_version \
            JOIN document ON document.tenant_id = document_version.tenant_id AND document.base_id = document_version.base_id AND document.id = document_version.document_id \
            WHERE document_version.tenant_id = $1 AND document_version.base_id = $2 AND document.purged_at IS NULL \
            GROUP BY document_version.blob_hash ORDER BY document_version.blob_hash",
    }
}

/// The files that a base's documents refer to; those of purged ones are not there any more.
pub async fn named_blobs(tx: &mut Tx, kb: KbId) -> Result<NamedBlobs, StoreError> {
    let tenant = tx.tenant();
    let rows = tx.rows(&BLOBS, params![kb]).await?;
    let blobs: Result<_, StoreError> = rows
        .into_iter()
        .map(|mut row| Ok((row.take()?, row.take()?)))
        .collect();
    Ok(NamedBlobs {
        tenant,
        kb,
        blobs: blobs?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_those_that_the_migrations_make() {
        for steps in 0..=migrations::ALL.len() {
            let connection = rusqlite::Connection::open_in_memory().unwrap();
            for step in &migrations::ALL[..steps] {
                connection.execute_batch(step.sqlite()).unwrap();
            }
            let mut made: Vec<(String, Vec<String>, Vec<String>)> = connection
                .prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
                .unwrap()
                .query_map([], |row| row.get::<_, String>(0))
                .unwrap()
                .map(|name| {
                    let name = name.unwrap();
                    let mut about = connection
                        .prepare(&format!("PRAGMA table_info({name})"))
                        .unwrap();
                    let columns: Vec<(String, i64)> = about
                        .query_map([], |row| Ok((row.get(1)?, row.get(5)?)))
                        .unwrap()
                        .map(Result::unwrap)
                        .collect();
                    let mut key: Vec<_> = columns.iter().filter(|column| column.1 > 0).collect();
                    key.sort_by_key(|column| column.1);
                    let key = key.into_iter().map(|column| column.0.clone()).collect();
                    (
                        name,
                        columns.into_iter().map(|column| column.0).collect(),
                        key,
                    )
                })
                .collect();
            made.sort();
            let mut read: Vec<_> = tables_at(steps)
                .iter()
                .map(|table| {
                    let key = table
                        .key
                        .iter()
                        .map(|&place| table.columns[place].name.to_owned());
                    (
                        table.name.to_owned(),
                        table.columns().map(str::to_owned).collect::<Vec<_>>(),
                        key.collect::<Vec<_>>(),
                    )
                })
                .collect();
            read.sort();
            assert_eq!(read, made, "after {steps} migrations");
        }
    }

    #[test]
    fn a_later_step_may_add_and_drop_columns_and_tables() {
        let first = "CREATE TABLE a (id UUID NOT NULL PRIMARY KEY, old TEXT);
            CREATE TABLE b (x BIGINT NOT NULL, y TEXT NOT NULL, UNIQUE (x, y), PRIMARY KEY (y, x)); -- two";
        let second =
            "ALTER TABLE a ADD COLUMN scale DOUBLE PRECISION; ALTER TABLE a DROP COLUMN old;
            CREATE INDEX a_scale ON a (scale); DROP TABLE b";

        let one = Schema::read([first].into_iter()).tables;
        let two = Schema::read([first, second].into_iter()).tables;

        assert_eq!(one[1].key, [1, 0]);
        assert_eq!(two.len(), 1);
        assert_eq!(two[0].columns().collect::<Vec<_>>(), ["id", "scale"]);
        assert!(two[0].load.text().ends_with("(id, scale) VALUES ($1, $2)"));
    }

    #[test]
    fn a_row_is_the_same_after_it_was_a_line() {
        let table = tables()
            .iter()
            .find(|table| table.name == "vector")
            .unwrap();
        let id = Uuid::from_u128(7);
        let values = [
            Value::Uuid(id),
            Value::Uuid(id),
            Value::Text("a \"model\"\n".to_owned()),
            Value::Uuid(id),
            Value::Int(i64::MAX),
            Value::Real(0.1 + 0.2),
            Value::Bytes(vec![0, 1, 255]),
        ];
        let mut line = Vec::new();
        write_line(&table.columns, &values, &mut line);

        let line = String::from_utf8(line).unwrap();
        assert_eq!(line.lines().count(), 1);
        assert_eq!(read_line(&table.columns, line.trim()).unwrap(), values);
        assert!(
            read_line(&table.columns, "[1]")
                .unwrap_err()
                .contains("1 cells")
        );
    }
}
