//! What a call is about. Holding a target proves that the caller may reach it.

use model::right::standing;
use model::{KbId, Role, SourceId, TenantId};
use store::{bases, sources};

use crate::principal::Principal;
use crate::{Core, Error, Result};

/// A kind of thing that a call can be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TargetKind {
    /// A base.
    Base,
    /// The caller's organisation.
    Tenant,
    /// The caller.
    Account,
    /// Nothing in particular, for anybody.
    Public,
}

/// A thing that a call can be about; made only by the gate.
pub trait Target: Sized + Send + Sync + 'static {
    /// Which kind it is.
    const KIND: TargetKind;

    /// Takes the opened target, if it is of this kind.
    #[doc(hidden)]
    fn take(opened: Opened) -> Option<Self>;
}

/// A base that the caller may see, with their role in it now.
#[derive(Debug, Clone)]
pub struct Base {
    tenant: TenantId,
    id: KbId,
    name: String,
    role: Role,
}

impl Base {
    /// The organisation.
    pub const fn tenant(&self) -> TenantId {
        self.tenant
    }

    /// The base's id.
    pub const fn id(&self) -> KbId {
        self.id
    }

    /// Its name for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the caller may do in it, now.
    pub const fn role(&self) -> Role {
        self.role
    }
}

/// The caller's organisation.
#[derive(Debug, Clone)]
pub struct Tenant {
    id: TenantId,
}

impl Tenant {
    /// Its id.
    pub const fn id(&self) -> TenantId {
        self.id
    }
}

/// The caller themself.
#[derive(Debug, Clone)]
pub struct Account {
    tenant: TenantId,
}

impl Account {
    /// The organisation.
    pub const fn tenant(&self) -> TenantId {
        self.tenant
    }
}

/// Nothing in particular.
#[derive(Debug, Clone)]
pub struct Public(());

/// An opened target of any kind.
#[derive(Debug, Clone)]
#[doc(hidden)]
pub enum Opened {
    Base(Base),
    Tenant(Tenant),
    Account(Account),
    Public(Public),
}

macro_rules! targets {
    ($($kind:ident)*) => {$(
        impl Target for $kind {
            const KIND: TargetKind = TargetKind::$kind;

            fn take(opened: Opened) -> Option<Self> {
                match opened {
                    Opened::$kind(target) => Some(target),
                    _ => None,
                }
            }
        }
    )*};
}

targets! { Base Tenant Account Public }

/// The sentence for a base that is not there or not for the caller.
pub(crate) fn no_such_base() -> Error {
    Error::not_found("no base with that id")
}

/// Opens what the call is about.
///
/// One statement whether the base is foreign, deleted, hidden or made up, and one answer.
pub(crate) async fn open(
    core: &Core,
    kind: TargetKind,
    principal: Option<&Principal>,
    kb: Option<KbId>,
) -> Result<Opened> {
    let known = || principal.ok_or_else(crate::gate::unauthenticated);
    match kind {
        TargetKind::Public => Ok(Opened::Public(Public(()))),
        TargetKind::Tenant => Ok(Opened::Tenant(Tenant {
            id: known()?.tenant,
        })),
        TargetKind::Account => Ok(Opened::Account(Account {
            tenant: known()?.tenant,
        })),
        TargetKind::Base => {
            let kb = kb.ok_or_else(no_such_base)?;
            open_base(core, known()?, kb).await.map(Opened::Base)
        }
    }
}

/// Opens a base: what a door does before it lists or calls anything.
///
/// # Errors
/// `not_found` if it is not there or not for this caller to see.
pub async fn open_base(core: &Core, principal: &Principal, kb: KbId) -> Result<Base> {
    let mut tx = core.db.read(principal.tenant).await?;
    let stand = bases::stand_of(&mut tx, kb, principal.user).await?;
    let stand = stand
        .filter(|_| principal.credential.bases.cover(kb))
        .ok_or_else(no_such_base)?;
    let role = standing(principal.system_admin, stand.role, stand.base.visibility);
    let role = role.ok_or_else(no_such_base)?;
    Ok(Base {
        tenant: principal.tenant,
        id: kb,
        name: stand.base.name,
        role,
    })
}

/// The base that a source belongs to, for a door whose address names the source alone. Opening the
/// base decides whether the caller may know of either.
///
/// # Errors
/// When the store refuses; a source that is not there is none.
pub async fn base_of_source(
    core: &Core,
    principal: &Principal,
    source: SourceId,
) -> Result<Option<KbId>> {
    let mut tx = core.db.read(principal.tenant).await?;
    Ok(sources::base_of(&mut tx, source).await?)
}
