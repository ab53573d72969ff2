//! The one way in. Two calls, nine steps.
//!
//! [`admit`]: 1 the credential may use this door; 2 the target is opened, and what the caller may
//! not know of is not found; 3 scope and role cover the operation; 4 the budget pays for it.
//! An upload is taken in only after that. [`run`]: 5 read the arguments; 6 replay a known
//! idempotency key; 7 run under the deadline; 8 cap the answer; 9 write the activity row.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use model::{Code, KbId, Result, Role, TenantId};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use store::Tx;
use store::idempotency::{self, Claim, Record};
use tracing::Instrument;
use uuid::Uuid;

use crate::activity::{self, About};
use crate::cx::{CallState, Upload};
use crate::operation::Answer;
use crate::principal::{Caller, Credential, CredentialKind, Principal};
use crate::target::Opened;
use crate::{Bases, Core, Door, Error, Registered, Spec, TargetKind};

/// A call that passed the first four steps.
pub struct Admitted<'a> {
    core: Arc<Core>,
    registered: &'a Registered,
    caller: Caller,
    opened: Opened,
    about: About,
}

/// What a call carries besides its arguments.
#[derive(Debug, Default)]
pub struct Carried {
    /// The file that came with it.
    pub upload: Option<Upload>,
    /// The `Idempotency-Key`.
    pub key: Option<String>,
    /// Largest answer that the door carries, in bytes of JSON.
    pub answer_bytes_max: Option<usize>,
}

/// The sentence for a call without a valid credential.
pub fn unauthenticated() -> Error {
    Error::new(
        Code::Unauthenticated,
        "this needs a personal token that is not expired or revoked, as `Authorization: Bearer utp_pat_…`",
    )
}

/// Steps 1 to 4: whether this caller may do this to that at all.
///
/// # Errors
/// `unauthenticated`, `not_found`, `insufficient_scope`, `forbidden` or `rate_limited`; each but
/// the first leaves a row in the activity log.
pub async fn admit<'a>(
    core: &Arc<Core>,
    registered: &'a Registered,
    caller: Caller,
    kb: Option<KbId>,
) -> Result<Admitted<'a>> {
    let mut about = About::default();
    match decide(core, registered, &caller, kb, &mut about).await {
        Ok(opened) => Ok(Admitted {
            core: Arc::clone(core),
            registered,
            caller,
            opened,
            about,
        }),
        Err(error) => {
            record(
                core,
                &registered.entry.spec,
                &caller,
                &about,
                error.code.name(),
            );
            Err(error)
        }
    }
}

/// Decides, and says what the call is about as far as the caller may know it.
async fn decide(
    core: &Core,
    registered: &Registered,
    caller: &Caller,
    kb: Option<KbId>,
    about: &mut About,
) -> Result<Opened> {
    let principal = caller.principal.as_ref();
    if let Some(principal) = principal {
        may_use_door(&principal.credential, caller.door)?;
    }
    let opened = crate::target::open(core, registered.entry.target, principal, kb).await?;
    let role = match &opened {
        Opened::Base(base) => {
            about.base = Some(base.id());
            Some(base.role())
        }
        _ => None,
    };
    let Some(principal) = principal else {
        return Ok(opened);
    };
    covers(registered, principal, role)?;
    core.charge(principal.credential.id, registered.entry.spec.cost)
        .map_err(|wait| {
            let sentence = format!("this token has spent its calls; try again in {wait} s");
            Error::new(Code::RateLimited, sentence).retry_after(wait)
        })?;
    Ok(opened)
}

fn may_use_door(credential: &Credential, door: Door) -> Result<()> {
    match (credential.kind, door) {
        (CredentialKind::Personal | CredentialKind::SignedIn, Door::Rest | Door::Base)
        | (CredentialKind::Local, Door::Local | Door::Rest) => Ok(()),
        (CredentialKind::Personal | CredentialKind::SignedIn, Door::Local)
        | (CredentialKind::Local, Door::Base) => Err(unauthenticated()),
    }
}

