//! What a search must know of each chunk version without reading SQL: whose it is, when it was
//! held, who may see it, what stands beside it.

use std::collections::HashMap;

use model::near::Print;
use model::{DocumentId, RecordTime, Role};

use super::blocks::Blocks;

/// A chunk version without its text: what decides whether it is seen.
#[derive(Debug, Clone, Copy)]
pub struct ChunkSpan {
    /// Its number in the base; numbers are given in record order and never again.
    pub ordinal: i64,
    /// Its document.
    pub document: DocumentId,
    /// Since when the base holds it.
    pub recorded_at: RecordTime,
    /// Since when it no longer does.
    pub invalidated_at: Option<RecordTime>,
    /// When its text was erased, if it was.
    pub purged_at: Option<RecordTime>,
    /// The least role that sees it.
    pub least_role: Role,
}

/// A chunk version as the index is fed with it.
#[derive(Debug, Clone)]
pub struct ChunkRow {
    /// When it was held, and for whom.
    pub span: ChunkSpan,
    /// The document's title.
    pub title: String,
    /// The headings above it.
    pub heading_path: Vec<String>,
    /// Its text.
    pub text: String,
}

/// One row, 64 bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    recorded_at: i64,
    invalidated_at: i64,
    document: u32,
    /// The ordinals before and after it in its document, plus 1; 0 for none.
    beside: [u32; 2],
    /// To tell texts of the same words.
    print: Print,
    class: Option<Role>,
}

/// An ordinal that was never given, or whose row was purged.
const GONE: Row = Row {
    recorded_at: i64::MAX,
    invalidated_at: i64::MIN,
    document: 0,
    beside: [0; 2],
    print: Print {
        words: 0,
        sketch: 0,
        telling: 0,
    },
    class: None,
};

impl Row {
    /// Whether the base held it at the moment and the role may see it.
    pub(super) fn is_held(&self, at: i64, role: Role) -> bool {
        self.recorded_at <= at && at < self.invalidated_at && self.class.is_some_and(|c| c <= role)
    }

    pub(super) fn print(&self) -> Print {
        self.print
    }

    fn beside(&self) -> [Option<u32>; 2] {
        self.beside.map(|ordinal| ordinal.checked_sub(1))
    }
}

/// All rows of a base, by ordinal. A copy is cheap and stays as it is.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    all: Blocks<Row>,
    documents: Blocks<DocumentId>,
    /// The last row of each class that was ever put, plus 1.
    ends: [u32; Role::ALL.len()],
}

/// The number of each document in [`Rows`]; kept by the one that changes them.
pub(super) type Numbers = HashMap<DocumentId, u32>;

impl Rows {
    /// The first ordinal not in it.
    pub(super) fn next(&self) -> u32 {
        self.all.len() as u32
    }

    /// The row, or none if it was never given or is purged.
    pub(super) fn get(&self, ordinal: u32) -> Option<&Row> {
        self.all
            .at(ordinal as usize)
            .filter(|row| row.class.is_some())
    }

    /// The rows before and after it in its document, then those two places away.
    pub(super) fn neighbours(&self, row: &Row) -> [Option<u32>; 4] {
        let [before, after] = row.beside();
        let second = |first: Option<u32>, side: usize| self.get(first?)?.beside()[side];
        [before, after, second(before, 0), second(after, 1)]
    }

    pub(super) fn document(&self, row: &Row) -> DocumentId {
        let document = self.documents.at(row.document as usize);
        *document.expect("a row's document was numbered with it")
    }

    /// Rows of the class that were there before `next`, purged ones not counted.
    pub(super) fn count(&self, class: Role, next: u32) -> u64 {
        let before = self.all.values().take(next as usize);
        before.filter(|row| row.class == Some(class)).count() as u64
    }

    /// The first row of the class from `next` on.
    pub(super) fn first(&self, class: Role, next: u32) -> Option<u32> {
        (next..self.ends[class as usize]).find(|&ordinal| {
            self.get(ordinal)
                .is_some_and(|row| row.class == Some(class))
        })
    }

    /// Notes the print of a row's text.
    pub(super) fn set_print(&mut self, ordinal: u32, print: Print) {
        if let Some(row) = self.all.at_mut(ordinal as usize) {
            row.print = print;
        }
    }

    /// Adds or replaces the row, beside the one added before it if that is of its document.
    pub(super) fn put(&mut self, row: &ChunkSpan, numbers: &mut Numbers) {
        let ordinal = usize::try_from(row.ordinal).expect("ordinals count from 0");
        self.all.grow(ordinal + 1, GONE);
        if row.purged_at.is_some() {
            self.purge(ordinal as u32);
            return;
        }
        let fresh = self.documents.len() as u32;
        let document = *numbers.entry(row.document).or_insert(fresh);
        if document == fresh {
            self.documents.push(&[row.document]);
        }
        let end = &mut self.ends[row.least_role as usize];
        *end = (*end).max(ordinal as u32 + 1);
        if let Some(place) = self.all.at_mut(ordinal) {
            *place = Row {
                recorded_at: row.recorded_at.micros(),
                invalidated_at: row.invalidated_at.map_or(i64::MAX, RecordTime::micros),
                document,
                beside: [0; 2],
                print: Print::default(),
                class: Some(row.least_role),
            };
        }
        if let Some(before) = ordinal.checked_sub(1)
            && self
                .get(before as u32)
                .is_some_and(|before| before.document == document)
        {
            self.set_beside(before as u32, ordinal as u32);
        }
    }

    /// The row is held no longer since the moment.
    pub(super) fn close(&mut self, ordinal: u32, at: RecordTime) {
        if let Some(row) = self.all.at_mut(ordinal as usize) {
            row.invalidated_at = at.micros();
        }
    }

    /// The row is gone for good.
    pub(super) fn purge(&mut self, ordinal: u32) {
        if let Some(row) = self.all.at_mut(ordinal as usize) {
            *row = GONE;
        }
    }

    /// These rows stand in this order in the latest version of a document.
    pub(super) fn line_up(&mut self, ordinals: &[u32]) {
        for pair in ordinals.windows(2) {
            self.set_beside(pair[0], pair[1]);
        }
    }

    fn set_beside(&mut self, before: u32, after: u32) {
        if (before.max(after) as usize) < self.all.len() {
            if let Some(row) = self.all.at_mut(before as usize) {
                row.beside[1] = after + 1;
            }
            if let Some(row) = self.all.at_mut(after as usize) {
                row.beside[0] = before + 1;
            }
        }
    }
}
