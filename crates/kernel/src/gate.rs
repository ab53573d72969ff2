//! The one way in. Two calls, eight steps.
//!
//! [`admit`]: 1 the credential may use this door; 2 the target is opened, and what the caller may
//! not know of is not found; 3 scope and role cover the operation; 4 the budget pays for it.
//! An upload is taken in only after that. [`run`]: 5 read the arguments; 6 replay a known
//! idempotency key; 7 run under the deadline; 8 write the activity row. (A door that caps its
//! answers does so itself: what was done cannot be refused any more.)

use std::sync::Arc;
use std::time::Duration;

use model::{Code, KbId, Result, Role};
use serde_json::{Map, Value, json};
use tracing::Instrument;

use crate::activity::{self, About, Who};
use crate::cx::{CallState, Upload};
use crate::key;
use crate::operation::{Answer, Running};
use crate::principal::{Caller, Credential, CredentialKind, Principal};
use crate::target::Opened;
use crate::{Bases, Core, Door, Error, Registered, TargetKind};

/// A call that passed the first four steps.
pub struct Admitted<'a> {
    core: Arc<Core>,
    registered: &'a Registered,
    caller: Caller,
    opened: Opened,
    about: About,
}

impl Admitted<'_> {
    /// Notes that the call came to nothing before it could be run: its file did not arrive.
    pub fn broken_off(&self, error: &Error) {
        let verdict = error.code.name();
        note(
            &self.core,
            self.registered,
            &self.caller,
            &self.about,
            verdict,
        );
    }
}

/// Adds the row of a call that was not run.
fn note(core: &Core, registered: &Registered, caller: &Caller, about: &About, verdict: &str) {
    if let Some(who) = caller.principal.as_ref().map(Who::from) {
        let row = activity::row(core, &registered.entry.spec, caller, &who, about, verdict);
        core.activity.push(who.tenant, row);
    }
}

/// What a call carries besides its arguments.
#[derive(Debug, Default)]
pub struct Carried {
    /// The file that came with it.
    pub upload: Option<Upload>,
    /// The `Idempotency-Key`.
    pub key: Option<String>,
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
            note(core, registered, &caller, &about, error.code.name());
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
    // What was asked for, whether it is there or not; its own base learns of it only if it is.
    about.thing = kb.map(|kb| ("base".to_owned(), kb.to_string()));
    let opened = crate::target::open(core, registered.entry.target, principal, kb).await?;
    let role = match &opened {
        Opened::Base(base) => {
            *about = About {
                base: Some(base.id()),
                thing: None,
            };
            Some(base.role())
        }
        _ => None,
    };
    let Some(principal) = principal else {
        return Ok(opened);
    };
    covers(registered, principal, role)?;
    core.charge(principal.credential.id).map_err(|wait| {
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

/// Steps 5 to 8: does it.
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
    let span = tracing::info_span!(
        "call",
        operation = registered.entry.spec.name,
        door = caller.door.name(),
        request = %caller.request,
    );
    let mut state = CallState::new(core, registered.entry.spec, caller, about, carried.upload);
    let answer = answer(&mut state, registered, opened, arguments, carried.key)
        .instrument(span)
        .await;
    state.record(
        answer
            .as_ref()
            .map_or_else(|error| error.code.name(), |_| "ok"),
    );
    answer
}

/// Steps 5 to 7.
async fn answer(
    state: &mut CallState,
    registered: &Registered,
    opened: Opened,
    arguments: Map<String, Value>,
    key: Option<String>,
) -> Result<Answer> {
    let arguments = registered.table.normalise(arguments)?;
    if let Some(key) = key {
        match key::claim(state, &opened, key, &arguments).await? {
            Ok(in_use) => state.key = Some(in_use),
            Err(replay) => return Ok(replay),
        }
    }
    let running = (registered.entry.call)(opened, state, arguments);
    let answer = within(state.spec.deadline, running, state).await;
    if let (Err(_), Some(key)) = (&answer, &state.key) {
        key.release(&state.core).await;
    }
    answer
}

/// Runs until the deadline, but a commit that has begun to its end: it cannot be called back, so
/// its outcome is what is told and what is written down.
async fn within(deadline: Duration, mut running: Running<'_>, state: &CallState) -> Result<Answer> {
    match tokio::time::timeout(deadline, &mut running).await {
        Ok(answer) => answer,
        Err(_) if state.may_have_happened() => running.await,
        Err(_) => {
            let (name, seconds) = (state.spec.name, deadline.as_secs());
            let sentence = format!("`{name}` took longer than {seconds} s");
            Err(Error::new(Code::DeadlineExceeded, sentence).retry_after(1))
        }
    }
}
