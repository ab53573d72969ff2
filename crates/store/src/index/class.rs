//! The terms of one visibility class of a base, in one tantivy index.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use model::near::Print;
use model::text::{self, Asked, Kind, Languages};
use serde::{Deserialize, Serialize};
use tantivy::index::{SegmentId, SegmentMeta};
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy, MergePolicy, NoMergePolicy};
use tantivy::query::{Bm25StatisticsProvider, BooleanQuery, BoostQuery, Occur, Query, TermQuery};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{PreTokenizedString, Token};
use tantivy::{
    FutureResult, Index, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, Searcher,
    TantivyDocument, Term,
};

use super::collect::{Best, Scored};
use super::directory::CacheDirectory;
use super::rows::ChunkRow;

/// The fast field that holds a row's ordinal.
pub(super) const ORDINAL: &str = "ordinal";

/// The fast fields that hold a row's [`Print`].
const PRINT: [&str; 3] = ["words", "sketch", "telling"];

/// The fast field that holds the [`Languages`] of a row.
const LANGUAGES: &str = "languages";

/// The least that tantivy takes for one indexing thread, in bytes.
const WRITER_BYTES: usize = 15_000_000;

/// What a matching surface form counts. The four weights are measured with `make eval`, see
/// `docs/quality.md`.
pub const WORD_WEIGHT: f32 = 0.4;

/// What a matching stem counts.
pub const STEM_WEIGHT: f32 = 1.0;

/// What a matching gram counts.
pub const GRAM_WEIGHT: f32 = 0.35;

/// What a stem that matches the title or a heading counts.
pub const HEAD_WEIGHT: f32 = 0.6;

/// How many times longer texts are said to be on average than they are, so that length and
/// repetition count less: tantivy's fixed k1 = 1.2 and b = 0.75 become 0.6 and 0.5.
pub const LENGTH_EASE: u64 = 3;

/// The index on disk and its writer while there is something to write.
pub(super) struct Class {
    index: Index,
    reader: IndexReader,
    writer: Option<IndexWriter>,
    mark: Mark,
    /// Segments in merges that are under way.
    merging: HashSet<SegmentId>,
}

/// A merge under way. Nobody needs to hold the class meanwhile.
pub(super) struct Merge {
    segments: Vec<SegmentId>,
    /// Whether rows were purged from them.
    holed: bool,
    merged: FutureResult<Option<SegmentMeta>>,
}

/// A merge that has ended, for [`Class::end_merge`].
pub(super) struct Merged {
    segments: Vec<SegmentId>,
    pub(super) holed: bool,
    outcome: tantivy::Result<()>,
}

impl Merge {
    /// Waits for its end.
    pub(super) fn wait(self) -> Merged {
        Merged {
            segments: self.segments,
            holed: self.holed,
            outcome: self.merged.wait().map(drop),
        }
    }
}

/// How far an index has come, kept in its last commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Mark {
    /// The first ordinal not in it.
    pub(super) next: u32,
    /// The record time of the base that it was brought up to, in microseconds.
    pub(super) head: i64,
}

/// What the analyser told of a row beyond its terms.
#[derive(Debug, Clone, Copy)]
pub(super) struct Read {
    pub(super) ordinal: u32,
    pub(super) print: Print,
    pub(super) languages: Languages,
}

impl Class {
    /// Opens the index in the folder, or makes an empty one where there is none that can be read.
    pub(super) fn open(folder: &Path) -> tantivy::Result<Self> {
        match Self::try_open(folder) {
            Ok(class) => Ok(class),
            Err(error) => {
                tracing::warn!(%error, "search cache cannot be read and is made anew");
                remove(folder)?;
                Self::try_open(folder)
            }
        }
    }

    fn try_open(folder: &Path) -> tantivy::Result<Self> {
        let directory = CacheDirectory::open(folder)?;
        let index = Index::builder()
            .schema(schema())
            .settings(IndexSettings::default())
            .open_or_create(directory)?;
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()?;
        let payload = index.load_metas()?.payload;
        let mark = payload
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        Ok(Self {
            index,
            reader,
            writer: None,
            mark,
            merging: HashSet::new(),
        })
    }

