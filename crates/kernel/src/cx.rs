//! What an operation may ask for while it runs.

use std::ops::Deref;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use model::{RecordTime, Result, TenantId, UserId};
use store::Tx;
use store::audit::Entry;
use store::blobs::Staged;

use crate::activity::{self, About, Who};
use crate::key::KeyInUse;
use crate::operation::{Answer, Reply};
use crate::principal::Caller;
use crate::spec::Spec;
use crate::{Account, Base, Core, Error, Principal, Public, Target, Tenant};

/// A file that came with the call, hashed and waiting in the blob store's staging.
#[derive(Debug)]
pub struct Upload {
    /// Where it waits, its hash and size.
    pub staged: Staged,
    /// The name that the sender gave it.
    pub filename: Option<String>,
}

/// What the gate knows about a call while it runs.
pub struct CallState {
    pub(crate) core: Arc<Core>,
    pub(crate) spec: Spec,
    pub(crate) caller: Caller,
    pub(crate) key: Option<KeyInUse>,
    who: Mutex<Option<Who>>,
    about: Mutex<About>,
    upload: Mutex<Option<Upload>>,
    progress: AtomicU8,
}

/// Nothing of the call can have lasted yet.
const BEFORE: u8 = 0;
/// A commit is under way, and its activity row with it.
const COMMITTING: u8 = 1;
/// The activity row is written, or will be.
const RECORDED: u8 = 2;

/// Verdict of a call whose caller went away before its end.
const CUT_OFF: &str = "cut_off";

impl CallState {
    pub(crate) fn new(
        core: Arc<Core>,
        spec: Spec,
        caller: Caller,
        about: About,
        upload: Option<Upload>,
    ) -> Self {
        Self {
            who: Mutex::new(caller.principal.as_ref().map(Who::from)),
            about: Mutex::new(about),
            upload: Mutex::new(upload),
            key: None,
            progress: AtomicU8::new(BEFORE),
            core,
            spec,
            caller,
        }
    }

    /// SHA-256 of the file that came with the call.
    pub(crate) fn upload_hash(&self) -> Option<[u8; 32]> {
        lock(&self.upload).as_ref().map(|upload| upload.staged.hash)
    }

    /// Whether a commit has begun.
    pub(crate) fn may_have_happened(&self) -> bool {
        self.progress.load(Ordering::Acquire) != BEFORE
    }

    /// Adds the call's row to the activity, unless a transaction has it.
    pub(crate) fn record(&self, verdict: &str) {
        if self.progress.swap(RECORDED, Ordering::AcqRel) == BEFORE
            && let Some((tenant, row)) = self.row(verdict)
        {
            self.core.activity.push(tenant, row);
        }
    }

    /// The call's row; none for a call of nobody known.
    fn row(&self, verdict: &str) -> Option<(TenantId, Entry)> {
        let who = lock(&self.who).clone()?;
        let about = lock(&self.about).clone();
        let row = activity::row(&self.core, &self.spec, &self.caller, &who, &about, verdict);
        Some((who.tenant, row))
    }
}

impl Drop for CallState {
    /// A call that is dropped on its way has its row too. Its key comes free when its lease ends.
    fn drop(&mut self) {
        self.record(CUT_OFF);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no holder of this lock panics")
}

/// The context of a call about a target.
pub struct Cx<'a, T> {
    /// What the call is about.
    pub target: T,
    state: &'a CallState,
}

impl<T> Deref for Cx<'_, T> {
    type Target = Core;

    fn deref(&self) -> &Core {
        &self.state.core
    }
}

impl<'a, T: Target> Cx<'a, T> {
    pub(crate) fn new(target: T, state: &'a CallState) -> Self {
        Self { target, state }
    }

    /// The services of the house, for work that outlives the call.
    pub fn core(&self) -> &Arc<Core> {
        &self.state.core
    }

    /// The present moment.
    pub fn now(&self) -> RecordTime {
        self.state.core.clock.now()
    }

