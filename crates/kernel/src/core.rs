//! What every operation and job may ask for: the stores, the providers, the clock, ids, chance.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use model::CredentialId;
use providers::{Embedders, Fetcher, ParserPool};
use store::Db;
use store::blobs::Blobs;
use store::index::Indexes;
use tokio::sync::Notify;

use crate::activity::Activity;
use crate::manual::Manual;
use crate::packs::Packs;
use crate::{Chance, Clock, Ids};

/// The services of the house, shared by all calls.
pub struct Core {
    /// The ledger's rows.
    pub db: Db,
    /// The documents' bytes.
    pub blobs: Blobs,
    /// The search caches.
    pub indexes: Indexes,
    /// The names of things, per base.
    pub names: store::names::Names,
    /// The embedding models that this process knows of.
    pub embedders: Embedders,
    /// The processes that read documents.
    pub parser: ParserPool,
    /// The guarded way out to pages of the web.
    pub fetcher: Fetcher,
    /// Folder of the installed embedding model.
    pub models: PathBuf,
    /// The house's own manual.
    pub manual: Manual,
    /// Words that come with Quipu.
    pub packs: Packs,
    /// What time it is.
    pub clock: Clock,
    /// Makes ids.
    pub ids: Ids,
    /// Random bytes.
    pub chance: Chance,
    /// Bounds that the operator may set.
    pub limits: Limits,
    /// Rows of the activity log on their way.
    pub activity: Activity,
    /// Rung when a job was added.
    pub job_bell: Notify,
    budget: Option<DefaultKeyedRateLimiter<CredentialId>>,
}

/// Bounds that the operator may set.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Largest document, in bytes.
    pub upload_bytes: u64,
    /// Calls a credential may make in a minute; none for no bound.
    pub calls_per_minute: Option<NonZeroU32>,
}

/// Largest document where the operator says nothing: 100 MiB.
const UPLOAD_BYTES: u64 = 100 * 1024 * 1024;

impl Default for Limits {
    fn default() -> Self {
        Self {
            upload_bytes: UPLOAD_BYTES,
            calls_per_minute: None,
        }
    }
}

/// The parts that a [`Core`] is put together from.
pub struct Parts {
    /// The ledger's rows.
    pub db: Db,
    /// The documents' bytes.
    pub blobs: Blobs,
    /// The search caches.
    pub indexes: Indexes,
    /// The embedding models that this process knows of.
    pub embedders: Embedders,
    /// The processes that read documents.
    pub parser: ParserPool,
    /// The guarded way out to pages of the web.
    pub fetcher: Fetcher,
    /// Folder of the installed embedding model.
    pub models: PathBuf,
    /// The house's own manual.
    pub manual: Manual,
    /// Words that come with Quipu.
    pub packs: Packs,
    /// What time it is.
    pub clock: Clock,
    /// Random bytes.
    pub chance: Chance,
    /// Bounds that the operator may set.
    pub limits: Limits,
}

impl Core {
    /// Puts the house together.
    pub fn new(parts: Parts) -> Arc<Self> {
        let Parts {
            db,
            blobs,
            indexes,
            embedders,
            parser,
            fetcher,
            models,
            manual,
            packs,
            clock,
            chance,
            limits,
        } = parts;
        let budget = limits
            .calls_per_minute
            .map(|calls| RateLimiter::keyed(Quota::per_minute(calls)));
        Arc::new(Self {
            activity: Activity::new(),
            ids: Ids::new(clock.clone(), chance.clone()),
            job_bell: Notify::new(),
            budget,
            db,
            blobs,
            indexes,
            names: store::names::Names::default(),
            embedders,
            parser,
            fetcher,
            models,
            manual,
            packs,
            clock,
            chance,
            limits,
        })
    }

    /// Takes a call from the credential's budget, or says for how many seconds it is spent.
    pub(crate) fn charge(&self, credential: CredentialId) -> Result<(), u32> {
        let Some(budget) = &self.budget else {
            return Ok(());
        };
        budget.check_key(&credential).map_err(|spent| {
            let wait = spent.wait_time_from(DefaultClock::default().now());
            u32::try_from(wait.as_secs())
                .unwrap_or(u32::MAX)
                .saturating_add(1)
        })
    }
}