    /// Whether every file is as it was written; reads all of them.
    pub(super) fn is_whole(&self) -> bool {
        self.index
            .validate_checksum()
            .is_ok_and(|damaged| damaged.is_empty())
    }

    /// How far the last commit went; nowhere for an index just made.
    pub(super) fn mark(&self) -> Mark {
        self.mark
    }

    /// Rows in the last commit.
    pub(super) fn rows(&self) -> u64 {
        self.reader.searcher().num_docs()
    }

    /// What a search reads.
    pub(super) fn searcher(&self) -> Searcher {
        self.reader.searcher()
    }

    /// Adds a row. It can be found after the next commit.
    pub(super) fn add(&mut self, row: &ChunkRow) -> tantivy::Result<Read> {
        let fields = Fields::of(&self.index.schema());
        let terms = text::of_document(&row.text);
        let mut heads = Vec::new();
        for heading in std::iter::once(&row.title).chain(&row.heading_path) {
            heads.extend(text::of_heading(heading, terms.language).stems);
        }
        let mut document = TantivyDocument::new();
        document.add_u64(fields.ordinal, row.span.ordinal as u64);
        let read = Read {
            ordinal: row.span.ordinal as u32,
            print: Print::of(&row.text, &terms),
            languages: Languages::default().with(terms.language),
        };
        let Print {
            words,
            sketch,
            telling,
        } = read.print;
        for (field, part) in fields.print.into_iter().zip([words, sketch, telling]) {
            document.add_u64(field, part);
        }
        document.add_u64(fields.languages, u64::from(read.languages.bits()));
        for (field, terms) in [
            (fields.word, terms.words),
            (fields.stem, terms.stems),
            (fields.gram, terms.grams),
            (fields.head, heads),
        ] {
            if !terms.is_empty() {
                document.add_pre_tokenized_text(field, tokens(terms));
            }
        }
        self.writer()?.add_document(document)?;
        Ok(read)
    }

    /// Makes what was added and dropped visible to searches opened from now on.
    pub(super) fn commit(&mut self, mark: Mark) -> tantivy::Result<()> {
        let payload = serde_json::to_string(&mark).expect("two numbers are JSON");
        let writer = self.writer()?;
        let mut commit = writer.prepare_commit()?;
        commit.set_payload(&payload);
        commit.commit()?;
        self.mark = mark;
        self.reader.reload()
    }

    /// Removes rows for good. Segments with at most `at_once` rows lose their words before this
    /// returns; larger ones wait for [`Class::start_merge`].
    pub(super) fn purge(
        &mut self,
        ordinals: &[u32],
        mark: Mark,
        at_once: u32,
    ) -> tantivy::Result<()> {
        let fields = Fields::of(&self.index.schema());
        for &ordinal in ordinals {
            self.writer()?
                .delete_term(Term::from_field_u64(fields.ordinal, u64::from(ordinal)));
        }
        self.commit(mark)?;
        let small: Vec<_> = self
            .idle_segments()?
            .into_iter()
            .filter(|segment| segment.has_deletes() && segment.max_doc() <= at_once)
            .map(|segment| segment.id())
            .collect();
        for segment in small {
            self.writer()?.merge(&[segment]).wait()?;
        }
        self.reader.reload()
    }

    /// Starts the next merge that is worth it: of a segment with purged rows in it, else of many
    /// small segments into one.
    pub(super) fn start_merge(&mut self) -> tantivy::Result<Option<Merge>> {
        let idle = self.idle_segments()?;
        let holed = idle.iter().find(|segment| segment.has_deletes());
        let segments = if let Some(segment) = holed {
            vec![segment.id()]
        } else {
            let worth = LogMergePolicy::default().compute_merge_candidates(&idle);
            match worth.into_iter().next() {
                Some(candidate) => candidate.0,
                None => return Ok(None),
            }
        };
        let merged = self.writer()?.merge(&segments);
        self.merging.extend(&segments);
        Ok(Some(Merge {
            holed: holed.is_some(),
            segments,
            merged,
        }))
    }

