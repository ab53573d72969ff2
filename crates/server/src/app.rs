//! The house put together: from settings to something that serves.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kernel::core::{Limits, Parts};
use kernel::target::Base;
use kernel::{Chance, Clock, Core, Door, Entry, JobEntry, Principal, Registry, gate};
use model::{Error, Result};
use providers::parser::{ParserOptions, ParserPool};
use providers::{Embedder, Embedders, FetchOptions, Fetcher, KnownModel};
use serde_json::value::RawValue;
use store::blobs::Blobs;
use store::index::Indexes;
use store::{Db, Options};

use crate::config::Settings;
use crate::http::guard::Names;
use crate::mcp::tools::Catalogue;
use crate::warm::Warm;

/// Every operation of the house, in the manual's order.
pub const OPS: &[&[Entry]] = &[knowledge::OPS, accounts::OPS, crate::system::OPS];
/// Every job of the house.
pub const JOBS: &[&[JobEntry]] = &[knowledge::JOBS];

/// What serves: the services, the operations, the settings.
pub struct App {
    /// The services.
    pub core: Arc<Core>,
    /// The operations.
    pub registry: Registry,
    /// The settings.
    pub settings: Settings,
    /// Hosts and origins that are served.
    pub names: Names,
    /// Whether requests should come here.
    pub readiness: Arc<Readiness>,
    catalogues: HashMap<Door, Catalogue>,
    lists: Mutex<HashMap<(Door, u128), Arc<RawValue>>>,
}

/// Whether requests should come to this server.
#[derive(Debug, Default)]
pub struct Readiness {
    /// Whether the end was asked for.
    pub draining: AtomicBool,
    /// Whether every base that is to be kept ready for searching has been once.
    pub is_warm: AtomicBool,
}

impl Readiness {
    /// Why requests should go elsewhere.
    ///
    /// # Errors
    /// With the reason.
    pub fn check(&self) -> std::result::Result<(), &'static str> {
        if self.draining.load(Ordering::Relaxed) {
            return Err("shutting down");
        }
        if !self.is_warm.load(Ordering::Relaxed) {
            return Err("the search caches are being brought up");
        }
        Ok(())
    }
}

impl App {
    /// Puts an app around services.
    pub fn new(core: Arc<Core>, registry: Registry, settings: Settings) -> Arc<Self> {
        let catalogues = crate::mcp::SURFACES
            .iter()
            .map(|surface| (surface.door, Catalogue::of(&registry, surface.door)))
            .collect();
        let readiness = Readiness::default();
        let nothing_to_warm = settings.warm_bases == Warm::Named(Vec::new());
        readiness.is_warm.store(nothing_to_warm, Ordering::Relaxed);
        Arc::new(Self {
            names: Names::of(&settings),
            readiness: Arc::new(readiness),
            lists: Mutex::new(HashMap::new()),
            catalogues,
            core,
            registry,
            settings,
        })
    }

    /// The tools that this caller can use here, as a JSON array; serialized once per set of
    /// tools.
    pub fn tool_list(&self, door: Door, principal: &Principal, base: &Base) -> Arc<RawValue> {
        let catalogue = &self.catalogues[&door];
        let mut seen = 0_u128;
        for (place, name) in catalogue.names().enumerate() {
            let registered = self
                .registry
                .get(name)
                .expect("catalogues are made from the registry");
            let usable = gate::covers(registered, principal, Some(base.role())).is_ok();
            seen |= u128::from(usable) << place;
        }
        let mut lists = self.lists.lock().expect("no holder of this lock panics");
        let list = lists
            .entry((door, seen))
            .or_insert_with(|| catalogue.list(seen).into());
        Arc::clone(list)
    }
}

/// What the house stands in: its clock, its randomness, the program that reads documents.
pub struct Surroundings {
    /// What time it is.
    pub clock: Clock,
    /// Random bytes.
    pub chance: Chance,
    /// The binary `quipu`, to be run under its hidden verb.
    pub program: PathBuf,
}

