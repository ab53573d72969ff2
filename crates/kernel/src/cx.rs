//! What an operation may ask for while it runs.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use model::{RecordTime, Result, TenantId};
use store::Tx;
use store::blobs::Staged;

use crate::activity::{self, About};
use crate::operation::{Answer, Reply};
use crate::principal::Caller;
use crate::spec::Spec;
use crate::{Account, Base, Core, Error, Principal, Target, Tenant};

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
    pub(crate) about: Mutex<About>,
    pub(crate) upload: Mutex<Option<Upload>>,
    pub(crate) key: Option<crate::gate::KeyInUse>,
    /// Whether the activity row is already in a committed transaction.
    pub(crate) recorded: AtomicBool,
}

impl CallState {
    /// SHA-256 of the file that came with the call.
    pub(crate) fn upload_hash(&self) -> Option<[u8; 32]> {
        let upload = self.upload.lock().expect("no holder of this lock panics");
        upload.as_ref().map(|upload| upload.staged.hash)
    }
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
        let mut upload = self
            .state
            .upload
            .lock()
            .expect("no holder of this lock panics");
        upload.take().ok_or_else(|| {
            Error::invalid("the call carries no file; send it as the body or as the part `file`")
        })
    }

    /// Says which thing the call is about, for the activity log.
    pub fn about(&self, kind: &str, id: impl ToString) {
        let mut about = self
            .state
            .about
            .lock()
            .expect("no holder of this lock panics");
        about.thing = Some((kind.to_owned(), id.to_string()));
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
            key.finish(&mut self.tx, &Answer::of(&reply)?).await?;
        }
        if let Some(principal) = &state.caller.principal {
            let about = state
                .about
                .lock()
                .expect("no holder of this lock panics")
                .clone();
            let row = activity::row(
                &state.core,
                &state.spec,
                &state.caller,
                principal,
                &about,
                "ok",
            );
            store::audit::insert(&mut self.tx, &row).await?;
        }
        self.tx.commit().await?;
        state.recorded.store(true, Ordering::Release);
        state.core.job_bell.notify_one();
        Ok(reply)
    }
}