    /// A merge has ended, well or badly.
    pub(super) fn end_merge(&mut self, merged: Merged) -> tantivy::Result<()> {
        for segment in &merged.segments {
            self.merging.remove(segment);
        }
        merged.outcome?;
        self.reader.reload()
    }

    /// Whether a merge is under way.
    pub(super) fn is_merging(&self) -> bool {
        !self.merging.is_empty()
    }

    /// Segments in no merge.
    fn idle_segments(&self) -> tantivy::Result<Vec<SegmentMeta>> {
        let mut segments = self.index.searchable_segment_metas()?;
        segments.retain(|segment| !self.merging.contains(&segment.id()));
        Ok(segments)
    }

    /// Deletes the files that no search reads any more.
    pub(super) fn sweep(&mut self) -> tantivy::Result<()> {
        self.writer()?.garbage_collect_files().wait()?;
        Ok(())
    }

    /// Lets go of the writer's threads and memory, unless a merge needs them.
    pub(super) fn rest(&mut self) -> tantivy::Result<()> {
        if self.merging.is_empty()
            && let Some(writer) = self.writer.take()
        {
            writer.wait_merging_threads()?;
        }
        Ok(())
    }

    fn writer(&mut self) -> tantivy::Result<&mut IndexWriter> {
        if self.writer.is_none() {
            let options = IndexWriterOptions::builder()
                .num_worker_threads(1)
                .memory_budget_per_thread(WRITER_BYTES)
                .build();
            let writer: IndexWriter = self.index.writer_with_options(options)?;
            // What is merged, and when, is said by `start_merge`, so that no lock waits for it.
            writer.set_merge_policy(Box::new(NoMergePolicy));
            self.writer = Some(writer);
        }
        Ok(self.writer.as_mut().expect("made above"))
    }
}

/// What the analyser told of each row in the index.
pub(super) fn read(searcher: &Searcher) -> tantivy::Result<Vec<Read>> {
    let mut all = Vec::with_capacity(searcher.num_docs() as usize);
    for segment in searcher.segment_readers() {
        let columns = segment.fast_fields();
        let (ordinals, languages) = (columns.u64(ORDINAL)?, columns.u64(LANGUAGES)?);
        let [words, sketches, telling] = PRINT.map(|name| columns.u64(name));
        let (words, sketches, telling) = (words?, sketches?, telling?);
        for row in segment.doc_ids_alive() {
            if let Some(ordinal) = ordinals.first(row) {
                all.push(Read {
                    ordinal: ordinal as u32,
                    print: Print {
                        words: words.first(row).unwrap_or(0),
                        sketch: sketches.first(row).unwrap_or(0),
                        telling: telling.first(row).unwrap_or(0),
                    },
                    languages: Languages::from_bits(languages.first(row).unwrap_or(0) as u32),
                });
            }
        }
    }
    Ok(all)
}

/// The best `depth` rows of an index for the terms asked, those that `keep` lets through.
pub(super) fn best(
    searcher: &Searcher,
    statistics: &Statistics<'_>,
    asked: &[Asked],
    depth: usize,
    keep: impl Fn(u32) -> bool + Send + Sync,
) -> tantivy::Result<Vec<Scored>> {
    let fields = Fields::of(searcher.schema());
    let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::with_capacity(asked.len() * 2);
    for term in asked {
        for (field, weight) in fields.asked(term.kind) {
            let found = Term::from_field_text(field, &term.text);
            if searcher.doc_freq(&found)? > 0 {
                let query = TermQuery::new(found, IndexRecordOption::WithFreqs);
                let weighed = BoostQuery::new(Box::new(query), term.weight * weight);
                clauses.push((Occur::Should, Box::new(weighed)));
            }
        }
    }
    if clauses.is_empty() {
        return Ok(Vec::new());
    }
    let query = BooleanQuery::new(clauses);
    searcher.search_with_statistics_provider(&query, &Best::new(depth, keep), statistics)
}