impl Surroundings {
    /// The machine's clock and randomness, and the running program itself.
    pub fn real() -> Self {
        let program = std::env::current_exe().unwrap_or_else(|_| "quipu".into());
        Self {
            clock: Clock::system(),
            chance: Chance::system(),
            program,
        }
    }
}

/// How long one document may take to read, by the clock.
const PARSE_WITHIN: Duration = Duration::from_mins(2);

/// Opens stores and providers as the settings say.
///
/// # Errors
/// When the database, the data folder or the installed model cannot be used.
pub async fn open_core(
    settings: &Settings,
    registry: &Registry,
    surroundings: Surroundings,
) -> Result<Arc<Core>> {
    let Surroundings {
        clock,
        chance,
        program,
    } = surroundings;
    let options = Options {
        opened_at: clock.now(),
        ..Options::default()
    };
    let db = Db::open(&settings.database, options).await?;
    let blobs = open_blobs(settings).await?;
    let indexes = Indexes::open(db.clone(), index_folder(settings))?;
    // The child bounds its own processor time; on a busy machine that takes longer by the clock.
    let parser = ParserPool::new(ParserOptions {
        time: PARSE_WITHIN,
        ..ParserOptions::new(program, [PARSER_VERB.into()])
    });
    Ok(Core::new(Parts {
        db,
        blobs,
        indexes,
        embedders: Embedders::new(known_models(settings)),
        parser,
        fetcher: Fetcher::new(FetchOptions {
            ports: settings.fetch_ports.clone(),
            networks: settings.fetch_networks.clone(),
            ..FetchOptions::default()
        })
        .map_err(Error::internal)?,
        models: settings.models(),
        manual: crate::manual::manual(registry),
        packs: crate::packs::packs()?,
        clock,
        chance,
        limits: Limits {
            upload_bytes: settings.upload_bytes_max,
            calls_per_minute: settings.calls_per_minute,
        },
    }))
}

/// Opens the documents' bytes where the settings say they are.
///
/// # Errors
/// When they cannot be used.
pub async fn open_blobs(settings: &Settings) -> Result<Blobs> {
    let folder = settings.data.join("blobs");
    Ok(match &settings.bucket {
        Some(bucket) => Blobs::open_bucket(bucket.clone(), &folder).await?,
        None => Blobs::open(&folder.to_string_lossy()).await?,
    })
}

/// The folder of the search caches.
pub fn index_folder(settings: &Settings) -> PathBuf {
    settings.data.join("index")
}

/// The models of the settings beside the local one; a broken one is told in the log.
fn known_models(settings: &Settings) -> Vec<KnownModel> {
    let mut known = vec![KnownModel::local(&settings.models())];
    for described in &settings.endpoints {
        let embedder = described.options.clone().and_then(|options| {
            let embedder = Embedder::endpoint(options).map_err(|error| error.to_string())?;
            Ok(Arc::new(embedder))
        });
        if let Err(why) = &embedder {
            tracing::warn!(
                model = described.name,
                why,
                "an embedding model cannot be used"
            );
        }
        known.push(KnownModel {
            name: described.name.clone(),
            embedder,
        });
    }
    known
}

/// Name of the hidden verb under which the binary reads documents in a process of its own.
pub const PARSER_VERB: &str = "read-documents";

/// What the owner of a data folder does first: work that a dead process left is free again, and
/// another model in the settings is the wanted one.
///
/// Nodes that share a database leave each other's work alone; there, a lease runs out instead.
pub async fn begin(core: &Core, settings: &Settings) -> Result<()> {
    if settings.embedded() {
        let mut tx = core.db.write_directory().await?;
        store::jobs::release_all(&mut tx).await?;
        tx.commit().await?;
    }
    let setting = settings.model.as_deref();
    if let Some(wrong) = knowledge::models::follow_setting(core, setting).await? {
        tracing::warn!(wrong, "the setting `model` is not followed");
    }
    Ok(())
}
