//! Walking a base from end to end, page by page, and writing what its reader may see.
//!
//! A page is read, written and forgotten, so an export takes as much memory as a page, however
//! large the base is. Everything is by id: two exports of one moment are the same bytes.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use bytes::Bytes;
use engine::ledger::{best_names, canonicals, latest};
use engine::library::ExternalKey;
use formats::graph::{Graph, Source, Statement, Thing};
use model::document::DateSource;
use model::fact::{End, Fact, Object, Rank};
use model::ontology::RelationType;
use model::time::Interval;
use model::{
    Code, DocumentId, EntityId, Error, FactId, KbId, RecordTime, RelationTypeId, Result, Role,
};
use store::documents::{self, Document, Version};
use store::{Tx, entities, evidence, fact_holds, facts, identity};
use tokio::sync::mpsc::Sender;
use uuid::Uuid;

use crate::facts::sources::{Sources, sources_for};

/// Rows read at once.
const PAGE: u32 = 500;

/// Bytes that are sent at once, about.
const PART: usize = 64 << 10;

/// How long a receiver may take for a part, while a snapshot is kept open for it.
const TAKEN_WITHIN: Duration = Duration::from_mins(1);

/// Whose sight of which base, and when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader {
    pub(super) kb: KbId,
    pub(super) role: Role,
    /// The moment that says what holds now.
    pub(super) now: RecordTime,
}

/// Why an export ended early.
#[derive(Debug)]
pub(super) enum Stopped {
    /// Nobody receives it any more.
    GoneAway,
    /// It could not be read, or not sent in time.
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Stopped {
    fn from(error: E) -> Self {
        Stopped::Failed(error.into())
    }
}

/// An export on its way.
pub(super) struct Walk {
    graph: Graph,
    reader: Reader,
    out: Sender<Result<Bytes>>,
}

impl Walk {
    pub(super) fn new(graph: Graph, reader: Reader, out: Sender<Result<Bytes>>) -> Self {
        Self { graph, reader, out }
    }

    /// Writes everything; the snapshot is closed when this returns.
    pub(super) async fn run(mut self, mut tx: Tx) -> Result<(), Stopped> {
        self.graph.words();
        self.documents(&mut tx).await?;
        self.things(&mut tx).await?;
        self.facts(&mut tx).await?;
        drop(tx);
        tracing::debug!(triples = self.graph.triples(), "a base was exported");
        let last = self.graph.finish();
        send(&self.out, last).await
    }

    async fn documents(&mut self, tx: &mut Tx) -> Result<(), Stopped> {
        let kb = self.reader.kb;
        let mut after = DocumentId::new(Uuid::nil());
        loop {
            let page = documents::after(tx, kb, after, PAGE).await?;
            let Some(last) = page.last() else {
                return Ok(());
            };
            after = last.id;
            let seen: Vec<&Document> = page
                .iter()
                .filter(|document| document.least_role <= self.reader.role)
                .collect();
            let ids: Vec<DocumentId> = seen.iter().map(|document| document.id).collect();
            let held = documents::versions_at(tx, kb, &ids, latest()).await?;
            let held: HashMap<DocumentId, Version> = held
                .into_iter()
                .map(|version| (version.document, version))
                .collect();
            for document in seen {
                self.graph.source(&source(document, held.get(&document.id)));
            }
            self.flush().await?;
        }
    }

    async fn things(&mut self, tx: &mut Tx) -> Result<(), Stopped> {
        let kb = self.reader.kb;
        let mut after = EntityId::new(Uuid::nil());
        loop {
            let page = entities::after(tx, kb, after, PAGE).await?;
            let Some(&(last, _)) = page.last() else {
                return Ok(());
            };
            after = last;
            let page: Vec<EntityId> = page.into_iter().map(|(id, _)| id).collect();
            self.page_of_things(tx, &page).await?;
            self.flush().await?;
        }
    }

    async fn page_of_things(&mut self, tx: &mut Tx, page: &[EntityId]) -> Result<(), Stopped> {
        let kb = self.reader.kb;
        let known_as = RelationType::known_as_id(kb);
        let names = facts::of_subjects(tx, kb, (page, known_as), latest()).await?;
        let sources = self.sources(tx, names.iter().map(|name| name.id)).await?;
        let names = best_names(names.into_iter().filter(|name| sources.may_see(name.id)));
        let kinds: HashMap<EntityId, _> = entities::kinds(tx, kb, page, latest())
            .await?
            .into_iter()
            .map(|kind| (kind.entity, kind.kind))
            .collect();
        let known = canonicals(tx, kb, page, latest()).await?;
        let mut apart: HashMap<EntityId, Vec<EntityId>> = HashMap::new();
        for (one, other) in identity::different_from(tx, kb, page, latest()).await? {
            // Said from either end; written from one.
            if one < other {
                apart.entry(one).or_default().push(other);
            }
        }
        for &id in page {
            // A thing of which the reader may see no name is no thing to them.
            let Some(name) = names.get(&id) else { continue };
            let mut different_from = apart.remove(&id).unwrap_or_default();
            different_from.sort_unstable();
            self.graph.thing(&Thing {
                id,
                name: Some(name),
                kind: kinds.get(&id).copied().flatten(),
                canonical: known.get(&id).copied().filter(|&canonical| canonical != id),
                different_from: &different_from,
            });
        }
        Ok(())
    }

