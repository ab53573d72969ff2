//! The terms of one visibility class of a base, in one tantivy index.

use std::fs;
use std::path::{Path, PathBuf};

use model::text::{self, Asked, Kind, Languages};
use serde::{Deserialize, Serialize};
use tantivy::query::{Bm25StatisticsProvider, BooleanQuery, BoostQuery, Occur, Query, TermQuery};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{PreTokenizedString, Token};
use tantivy::{
    Index, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, Searcher, TantivyDocument, Term,
};

use super::collect::{Best, Scored};
use super::directory::CacheDirectory;
use super::rows::ChunkRow;

/// The fast field that holds a row's ordinal.
pub(super) const ORDINAL: &str = "ordinal";

/// The fast field that tells texts of the same words.
const PRINT: &str = "print";

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
pub const HEAD_WEIGHT: f32 = 0.4;

/// How many times longer texts are said to be on average than they are, so that length and
/// repetition count less: tantivy's fixed k1 = 1.2 and b = 0.75 become 0.6 and 0.5.
pub const LENGTH_EASE: u64 = 3;

/// The index on disk and its writer while there is something to write.
pub(super) struct Class {
    index: Index,
    reader: IndexReader,
    writer: Option<IndexWriter>,
    mark: Mark,
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
    pub(super) print: u64,
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
            print: print(&terms.words),
            languages: Languages::default().with(terms.language),
        };
        document.add_u64(fields.print, read.print);
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

    /// Removes rows for good. The files that held their terms go with [`Class::sweep`], once no
    /// search reads them.
    pub(super) fn purge(&mut self, ordinals: &[u32], mark: Mark) -> tantivy::Result<()> {
        let fields = Fields::of(&self.index.schema());
        for &ordinal in ordinals {
            self.writer()?
                .delete_term(Term::from_field_u64(fields.ordinal, u64::from(ordinal)));
        }
        self.commit(mark)?;
        let holed: Vec<_> = self
            .index
            .searchable_segment_metas()?
            .iter()
            .filter(|segment| segment.has_deletes())
            .map(|segment| segment.id())
            .collect();
        for segment in holed {
            self.writer()?.merge(&[segment]).wait()?;
        }
        self.reader.reload()
    }

    /// Deletes the files that no search reads any more.
    pub(super) fn sweep(&mut self) -> tantivy::Result<()> {
        self.writer()?.garbage_collect_files().wait()?;
        Ok(())
    }

    /// Lets go of the writer's threads and memory, after the merges that are under way.
    pub(super) fn rest(&mut self) -> tantivy::Result<()> {
        if let Some(writer) = self.writer.take() {
            writer.wait_merging_threads()?;
            self.reader.reload()?;
        }
        Ok(())
    }

    fn writer(&mut self) -> tantivy::Result<&mut IndexWriter> {
        if self.writer.is_none() {
            self.writer = Some(self.index.writer_with_num_threads(1, WRITER_BYTES)?);
        }
        Ok(self.writer.as_mut().expect("made above"))
    }
}

/// What the analyser told of each row in the index.
pub(super) fn read(searcher: &Searcher) -> tantivy::Result<Vec<Read>> {
    let mut all = Vec::with_capacity(searcher.num_docs() as usize);
    for segment in searcher.segment_readers() {
        let columns = segment.fast_fields();
        let (ordinals, prints) = (columns.u64(ORDINAL)?, columns.u64(PRINT)?);
        let languages = columns.u64(LANGUAGES)?;
        for row in segment.doc_ids_alive() {
            if let Some(ordinal) = ordinals.first(row) {
                all.push(Read {
                    ordinal: ordinal as u32,
                    print: prints.first(row).unwrap_or(0),
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
    base.join(format!("{class}-v{FORMAT}.{}", text::ANALYSER_VERSION))
}

/// Counts up whenever the fields below change.
const FORMAT: u32 = 1;

#[derive(Clone, Copy)]
struct Fields {
    ordinal: Field,
    print: Field,
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
            print: field(PRINT),
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
    schema.add_u64_field(PRINT, FAST);
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

/// The same number for texts of the same words (FNV-1a, 64 bits).
fn print(words: &[String]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for word in words {
        for byte in word.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}