/// Whether credential and role cover an operation: the one function behind lists, calls and pages.
///
/// # Errors
/// `insufficient_scope` or `forbidden`, saying what is missing.
pub fn covers(registered: &Registered, principal: &Principal, role: Option<Role>) -> Result<()> {
    let spec = &registered.entry.spec;
    let scopes = principal.credential.scopes;
    if !scopes.allow(spec.scope) {
        let sentence = format!(
            "`{}` needs a token with the scope `{}`; this one has `{scopes}`",
            spec.name,
            spec.scope.name(),
        );
        let details = json!({ "needed": spec.scope.name() });
        return Err(Error::new(Code::InsufficientScope, sentence).details(details));
    }
    // What is about the whole organisation is above a ceiling of some of its bases.
    if registered.entry.target == TargetKind::Tenant && principal.credential.bases != Bases::All {
        let sentence = format!(
            "`{}` is about the whole organisation, and this token reaches only some bases",
            spec.name
        );
        return Err(Error::new(Code::InsufficientScope, sentence));
    }
    if spec.system_admin && !principal.system_admin {
        let sentence = format!("`{}` is for system admins", spec.name);
        return Err(Error::new(Code::Forbidden, sentence));
    }
    match role {
        Some(role) if role < spec.least_role => {
            let sentence = format!(
                "`{}` needs the role `{}` in this base; yours is `{role}`",
                spec.name, spec.least_role
            );
            let details = json!({ "needed": spec.least_role.name() });
            Err(Error::new(Code::Forbidden, sentence).details(details))
        }
        _ => Ok(()),
    }
}

/// Steps 5 to 9: does it.
///
/// # Errors
/// Whatever the operation refuses with; also `deadline_exceeded` and the refusals of a key.
pub async fn run(
    admitted: Admitted<'_>,
    arguments: Map<String, Value>,
    carried: Carried,
) -> Result<Answer> {
    let Admitted {
        core,
        registered,
        caller,
        opened,
        about,
    } = admitted;
    let spec = registered.entry.spec;
    let span = tracing::info_span!(
        "call",
        operation = spec.name,
        door = caller.door.name(),
        request = %caller.request,
    );
    let mut state = CallState {
        about: Mutex::new(about),
        upload: Mutex::new(carried.upload),
        key: None,
        recorded: AtomicBool::new(false),
        core,
        spec,
        caller,
    };
    let answer = async {
        let arguments = registered.table.normalise(arguments)?;
        if let Some(key) = carried.key {
            match claim(&state, &opened, key, &arguments).await? {
                Ok(in_use) => state.key = Some(in_use),
                Err(replay) => return Ok(replay),
            }
        }
        let running = (registered.entry.call)(opened, &state, arguments);
        let answer = tokio::time::timeout(spec.deadline, running)
            .await
            .unwrap_or_else(|_| {
                let sentence = format!(
                    "`{}` took longer than {} s",
                    spec.name,
                    spec.deadline.as_secs()
                );
                Err(Error::new(Code::DeadlineExceeded, sentence).retry_after(1))
            });
        if let (Err(_), Some(key)) = (&answer, &state.key) {
            key.release(&state.core).await;
        }
        cap(answer?, carried.answer_bytes_max)
    }
    .instrument(span)
    .await;
    if !state.recorded.load(Ordering::Acquire) {
        let verdict = answer
            .as_ref()
            .map_or_else(|error| error.code.name(), |_| "ok");
        let about = state.about.lock().expect("no holder of this lock panics");
        record(&state.core, &spec, &state.caller, &about, verdict);
    }
    answer
}

fn cap(answer: Answer, bytes_max: Option<usize>) -> Result<Answer> {
    match bytes_max {
        Some(max) if answer.json.to_string().len() > max => Err(Error::new(
            Code::TooLarge,
            format!("the answer is larger than {max} bytes; ask for fewer rows"),
        )),
        _ => Ok(answer),
    }
}

fn record(core: &Core, spec: &Spec, caller: &Caller, about: &About, verdict: &str) {
    if let Some(principal) = &caller.principal {
        let row = activity::row(core, spec, caller, principal, about, verdict);
        core.activity.push(principal.tenant, row);
    }
}

/// An idempotency key that this call holds.
pub(crate) struct KeyInUse {
    tenant: TenantId,
    principal: Uuid,
    operation: &'static str,
    base: Option<KbId>,
    key: String,
}

/// How long a key is remembered.
const KEY_HELD_SECONDS: i64 = 24 * 60 * 60;
/// How long a call holds a key beyond its own deadline, after which it cannot be running any more.
const KEY_LEASE_SECONDS: i64 = 60;
/// Longest key, in bytes.
const KEY_BYTES_MAX: usize = 255;