    /// The caller's door, request and principal.
    pub fn caller(&self) -> &Caller {
        &self.state.caller
    }

    /// The file that came with the call.
    ///
    /// # Errors
    /// `invalid_argument` if none did.
    pub fn upload(&self) -> Result<Upload> {
        lock(&self.state.upload).take().ok_or_else(|| {
            Error::invalid("the call carries no file; send it as the body or as the part `file`")
        })
    }

    /// Says which thing the call is about, for the activity log.
    pub fn about(&self, kind: &str, id: impl ToString) {
        lock(&self.state.about).thing = Some((kind.to_owned(), id.to_string()));
    }

    /// Opens a transaction that can be committed, in the directory or in a tenant.
    fn write_tx(&self, tx: Tx) -> WriteTx<'a> {
        WriteTx {
            tx,
            state: self.state,
        }
    }

    /// A writing transaction of one organisation; for operations open to all, that find it out.
    pub async fn write_tenant(&self, tenant: TenantId) -> Result<WriteTx<'a>> {
        Ok(self.write_tx(self.state.core.db.write(tenant).await?))
    }
}

impl Cx<'_, Public> {
    /// Says whom a call that anybody may make has turned out to be about: from then on it has a
    /// row in the activity of their organisation, whatever it comes to.
    pub fn recognise(&self, tenant: TenantId, user: UserId, label: &str) {
        lock(&self.state.who).get_or_insert_with(|| Who {
            tenant,
            user,
            label: label.to_owned(),
            credential: None,
            credential_name: None,
            client: self.state.caller.client.clone(),
        });
    }
}

macro_rules! transactions {
    ($($target:ty => $tenant:ident;)*) => {$(
        impl<'a> Cx<'a, $target> {
            /// Who asks.
            pub fn principal(&self) -> &Principal {
                let principal = self.state.caller.principal.as_ref();
                principal.expect("the gate opens this target only to a known caller")
            }

            /// A reading transaction: one consistent moment.
            pub async fn read(&self) -> Result<Tx> {
                Ok(self.state.core.db.read(self.target.$tenant()).await?)
            }

            /// A writing transaction; dropping it undoes it.
            pub async fn write(&self) -> Result<WriteTx<'a>> {
                Ok(self.write_tx(self.state.core.db.write(self.target.$tenant()).await?))
            }
        }
    )*};
}

transactions! {
    Base => tenant;
    Tenant => id;
    Account => tenant;
}

/// A writing transaction whose commit also writes the call's activity row and its outcome.
pub struct WriteTx<'a> {
    tx: Tx,
    state: &'a CallState,
}

impl Deref for WriteTx<'_> {
    type Target = Tx;

    fn deref(&self) -> &Tx {
        &self.tx
    }
}

impl std::ops::DerefMut for WriteTx<'_> {
    fn deref_mut(&mut self) -> &mut Tx {
        &mut self.tx
    }
}

impl WriteTx<'_> {
    /// Makes it durable together with the activity row and, under an idempotency key, the answer.
    ///
    /// # Errors
    /// When the store refuses; then nothing of it happened.
    pub async fn commit<R: Reply>(mut self, reply: R) -> Result<R> {
        let state = self.state;
        if let Some(key) = &state.key {
            let thing = lock(&state.about).thing.clone().map(|(_, id)| id);
            key.finish(&mut self.tx, &Answer::of(&reply)?, thing.as_deref())
                .await?;
        }
        if let Some((_, row)) = state.row("ok") {
            store::audit::insert(&mut self.tx, &row).await?;
        }
        state.progress.store(COMMITTING, Ordering::Release);
        let committed = self.tx.commit().await;
        let then = if committed.is_ok() { RECORDED } else { BEFORE };
        state.progress.store(then, Ordering::Release);
        committed?;
        state.core.job_bell.notify_one();
        Ok(reply)
    }
}
