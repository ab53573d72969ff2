//! The activity log: one row per call through the gate.
//!
//! A write's row is in its own transaction. Rows of reads and refusals are gathered and written
//! together within a second; a crash may lose those, never a write's. Rows are written unsealed;
//! one sealer per tenant links them afterwards, so that no writer waits for another.

use std::collections::BTreeMap;
use std::sync::Mutex;

use model::{AuditId, CredentialId, KbId, RecordTime, TenantId, UserId};
use store::audit::{self, Entry};
use store::{StoreError, credentials, tenants};
use tokio::sync::Notify;

use crate::principal::{Caller, Principal};
use crate::{Core, Result, Spec};

/// Whom a row names: the caller, or the person that an operation open to all found out.
#[derive(Debug, Clone)]
pub(crate) struct Who {
    pub(crate) tenant: TenantId,
    pub(crate) user: UserId,
    pub(crate) label: String,
    /// The credential and its name; none for the owner of the data folder, or before there is one.
    pub(crate) credential: Option<CredentialId>,
    pub(crate) credential_name: Option<String>,
    pub(crate) client: Option<String>,
}

impl From<&Principal> for Who {
    fn from(principal: &Principal) -> Self {
        let credential = &principal.credential;
        Self {
            tenant: principal.tenant,
            user: principal.user,
            label: principal.label.clone(),
            credential: (!credential.id.uuid().is_nil()).then_some(credential.id),
            credential_name: Some(credential.name.clone()),
            client: principal.client.clone(),
        }
    }
}

/// Rows on their way to the log.
pub struct Activity {
    waiting: Mutex<Vec<(TenantId, Entry)>>,
    bell: Notify,
}

/// Rows that may wait before they are written at once.
const ROWS_WAITING_MAX: usize = 512;
/// Rows kept while the store takes none; what comes then is lost, and the log says so.
const ROWS_KEPT_MAX: usize = 100_000;
/// Rows sealed in one transaction at most.
const SEALED_AT_ONCE: u32 = 1000;

impl Activity {
    pub(crate) fn new() -> Self {
        Self {
            waiting: Mutex::new(Vec::new()),
            bell: Notify::new(),
        }
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Vec<(TenantId, Entry)>> {
        self.waiting.lock().expect("no holder of this lock panics")
    }

    /// Adds a row that need not be in a transaction of its call.
    pub(crate) fn push(&self, tenant: TenantId, row: Entry) {
        let mut waiting = self.waiting();
        if waiting.len() >= ROWS_KEPT_MAX {
            tracing::error!(
                operation = row.operation,
                "a row of the activity log is lost"
            );
            return;
        }
        waiting.push((tenant, row));
        if waiting.len() == ROWS_WAITING_MAX {
            self.bell.notify_one();
        }
    }

    /// Resolves when so many rows wait that they should be written now.
    pub async fn many(&self) {
        self.bell.notified().await;
    }

    /// Writes what waits, a transaction per tenant, and notes when credentials were used.
    ///
    /// # Errors
    /// When the store refuses; rows that were not written are kept for the next time.
    pub async fn flush(&self, core: &Core) -> Result<()> {
        let mut by_tenant: BTreeMap<TenantId, Vec<Entry>> = BTreeMap::new();
        for (tenant, row) in std::mem::take(&mut *self.waiting()) {
            by_tenant.entry(tenant).or_default().push(row);
        }
        let mut outcome = Ok(());
        let mut used = BTreeMap::new();
        for (tenant, rows) in by_tenant {
            match write(core, tenant, &rows).await {
                Ok(()) => used.extend(
                    rows.iter()
                        .filter_map(|row| Some((row.credential?, row.at))),
                ),
                Err(error) => {
                    self.waiting()
                        .extend(rows.into_iter().map(|row| (tenant, row)));
                    outcome = Err(error.into());
                }
            }
        }
        if !used.is_empty() {
            let used: Vec<(CredentialId, RecordTime)> = used.into_iter().collect();
            let mut tx = core.db.write_directory().await?;
            credentials::touch(&mut tx, &used).await?;
            tx.commit().await?;
        }
        outcome
    }

    /// Links what is not linked yet, for every tenant.
    ///
    /// # Errors
    /// When the store refuses; another sealer at work is no error.
    pub async fn seal(&self, core: &Core) -> Result<()> {
        let tenants = tenants::list(&mut core.db.read_directory().await?).await?;
        for tenant in tenants {
            loop {
                let mut tx = core.db.write(tenant.id).await?;
                let sealed = match audit::seal(&mut tx, SEALED_AT_ONCE).await {
                    Err(StoreError::Unique(_)) => break,
                    sealed => sealed?,
                };
                tx.commit().await?;
                if sealed < u64::from(SEALED_AT_ONCE) {
                    break;
                }
            }
        }
        Ok(())
    }
}

async fn write(core: &Core, tenant: TenantId, rows: &[Entry]) -> Result<(), StoreError> {
    let mut tx = core.db.write(tenant).await?;
    audit::insert_many(&mut tx, rows).await?;
    tx.commit().await
}

/// The row of a call.
pub(crate) fn row(
    core: &Core,
    spec: &Spec,
    caller: &Caller,
    who: &Who,
    about: &About,
    verdict: &str,
) -> Entry {
    Entry {
        id: AuditId::new(core.ids.next()),
        at: core.clock.now(),
        base: about.base,
        user: Some(who.user),
        user_label: who.label.clone(),
        credential: who.credential,
        credential_name: who.credential_name.clone(),
        client: who.client.clone(),
        actor: None,
        door: caller.door.name().to_owned(),
        operation: spec.name.to_owned(),
        target: about.thing.clone(),
        verdict: verdict.to_owned(),
        request: caller.request,
        detail: None,
    }
}

/// What a call turned out to be about.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// The base, once the gate has opened it.
    pub base: Option<KbId>,
    /// The thing in it: a kind and an id ("document", "0198…").
    pub thing: Option<(String, String)>,
}