/// Counts over all the classes that an asker sees, so that scores depend on nothing else and are
/// the same as if these classes were one index.
pub(super) struct Statistics<'a> {
    pub(super) searchers: &'a [&'a Searcher],
}

impl Statistics<'_> {
    /// Whether the word is in so many rows that it tells none of them.
    pub(super) fn is_common(&self, word: &str, languages: Languages) -> tantivy::Result<bool> {
        const ROWS_MIN: u64 = 20;
        const SHARE: u64 = 10;
        let asked = text::of_query(word, languages);
        let Some(searcher) = self.searchers.first() else {
            return Ok(false);
        };
        let Some(term) = asked.iter().find(|term| term.kind == Kind::Word) else {
            return Ok(false);
        };
        let field = Fields::of(searcher.schema()).word;
        let rows = self.doc_freq(&Term::from_field_text(field, &term.text))?;
        Ok(ROWS_MIN <= rows && self.total_num_docs()? <= rows * SHARE)
    }
}

impl Bm25StatisticsProvider for Statistics<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        let counts = self
            .searchers
            .iter()
            .map(|searcher| searcher.total_num_tokens(field));
        Ok(counts.sum::<tantivy::Result<u64>>()? * LENGTH_EASE)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        self.searchers
            .iter()
            .map(|searcher| searcher.total_num_docs())
            .sum()
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        self.searchers
            .iter()
            .map(|searcher| searcher.doc_freq(term))
            .sum()
    }
}

/// Removes the folder, if it is there.
pub(super) fn remove(folder: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The folder of a class below its base's.
pub(super) fn folder(base: &Path, class: model::Role) -> PathBuf {
    base.join(format!("{class}-{}", form()))
}

/// The form of a cache's files, and the analyser whose terms are in them: one of another form is
/// built anew.
pub fn form() -> String {
    format!("v{FORMAT}.{}", text::ANALYSER_VERSION)
}

/// Counts up whenever the fields below change.
const FORMAT: u32 = 2;

#[derive(Clone, Copy)]
struct Fields {
    ordinal: Field,
    print: [Field; 3],
    languages: Field,
    word: Field,
    stem: Field,
    gram: Field,
    head: Field,
}

impl Fields {
    fn of(schema: &Schema) -> Self {
        let field = |name| schema.get_field(name).expect("the schema is ours");
        Self {
            ordinal: field(ORDINAL),
            print: PRINT.map(field),
            languages: field(LANGUAGES),
            word: field("word"),
            stem: field("stem"),
            gram: field("gram"),
            head: field("head"),
        }
    }

    /// Where a term of the kind is looked for, and what a match counts there.
    fn asked(self, kind: Kind) -> impl Iterator<Item = (Field, f32)> {
        let (first, second) = match kind {
            Kind::Word => ((self.word, WORD_WEIGHT), None),
            Kind::Stem => ((self.stem, STEM_WEIGHT), Some((self.head, HEAD_WEIGHT))),
            Kind::Gram => ((self.gram, GRAM_WEIGHT), None),
        };
        std::iter::once(first).chain(second)
    }
}

fn schema() -> Schema {
    let mut schema = Schema::builder();
    schema.add_u64_field(ORDINAL, NumericOptions::default() | INDEXED | FAST);
    for name in PRINT {
        schema.add_u64_field(name, FAST);
    }
    schema.add_u64_field(LANGUAGES, FAST);
    let counted = TextFieldIndexing::default()
        .set_index_option(IndexRecordOption::WithFreqs)
        .set_fieldnorms(true);
    for name in ["word", "stem", "gram", "head"] {
        schema.add_text_field(
            name,
            TextOptions::default().set_indexing_options(counted.clone()),
        );
    }
    schema.build()
}

fn tokens(terms: Vec<String>) -> PreTokenizedString {
    let tokens = terms
        .into_iter()
        .enumerate()
        .map(|(position, text)| Token {
            position,
            text,
            ..Token::default()
        })
        .collect();
    PreTokenizedString {
        text: String::new(),
        tokens,
    }
}
