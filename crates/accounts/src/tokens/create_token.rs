use kernel::{Account, Bases, CredentialKind, Cx, Method, Operation, Principal, Reply, Spec};
use model::{Code, Error, KbId, RecordTime, Result, Role, Scope, Scopes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NewToken, TokenInfo, issue};
use crate::bases::Viewer;

/// Make a personal access token.
///
/// A token acts for its owner and never beyond: its scope and its bases are ceilings over the
/// role that the owner has at the moment of each call. The token itself is shown in this answer
/// and never again.
#[derive(Deserialize, JsonSchema)]
pub struct CreateToken {
    /// A name to recognise it by in lists and in the activity log.
    name: String,
    /// `read`, `write` or `capture`; several with spaces between. `read` if absent.
    scope: Option<Scopes>,
    /// The bases it reaches. All that its owner can open, now and later, if absent.
    kb_ids: Option<Vec<KbId>>,
    /// Days until it ends, at most 3650; 0 for never. 90 if absent.
    expires_in_days: Option<u32>,
    /// E-mail address of the owner, for system admins who make one for somebody else.
    user: Option<String>,
}

/// A token that was made.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CreatedToken {
    /// The token. It is not stored and cannot be shown again.
    pub token: String,
    /// What is known about it.
    pub info: TokenInfo,
}

impl Reply for CreatedToken {
    const STATUS: u16 = 201;

    fn text(&self) -> String {
        let ends = self
            .info
            .expires_at
            .map_or("never ends".to_owned(), |end| format!("ends {end}"));
        format!(
            "{}\n\nThis token ({}, scope {}, {ends}) is shown once. Its id is {}.\n",
            self.token, self.info.name, self.info.scope, self.info.id
        )
    }
}

/// Longest life of a token, in days.
const DAYS_MAX: u32 = 3650;
/// Life of a token where the caller names none, in days.
const DAYS: u32 = 90;
/// Longest name, in characters.
const NAME_LENGTH_MAX: usize = 100;

impl Operation for CreateToken {
    type Target = Account;
    type Output = CreatedToken;
    const SPEC: Spec = Spec::write("create_token", "Make a token")
        .least(Role::Viewer)
        .route(Method::Post, "/me/tokens")
        .cli("token create", &[]);

    async fn run(self, cx: &Cx<'_, Account>) -> Result<CreatedToken> {
        let principal = cx.principal();
        let scopes = self.scope.unwrap_or(Scopes::READ);
        below_ceiling(principal, scopes, self.kb_ids.as_deref())?;
        let name = checked_name(&self.name)?;
        let expires_at = end(principal, self.expires_in_days, cx.now())?;
        let owner = owner(cx, principal, self.user.as_deref()).await?;
        let mut tx = cx.write().await?;
        if let Some(kb_ids) = &self.kb_ids {
            crate::bases::all_seen_by(&mut tx, kb_ids, owner).await?;
        }
        let (owner, kb_ids) = (owner.id, self.kb_ids);
        let new = NewToken {
            owner,
            kind: store::credentials::CredentialKind::Personal,
            name,
            scopes,
            kb_ids,
            expires_at,
        };
        let created = issue(cx, &mut tx, new).await?;
        cx.about("token", created.info.id);
        tx.commit(created).await
    }
}

/// When the token will end: no later than a personal token that makes it.
fn end(principal: &Principal, days: Option<u32>, now: RecordTime) -> Result<Option<RecordTime>> {
    let wished = match days.unwrap_or(DAYS) {
        0 => None,
        days @ 1..=DAYS_MAX => Some(now.plus_seconds(i64::from(days) * 86_400)),
        days => {
            return Err(Error::invalid(format!(
                "`expires_in_days` must be 0 (never) or from 1 to {DAYS_MAX}, not {days}"
            )));
        }
    };
    let maker = &principal.credential;
    let own_end = maker
        .expires_at
        .filter(|_| maker.kind == CredentialKind::Personal);
    match (own_end, wished) {
        (Some(own), wished) if wished.is_none_or(|wished| own < wished) => match days {
            None => Ok(Some(own)),
            Some(_) => Err(Error::new(
                Code::InsufficientScope,
                format!(
                    "a token that ends {own} cannot make one that outlives it; leave `expires_in_days` out or name fewer"
                ),
            )),
        },
        (_, wished) => Ok(wished),
    }
}

fn checked_name(name: &str) -> Result<String> {
    let name = name.trim();
    let length = name.chars().count();
    if length > NAME_LENGTH_MAX || name.chars().any(char::is_control) {
        let sentence = format!("`name` must be one line of at most {NAME_LENGTH_MAX} characters");
        return Err(Error::invalid(sentence));
    }
    Ok(name.to_owned())
}

/// A token never makes one that may do more than itself.
fn below_ceiling(principal: &Principal, scopes: Scopes, kb_ids: Option<&[KbId]>) -> Result<()> {
    let own = principal.credential.scopes;
    if let Some(scope) = Scope::ALL
        .into_iter()
        .find(|&scope| scopes.allow(scope) && !own.allow(scope))
    {
        let sentence = format!(
            "a token with the scope `{own}` cannot make one with `{}`",
            scope.name()
        );
        return Err(Error::new(Code::InsufficientScope, sentence));
    }
    let within = principal.credential.bases.contain(kb_ids);
    if within {
        return Ok(());
    }
    let sentence = "a token that reaches some bases cannot make one that reaches others; name `kb_ids` within its own";
    Err(Error::new(Code::InsufficientScope, sentence))
}

/// Whose token it will be: the caller's, or the named person's where a system admin asks.
async fn owner(cx: &Cx<'_, Account>, principal: &Principal, email: Option<&str>) -> Result<Viewer> {
    let own = Viewer {
        id: principal.user,
        system_admin: principal.system_admin,
    };
    let Some(email) = email else { return Ok(own) };
    if email.eq_ignore_ascii_case(&principal.label) {
        return Ok(own);
    }
    if !principal.system_admin || principal.credential.bases != Bases::All {
        return Err(Error::new(
            Code::Forbidden,
            "only system admins make tokens for others, with a token that reaches all bases",
        ));
    }
    let user = crate::users::known(cx, cx.target.tenant(), email).await?;
    if user.disabled_at.is_some() {
        return Err(Error::new(
            Code::Conflict,
            format!("the account `{}` is disabled", user.email),
        ));
    }
    Ok(Viewer {
        id: user.id,
        system_admin: user.system_admin,
    })
}
