//! Fills a base with a ledger that looks like one and is the same in every run, through the
//! engine, while no server runs.
//!
//! Driven by `peers/bench/facts.py`, which measures what a server then answers. Prints one JSON
//! object: how much there is, and some of it to ask for.

mod world;

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use engine::ledger::{self, Decision};
use model::{FactId, KbId, RecordTime, TenantId};
use serde_json::{Value, json};
use store::events::Decider;
use store::{Db, Options as StoreOptions, Tx, bases, ontology};
use uuid::Uuid;

use world::{World, relations};

/// Anything that went wrong, as a sentence.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Decisions of one transaction.
const BATCH: usize = 1_000;
/// One in so many facts is corrected, and as many are retracted.
const REVISED: usize = 50;

/// Fills a base with facts.
#[derive(Parser)]
struct Options {
    /// The database.
    #[arg(long)]
    database: String,
    /// The base, which is empty.
    #[arg(long)]
    base: KbId,
    /// Facts, names counted too.
    #[arg(long)]
    facts: usize,
    /// Things; a tenth of the facts if absent.
    #[arg(long)]
    things: Option<usize>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(&Options::parse()).await {
        Ok(answer) => {
            println!("{answer}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("could not fill the base: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: &Options) -> Result<Value, Failure> {
    let db = Db::open(&options.database, StoreOptions::default()).await?;
    let mut directory = db.read_directory().await?;
    let tenant = bases::tenant_of(&mut directory, options.base).await?;
    let tenant = tenant.ok_or("there is no such base")?;
    drop(directory);
    let things = options.things.unwrap_or(options.facts / 10);
    let world = World::new(options.facts, things);
    let mut filling = Filling {
        db: &db,
        tenant,
        kb: options.base,
        made: 0,
        last: RecordTime::from_micros(0),
    };
    let begun = Instant::now();
    filling.words().await?;
    filling.names(&world).await?;
    let middle = filling.facts(&world).await?;
    let seconds = begun.elapsed().as_secs_f64();
    db.count_what_was_loaded().await?;
    db.close().await;
    Ok(json!({
        "facts": options.facts,
        "things": things,
        "hub_facts": world.hub_facts(),
        "seconds": seconds,
        "middle": middle.to_string(),
        "hub": World::hub(),
        "some": world.some(200),
        "names": world.some_names(200),
    }))
}

struct Filling<'a> {
    db: &'a Db,
    tenant: TenantId,
    kb: KbId,
    /// Ids given so far.
    made: u64,
    last: RecordTime,
}

impl Filling<'_> {
    async fn words(&self) -> Result<(), Failure> {
        let mut tx = self.db.write(self.tenant).await?;
        for relation in relations() {
            ontology::insert_relation(&mut tx, self.kb, &relation).await?;
        }
        Ok(tx.commit().await?)
    }

    async fn names(&mut self, world: &World) -> Result<(), Failure> {
        let all: Vec<usize> = (0..world.things()).collect();
        for batch in all.chunks(BATCH) {
            let mut tx = self.db.write(self.tenant).await?;
            for &number in batch {
                // The first id that is asked for is the thing's.
                let first = std::sync::Mutex::new(Some(world::thing(number).uuid()));
                let next = std::sync::atomic::AtomicU64::new(self.made);
                let ids = || {
                    let taken = first.lock().ok().and_then(|mut first| first.take());
                    taken.unwrap_or_else(|| fresh(&next))
                };
                let decision = self.decision(&ids);
                ledger::add_entity(&mut tx, &decision, &world::named(number)).await?;
                self.made = next.into_inner();
            }
            tx.commit().await?;
        }
        Ok(())
    }

    /// The facts, some of them corrected and some retracted; the record time in their middle.
    async fn facts(&mut self, world: &World) -> Result<RecordTime, Failure> {
        let count = world.facts().saturating_sub(world.things());
        let mut middle = self.last;
        let mut former: Option<FactId> = None;
        let mut number = 0;
        while number < count {
            let mut tx = self.db.write(self.tenant).await?;
            for _ in 0..BATCH.min(count - number) {
                let revised = former.filter(|_| number % REVISED == REVISED - 1);
                match revised {
                    Some(fact) if number % (2 * REVISED) == REVISED - 1 => {
                        self.retract(&mut tx, fact).await?;
                        former = None;
                    }
                    _ => former = Some(self.fact(&mut tx, world, number, revised).await?),
                }
                number += 1;
            }
            tx.commit().await?;
            if number <= count / 2 {
                middle = self.last;
            }
        }
        Ok(middle)
    }

    async fn fact(
        &mut self,
        tx: &mut Tx,
        world: &World,
        number: usize,
        former: Option<FactId>,
    ) -> Result<FactId, Failure> {
        let next = std::sync::atomic::AtomicU64::new(self.made);
        let ids = || fresh(&next);
        let decision = self.decision(&ids);
        let assertion = world.assertion(number);
        let done = match former {
            Some(former) => ledger::correct(tx, &decision, former, assertion).await?,
            None => ledger::assert(tx, &decision, &assertion).await?,
        };
        self.made = next.into_inner();
        self.last = self.last.max(done.recorded_at);
        Ok(done.fact)
    }

    async fn retract(&mut self, tx: &mut Tx, fact: FactId) -> Result<(), Failure> {
        let next = std::sync::atomic::AtomicU64::new(self.made);
        let ids = || fresh(&next);
        self.last = ledger::retract(tx, &self.decision(&ids), fact, None).await?;
        self.made = next.into_inner();
        Ok(())
    }

    fn decision<'d>(&self, ids: &'d (dyn Fn() -> Uuid + Sync)) -> Decision<'d> {
        Decision {
            kb: self.kb,
            decider: Decider::default(),
            // The base's clock goes on from where it is.
            now: RecordTime::from_micros(0),
            ids,
        }
    }
}

/// Ids that rise, as those of a server do.
fn fresh(next: &std::sync::atomic::AtomicU64) -> Uuid {
    let number = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    world::id(1, number)
}
