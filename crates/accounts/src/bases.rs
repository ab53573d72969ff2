//! Bases and who may do what in them.

mod create_base;
mod list_bases;
mod list_members;
mod remove_member;
mod set_member;
mod update_base;

use model::right::standing;
use model::{Code, Error, KbId, RecordTime, Result, Role, UserId, Visibility};
use schemars::JsonSchema;
use serde::Serialize;
use store::Tx;
use store::bases;

pub use create_base::{CreateBase, CreatedBase};
pub use list_bases::{Bases, ListBases};
pub use list_members::{ListMembers, Members};
pub use remove_member::RemoveMember;
pub use set_member::SetMember;
pub use update_base::UpdateBase;

/// A base as its viewer sees it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct BaseInfo {
    /// The base's id.
    pub id: KbId,
    /// Its second, human name in addresses; unique in the organisation.
    pub slug: String,
    /// Its name.
    pub name: String,
    /// Who sees it without being a member.
    pub visibility: Visibility,
    /// What you may do in it.
    pub role: Role,
    /// When it was made.
    pub created_at: RecordTime,
}

impl kernel::Reply for BaseInfo {
    fn text(&self) -> String {
        let (id, visibility, role) = (self.id, self.visibility.name(), self.role);
        format!("{id}  {}  {}  {visibility}  {role}\n", self.slug, self.name)
    }
}

/// A person with what decides their standing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Viewer {
    pub id: UserId,
    pub system_admin: bool,
}

/// Refuses bases that a token's owner cannot see.
pub(crate) async fn all_seen_by(tx: &mut Tx, kb_ids: &[KbId], owner: Viewer) -> Result<()> {
    for &kb in kb_ids {
        let stand = bases::stand_of(tx, kb, owner.id).await?;
        let role =
            stand.and_then(|stand| standing(owner.system_admin, stand.role, stand.base.visibility));
        if role.is_none() {
            return Err(Error::not_found(format!(
                "`kb_ids` names `{kb}`, and there is no base with that id"
            )));
        }
    }
    Ok(())
}

/// Refuses to let a base's only owner go.
///
/// Takes the base's one place for a writer, so that of two owners who go at once one stays.
pub(crate) async fn keep_an_owner(
    tx: &mut Tx,
    kb: KbId,
    leaving: UserId,
    now: RecordTime,
) -> Result<()> {
    bases::advance_clock(tx, kb, now).await?;
    let members = bases::members(tx, kb).await?;
    let mut owners = members.iter().filter(|member| member.role == Role::Owner);
    let is_only =
        owners.next().is_some_and(|owner| owner.user == leaving) && owners.next().is_none();
    if is_only {
        let sentence = "a base keeps one owner; make somebody else an owner first";
        return Err(Error::new(Code::Conflict, sentence));
    }
    Ok(())
}

/// Longest name of a base, in characters.
const NAME_LENGTH_MAX: usize = 100;

/// The name of a base, trimmed.
pub(crate) fn checked_name(name: &str) -> Result<String> {
    let name = name.trim();
    let length = name.chars().count();
    if length == 0 || length > NAME_LENGTH_MAX || name.chars().any(char::is_control) {
        let sentence = format!("`name` must be one line of 1 to {NAME_LENGTH_MAX} characters");
        return Err(Error::invalid(sentence));
    }
    Ok(name.to_owned())
}
