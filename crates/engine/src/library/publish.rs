//! Making a version the one that is held.

use std::collections::{HashMap, HashSet};

use model::document::{DateSource, DocumentDate, ParsedDocument, Section};
use model::passages::{self, Passage};
use model::{ChunkId, DocumentId, KbId, RecordTime, Result};
use store::chunks::NewChunk;
use store::documents::{DocumentState, NewVersion, Parsed, StoredSection};
use store::{Tx, bases, chunks, documents};

/// A version's text as it will be stored, worked out before any transaction is open.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    media_type: Option<String>,
    title: String,
    stated_title: Option<String>,
    date: Option<(String, DateSource)>,
    left_out: Vec<String>,
    sections: Vec<StoredSection>,
    char_count: u64,
    passages: Vec<Passage>,
    ids: Vec<ChunkId>,
}

/// What publishing did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published {
    /// The version is held from this record time on.
    Held(RecordTime),
    /// Nothing: a later version is held, or the document was deleted or purged.
    Overtaken,
}

impl Prepared {
    /// The text of a version whose file has this name.
    pub fn new(document: DocumentId, filename: &str, parsed: ParsedDocument) -> Self {
        let parsed = storable(parsed);
        let sections = place(&parsed);
        let char_count = sections.iter().map(|section| section.char_count).sum();
        let passages = passages::split(&parsed);
        Self {
            title: parsed.title.clone().unwrap_or_else(|| filename.to_owned()),
            ids: passages::identify(document, &passages),
            passages,
            media_type: parsed.media_type,
            stated_title: parsed.title,
            date: parsed
                .date
                .map(|date| (date.value.to_string(), date.source)),
            left_out: parsed.left_out,
            sections,
            char_count,
        }
    }
}

/// What was read of the version that is held, if reading `accepted` would give the same: it has
/// the same bytes, and a name with the same ending. A move of many large files is cheap by that.
///
/// None too where the held version's date is its sender's, so that the content's own is not known,
/// and would be needed.
pub async fn read_before(
    tx: &mut Tx,
    kb: KbId,
    accepted: &documents::Version,
) -> Result<Option<ParsedDocument>> {
    let document = documents::find(tx, kb, accepted.document).await?;
    let Some(held) = document.and_then(|document| document.held_version) else {
        return Ok(None);
    };
    let this = (accepted.document, held);
    let Some(held) = documents::version(tx, kb, this).await? else {
        return Ok(None);
    };
    let by_sender = |version: &documents::Version| {
        version.date_source.as_deref() == Some(DateSource::Source.name())
    };
    let reads_the_same = held.blob_hash == accepted.blob_hash
        && ending(&held.filename) == ending(&accepted.filename)
        && (!by_sender(&held) || by_sender(accepted));
    if !reads_the_same {
        return Ok(None);
    }
    let date = match (&held.document_date, held.date_source.as_deref()) {
        (Some(date), Some(source)) => date
            .parse()
            .ok()
            .zip(DateSource::named(source))
            .map(|(value, source)| DocumentDate { value, source }),
        _ => None,
    };
    let sections = documents::sections(tx, kb, this, 0, u64::MAX).await?;
    let sections = sections.into_iter().map(|section| Section {
        heading_path: section.heading_path,
        body: section.body,
    });
    Ok(Some(ParsedDocument {
        media_type: Some(held.media_type),
        title: held.title,
        date,
        sections: sections.collect(),
        left_out: held.left_out,
    }))
}

fn ending(filename: &str) -> Option<String> {
    let file = filename.rsplit('/').next().unwrap_or(filename);
    let ending = file.rsplit_once('.').map(|(_, ending)| ending);
    ending.map(str::to_ascii_lowercase)
}

/// The document without what a database cannot store as text, bodies trimmed.
fn storable(parsed: ParsedDocument) -> ParsedDocument {
    // PostgreSQL has no NUL in text.
    let clean = |text: String| {
        if text.contains('\0') {
            text.replace('\0', "\u{fffd}")
        } else {
            text
        }
    };
    let mut parsed = parsed;
    parsed.title = parsed
        .title
        .map(clean)
        .filter(|title| !title.trim().is_empty());
    parsed.left_out = parsed.left_out.into_iter().map(clean).collect();
    for section in &mut parsed.sections {
        let headings = std::mem::take(&mut section.heading_path);
        section.heading_path = headings.into_iter().map(clean).collect();
        section.body = clean(section.body.trim().to_owned());
    }
    parsed
}

/// The sections, each knowing how many characters stand before it.
fn place(parsed: &ParsedDocument) -> Vec<StoredSection> {
    let mut char_start = 0;
    let placed = (0_u32..).zip(&parsed.sections).map(|(seq, section)| {
        let char_count = section.body.chars().count() as u64;
        let start = char_start;
        char_start += char_count;
        StoredSection {
            seq,
            heading_path: section.heading_path.clone(),
            body: section.body.clone(),
            char_start: start,
            char_count,
        }
    });
    placed.collect()
}