    async fn facts(&mut self, tx: &mut Tx) -> Result<(), Stopped> {
        let mut after = FactId::new(Uuid::nil());
        loop {
            let page = facts::after(tx, self.reader.kb, after, PAGE).await?;
            let Some(last) = page.last() else {
                return Ok(());
            };
            after = last.id;
            self.page_of_facts(tx, &page).await?;
        }
    }

    async fn page_of_facts(&mut self, tx: &mut Tx, page: &[Fact]) -> Result<(), Stopped> {
        let kb = self.reader.kb;
        let former = page.iter().filter_map(|fact| fact.supersedes);
        let asked = page.iter().map(|fact| fact.id).chain(former);
        let sources = self.sources(tx, asked).await?;
        let seen: Vec<&Fact> = page
            .iter()
            .filter(|fact| sources.may_see(fact.id))
            .collect();
        let ids: Vec<FactId> = seen.iter().map(|fact| fact.id).collect();
        let mut details: HashMap<FactId, Vec<(RelationTypeId, Object)>> = HashMap::new();
        for detail in evidence::qualifiers(tx, kb, &ids).await? {
            let of_fact = details.entry(detail.fact).or_default();
            of_fact.push((detail.kind, detail.object));
        }
        let holds: HashMap<FactId, Option<Interval>> = fact_holds::open_of(tx, kb, &ids)
            .await?
            .into_iter()
            .map(|hold| (hold.fact, hold.holds))
            .collect();
        let ends = seen.iter().flat_map(|fact| {
            let object = fact.object.entity();
            std::iter::once(fact.subject).chain(object)
        });
        let ends: BTreeSet<EntityId> = ends.collect();
        let ends: Vec<EntityId> = ends.into_iter().collect();
        let known = canonicals(tx, kb, &ends, latest()).await?;
        for fact in seen {
            let holds = holds.get(&fact.id).copied().flatten();
            let details = details.get(&fact.id).map(Vec::as_slice);
            self.fact(fact, holds, &known, &sources, details.unwrap_or_default());
            self.flush_if_full().await?;
        }
        Ok(())
    }

    fn fact(
        &mut self,
        fact: &Fact,
        holds: Option<Interval>,
        known: &HashMap<EntityId, EntityId>,
        sources: &Sources,
        details: &[(RelationTypeId, Object)],
    ) {
        let quotes: Vec<(&str, &str)> = sources
            .quotes
            .get(&fact.id)
            .into_iter()
            .flatten()
            .map(|quote| (quote.quote.as_str(), quote.origin.as_str()))
            .collect();
        let documents = sources.shown.get(&fact.id).map(Vec::as_slice);
        let thing = |id: EntityId| known.get(&id).copied().unwrap_or(id);
        self.graph.statement(&Statement {
            fact,
            subject: thing(fact.subject),
            object: fact.object.entity().map(thing),
            supersedes: fact.supersedes.filter(|&former| sources.may_see(former)),
            holds_now: holds_now(fact, holds, self.reader.now),
            documents: documents.unwrap_or_default(),
            quotes: &quotes,
            details,
        });
    }

    async fn sources(
        &self,
        tx: &mut Tx,
        facts: impl Iterator<Item = FactId>,
    ) -> Result<Sources, Stopped> {
        let facts: BTreeSet<FactId> = facts.collect();
        let facts: Vec<FactId> = facts.into_iter().collect();
        let reader = (self.reader.kb, self.reader.role);
        Ok(sources_for(tx, reader, &facts).await?)
    }

    async fn flush_if_full(&mut self) -> Result<(), Stopped> {
        if self.graph.waiting() < PART {
            return Ok(());
        }
        self.flush().await
    }

    async fn flush(&mut self) -> Result<(), Stopped> {
        let part = self.graph.take();
        send(&self.out, part).await
    }
}

async fn send(out: &Sender<Result<Bytes>>, part: Vec<u8>) -> Result<(), Stopped> {
    if part.is_empty() {
        return Ok(());
    }
    match tokio::time::timeout(TAKEN_WITHIN, out.send(Ok(part.into()))).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(Stopped::GoneAway),
        Err(_) => Err(Stopped::Failed(Error::new(
            Code::TooSlow,
            "the export was received too slowly",
        ))),
    }
}

fn source<'a>(document: &'a Document, held: Option<&'a Version>) -> Source<'a> {
    let key = ExternalKey::shown(&document.external_key);
    let stated = held.filter(|version| {
        let source = version.date_source.as_deref().and_then(DateSource::named);
        source.is_some_and(|source| source != DateSource::File)
    });
    let date = stated.and_then(|version| version.document_date.as_deref());
    Source {
        id: document.id,
        named: match document.purged_at {
            Some(_) => None,
            None => Some((document.filename.as_str(), key)),
        },
        date: date.and_then(|date| date.parse().ok()),
        created_at: document.created_at,
        deleted_at: document.deleted_at,
    }
}

/// Whether a claim is held now and holds at this moment. What is known to be wrong and kept, or to
/// have ended at a date that nobody knows, is left to the statements.
fn holds_now(fact: &Fact, holds: Option<Interval>, now: RecordTime) -> bool {
    let covers = |holds: Interval| holds.from() <= now.micros() && now.micros() < holds.to();
    let is_over = fact.rank == Rank::Deprecated || fact.validity.to == End::Unknown;
    fact.invalidated_at.is_none() && !is_over && holds.is_some_and(covers)
}