impl KeyInUse {
    fn row(&self) -> idempotency::Key<'_> {
        idempotency::Key {
            principal: self.principal,
            operation: self.operation,
            base: self.base,
            key: &self.key,
        }
    }

    /// Stores the outcome in the transaction of the call.
    pub(crate) async fn finish(&self, tx: &mut Tx, answer: &Answer) -> Result<()> {
        let outcome = json!({ "status": answer.status, "body": answer.json, "text": answer.text });
        let is_ours = idempotency::finish(tx, &self.row(), &outcome.to_string()).await?;
        if is_ours {
            Ok(())
        } else {
            Err(still_running())
        }
    }

    /// Gives the key back after a call that did nothing.
    async fn release(&self, core: &Core) {
        let released = async {
            let mut tx = core.db.write(self.tenant).await?;
            idempotency::release(&mut tx, &self.row()).await?;
            tx.commit().await
        };
        if let Err(error) = released.await {
            tracing::warn!(%error, "an idempotency key stays held until its lease ends");
        }
    }
}

fn still_running() -> Error {
    let sentence = "the first call with this `Idempotency-Key` is still running; try again shortly";
    Error::new(Code::StillRunning, sentence).retry_after(1)
}

/// Takes the key for this call, or finds the answer that was given to it before.
async fn claim(
    state: &CallState,
    opened: &Opened,
    key: String,
    arguments: &Map<String, Value>,
) -> Result<Result<KeyInUse, Answer>> {
    let spec = &state.spec;
    if !spec.idempotent_by_key {
        let sentence = format!("`{}` takes no `Idempotency-Key`", spec.name);
        return Err(Error::invalid(sentence));
    }
    if key.is_empty() || key.len() > KEY_BYTES_MAX {
        let sentence = format!(
            "`Idempotency-Key` must have 1 to {KEY_BYTES_MAX} characters, not {}",
            key.len()
        );
        return Err(Error::invalid(sentence));
    }
    let Some(principal) = &state.caller.principal else {
        return Err(unauthenticated());
    };
    let in_use = KeyInUse {
        tenant: principal.tenant,
        principal: principal.user.uuid(),
        operation: spec.name,
        base: match opened {
            Opened::Base(base) => Some(base.id()),
            _ => None,
        },
        key,
    };
    let args_hash = hash_of(
        arguments,
        state.upload_hash().as_ref().map(|hash| &hash[..]),
    );
    let now = state.core.clock.now();
    let deadline = i64::try_from(spec.deadline.as_secs()).unwrap_or(i64::MAX);
    let lease_until = now.plus_seconds(deadline.saturating_add(KEY_LEASE_SECONDS));
    let mut tx = state.core.db.write(principal.tenant).await?;
    idempotency::prune(&mut tx, now.plus_seconds(-KEY_HELD_SECONDS)).await?;
    let row = in_use.row();
    let claimed = match idempotency::claim(&mut tx, &row, &args_hash, now, lease_until).await? {
        Claim::Ours => Ok(Ok(())),
        Claim::Theirs(record) if record.args_hash != args_hash => Err(Error::new(
            Code::KeyReused,
            "this `Idempotency-Key` was used with other arguments; take a new key for a new call",
        )),
        Claim::Theirs(Record {
            outcome: Some(outcome),
            ..
        }) => Ok(Err(replay(&outcome)?)),
        Claim::Theirs(_) => {
            let ours = idempotency::take_over(&mut tx, &row, &args_hash, now, lease_until).await?;
            if ours {
                Ok(Ok(()))
            } else {
                Err(still_running())
            }
        }
    }?;
    tx.commit().await?;
    Ok(claimed.map(|()| in_use))
}

fn replay(outcome: &str) -> Result<Answer> {
    let outcome: Value = serde_json::from_str(outcome).map_err(Error::internal)?;
    Ok(Answer {
        json: outcome["body"].clone(),
        text: outcome["text"].as_str().unwrap_or_default().to_owned(),
        status: outcome["status"]
            .as_u64()
            .and_then(|status| u16::try_from(status).ok())
            .unwrap_or(200),
        replayed: true,
        flow: None,
    })
}

/// SHA-256 over the arguments with their names in order, and the upload's own hash.
fn hash_of(arguments: &Map<String, Value>, upload: Option<&[u8]>) -> [u8; 32] {
    let mut names: Vec<_> = arguments.iter().collect();
    names.sort_by_key(|(name, _)| *name);
    let mut hash = Sha256::new();
    for (name, value) in names {
        hash.update(json!([name, value]).to_string());
    }
    hash.update(upload.unwrap_or_default());
    hash.finalize().into()
}