/// What is to happen to the rows of a document's passages.
#[derive(Debug, Default, PartialEq, Eq)]
struct Plan {
    /// Rows of passages that are gone, by ordinal.
    close: Vec<i64>,
    /// Passages without a row, by place.
    open: Vec<usize>,
    /// The rows that stay, by place; none where a passage is opened.
    order: Vec<Option<i64>>,
}

/// Which of the `live` rows stay, which are closed, and which passages need a row.
fn plan(passages: &[ChunkId], live: &[(i64, ChunkId)]) -> Plan {
    let rows: HashMap<ChunkId, i64> = live.iter().map(|&(ordinal, id)| (id, ordinal)).collect();
    let order: Vec<Option<i64>> = passages.iter().map(|id| rows.get(id).copied()).collect();
    let kept: HashSet<i64> = order.iter().flatten().copied().collect();
    let gone = live
        .iter()
        .map(|&(ordinal, _)| ordinal)
        .filter(|ordinal| !kept.contains(ordinal));
    let open = (0..)
        .zip(&order)
        .filter(|(_, row)| row.is_none())
        .map(|(place, _)| place);
    Plan {
        close: gone.collect(),
        open: open.collect(),
        order,
    }
}

/// Makes `version` the one that is held, in one transaction with all that belongs to it.
///
/// Passages that the former version had under the same headings keep their rows, unless the
/// document's title changed, which is part of every row.
pub async fn publish(
    tx: &mut Tx,
    kb: KbId,
    (id, version): (DocumentId, u32),
    prepared: &Prepared,
    now: RecordTime,
) -> Result<Published> {
    let at = bases::advance_clock(tx, kb, now).await?;
    let Some(document) = documents::find(tx, kb, id).await? else {
        return Ok(Published::Overtaken);
    };
    let is_overtaken = document.held_version.is_some_and(|held| version <= held)
        || document.deleted_at.is_some()
        || document.purged_at.is_some();
    let accepted = documents::version(tx, kb, (id, version)).await?;
    let (Some(accepted), false) = (accepted, is_overtaken) else {
        return Ok(Published::Overtaken);
    };
    store_text(tx, kb, (id, version), prepared, &accepted).await?;

    let live = chunks::live(tx, kb, id).await?;
    let former = match document.held_version {
        Some(held) => documents::version(tx, kb, (id, held)).await?,
        None => None,
    };
    let same_title =
        former.is_some_and(|former| former.title.unwrap_or(former.filename) == prepared.title);
    let mut plan = plan(&prepared.ids, if same_title { &live } else { &[] });
    if !same_title {
        plan.close = live.iter().map(|&(ordinal, _)| ordinal).collect();
    }
    chunks::close(tx, kb, &plan.close, at).await?;
    let new: Vec<NewChunk<'_>> = plan
        .open
        .iter()
        .map(|&place| (prepared.ids[place], &prepared.passages[place]))
        .map(|(id, passage)| NewChunk {
            id,
            heading_path: &passage.heading_path,
            title: &prepared.title,
            text: &passage.text,
        })
        .collect();
    let opened = chunks::insert(tx, kb, (id, document.least_role), &new, at).await?;
    let mut opened = opened.into_iter();
    let order: Vec<i64> = plan
        .order
        .iter()
        .filter_map(|row| row.or_else(|| opened.next()))
        .collect();
    documents::set_chunk_order(tx, kb, (id, version), &order).await?;
    documents::publish(tx, kb, (id, version), at).await?;
    documents::set_state(tx, kb, (id, version), DocumentState::Indexing, None, at).await?;
    Ok(Published::Held(at))
}

/// Holds what a held version's file says by now, as a version of its own; its number. None if the
/// file says what it said, or something else is held or on its way by now.
///
/// Passages that read as before keep their ids, and their rows too.
pub async fn read_anew(
    tx: &mut Tx,
    kb: KbId,
    (id, version): (DocumentId, u32),
    prepared: &Prepared,
    now: RecordTime,
) -> Result<Option<u32>> {
    let Some(document) = documents::find(tx, kb, id).await? else {
        return Ok(None);
    };
    let is_overtaken = document.held_version != Some(version) || document.version != version;
    let held = documents::version(tx, kb, (id, version)).await?;
    let (Some(held), false) = (held, is_overtaken) else {
        return Ok(None);
    };
    if is_same(tx, kb, &held, prepared).await? {
        return Ok(None);
    }
    let at = bases::advance_clock(tx, kb, now).await?;
    let again = NewVersion {
        blob_hash: held.blob_hash,
        size: held.size,
        media_type: &held.media_type,
        filename: &held.filename,
        accepted_at: at,
    };
    let Some(number) = documents::add_version(tx, kb, id, &again).await? else {
        return Ok(None);
    };
    // A date that came with the file is not in it.
    if held.date_source.as_deref() == Some(DateSource::Source.name()) {
        let stated = Parsed {
            media_type: None,
            title: None,
            document_date: held.document_date.as_deref(),
            date_source: held.date_source.as_deref(),
            left_out: &[],
            char_count: 0,
        };
        documents::put_parsed(tx, kb, (id, number), &stated, &[]).await?;
    }
    publish(tx, kb, (id, number), prepared, now).await?;
    Ok(Some(number))
}

/// Whether a version's text, titles and passages are what was read now.
async fn is_same(
    tx: &mut Tx,
    kb: KbId,
    held: &documents::Version,
    prepared: &Prepared,
) -> Result<bool> {
    let from_sender = held.date_source.as_deref() == Some(DateSource::Source.name());
    let date = prepared.date.as_ref().map(|(date, _)| date.as_str());
    if held.title != prepared.stated_title
        || held.left_out != prepared.left_out
        || (!from_sender && held.document_date.as_deref() != date)
    {
        return Ok(false);
    }
    let version = (held.document, held.version);
    let sections = documents::sections(tx, kb, version, 0, u64::MAX).await?;
    if sections != prepared.sections {
        return Ok(false);
    }
    let order = held.chunk_order.clone().unwrap_or_default();
    let rows = chunks::by_ordinals(tx, kb, &order).await?;
    let ids: HashMap<i64, ChunkId> = rows.iter().map(|row| (row.ordinal, row.id)).collect();
    let ids: Vec<ChunkId> = order
        .iter()
        .filter_map(|row| ids.get(row).copied())
        .collect();
    Ok(ids == prepared.ids)
}

async fn store_text(
    tx: &mut Tx,
    kb: KbId,
    version: (DocumentId, u32),
    prepared: &Prepared,
    accepted: &documents::Version,
) -> Result<()> {
    let from_sender = accepted.date_source.as_deref() == Some(DateSource::Source.name());
    let (date, source) = match (&prepared.date, from_sender) {
        (_, true) => (
            accepted.document_date.as_deref(),
            accepted.date_source.as_deref(),
        ),
        (Some((date, source)), false) => (Some(date.as_str()), Some(source.name())),
        (None, false) => (None, None),
    };
    let parsed = Parsed {
        media_type: prepared.media_type.as_deref(),
        title: prepared.stated_title.as_deref(),
        document_date: date,
        date_source: source,
        left_out: &prepared.left_out,
        char_count: prepared.char_count,
    };
    Ok(documents::put_parsed(tx, kb, version, &parsed, &prepared.sections).await?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    const DOCUMENT: DocumentId = DocumentId::new(Uuid::from_u128(7));

    fn id(number: u8) -> ChunkId {
        ChunkId::of(DOCUMENT, &[], &number.to_string(), 0)
    }

    #[test]
    fn unchanged_passages_keep_their_rows_and_the_others_are_closed_and_opened() {
        let live = [(10, id(1)), (11, id(2)), (12, id(3))];

        let plan = plan(&[id(3), id(4), id(1)], &live);

        assert_eq!(plan.close, [11]);
        assert_eq!(plan.open, [1]);
        assert_eq!(plan.order, [Some(12), None, Some(10)]);
    }

    #[test]
    fn equal_passages_under_one_heading_have_ids_of_their_own() {
        let again = |_| Section {
            heading_path: vec!["A".to_owned()],
            body: "same".to_owned(),
        };
        let parsed = ParsedDocument {
            sections: (0..3).map(again).collect(),
            ..Default::default()
        };

        let prepared = Prepared::new(DOCUMENT, "a.md", parsed);

        let ids: HashSet<ChunkId> = prepared.ids.iter().copied().collect();
        assert_eq!(ids.len(), 3);
    }

    #[test]
    fn what_no_database_can_store_is_replaced_before_anything_is_counted() {
        let section = Section {
            heading_path: vec!["A\0".to_owned()],
            body: " b\0c ".to_owned(),
        };
        let parsed = ParsedDocument {
            sections: vec![section],
            ..Default::default()
        };

        let prepared = Prepared::new(DOCUMENT, "a.md", parsed);

        assert_eq!(prepared.sections[0].body, "b\u{fffd}c");
        assert_eq!(prepared.sections[0].heading_path, ["A\u{fffd}"]);
        assert_eq!(prepared.char_count, 3);
    }

    proptest! {
        #[test]
        fn every_passage_has_one_row_after_a_plan_and_no_other_row_is_left(
            before in proptest::collection::hash_set(0_u8..40, 0..20),
            after in proptest::collection::hash_set(0_u8..40, 0..20),
        ) {
            let live: Vec<(i64, ChunkId)> = (1..).zip(before.iter().map(|&n| id(n))).collect();
            let passages: Vec<ChunkId> = after.iter().map(|&n| id(n)).collect();

            let plan = plan(&passages, &live);

            let closed: HashSet<i64> = plan.close.iter().copied().collect();
            let held = live.iter().filter(|(row, _)| !closed.contains(row)).map(|row| row.1);
            let opened = plan.open.iter().map(|&place| passages[place]);
            let mut rows: Vec<ChunkId> = held.chain(opened).collect();
            rows.sort_unstable();
            let mut expected = passages.clone();
            expected.sort_unstable();
            prop_assert_eq!(rows, expected);
            prop_assert_eq!(plan.close.len(), before.difference(&after).count());
        }
    }
}
