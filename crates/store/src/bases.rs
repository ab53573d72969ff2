//! Bases, who belongs to them, and the clock of each.

use model::{KbId, RecordTime, Role, TenantId, UserId, Visibility};

use crate::statement::statements;
use crate::value::{Row, params};
use crate::{StoreError, Tx};

/// A container of documents and facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    pub id: KbId,
    pub name: String,
    /// Its second, human name; one of a kind in the tenant.
    pub slug: String,
    pub visibility: Visibility,
    pub created_at: RecordTime,
    /// Record time of the last write.
    pub clock: RecordTime,
}

/// A base and a user's role in it, none if no member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stand {
    pub base: Base,
    pub role: Option<Role>,
}

/// A user's membership in a base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub user: UserId,
    pub role: Role,
    pub granted_at: RecordTime,
    pub email: String,
    pub name: String,
}

statements! {
    tenant {
        INSERT: "INSERT INTO base (tenant_id, id, name, slug, visibility, created_at, clock, next_ordinal) VALUES ($1, $2, $3, $4, $5, $6, $6, 1)",
        ENTER: "INSERT INTO base_directory (tenant_id, id) VALUES ($1, $2)",
        FIND: "SELECT id, name, slug, visibility, created_at, clock FROM base WHERE tenant_id = $1 AND id = $2",
        BY_SLUG: "SELECT id, name, slug, visibility, created_at, clock FROM base WHERE tenant_id = $1 AND slug = $2",
        LIST: "SELECT id, name, slug, visibility, created_at, clock FROM base WHERE tenant_id = $1 ORDER BY name, id",
        STAND: "SELECT base.id, base.name, base.slug, base.visibility, base.created_at, base.clock, member.role \
            FROM base LEFT JOIN member ON member.tenant_id = base.tenant_id AND member.base_id = base.id AND member.user_id = $3 \
            WHERE base.tenant_id = $1 AND base.id = $2",
        VISIBLE: "SELECT base.id, base.name, base.slug, base.visibility, base.created_at, base.clock, member.role \
            FROM base LEFT JOIN member ON member.tenant_id = base.tenant_id AND member.base_id = base.id AND member.user_id = $2 \
            WHERE base.tenant_id = $1 AND (base.visibility = 'open' OR member.role IS NOT NULL) ORDER BY base.name, base.id",
        RENAME: "UPDATE base SET name = $3 WHERE tenant_id = $1 AND id = $2",
        SET_VISIBILITY: "UPDATE base SET visibility = $3 WHERE tenant_id = $1 AND id = $2",
        ADVANCE: "UPDATE base SET clock = CASE WHEN clock >= $3 THEN clock + 1 ELSE $3 END WHERE tenant_id = $1 AND id = $2 RETURNING clock",
        HEAD: "SELECT clock FROM base WHERE tenant_id = $1 AND id = $2",
        RESERVE: "UPDATE base SET next_ordinal = next_ordinal + $3 WHERE tenant_id = $1 AND id = $2 RETURNING next_ordinal",
        SET_MEMBER: "INSERT INTO member (tenant_id, base_id, user_id, role, granted_at) VALUES ($1, $2, $3, $4, $5) \
            ON CONFLICT (tenant_id, base_id, user_id) DO UPDATE SET role = excluded.role, granted_at = excluded.granted_at",
        REMOVE_MEMBER: "DELETE FROM member WHERE tenant_id = $1 AND base_id = $2 AND user_id = $3",
        MEMBERS: "SELECT member.user_id, member.role, member.granted_at, user_account.email, user_account.name \
            FROM member JOIN user_account ON user_account.tenant_id = member.tenant_id AND user_account.id = member.user_id \
            WHERE member.tenant_id = $1 AND member.base_id = $2 ORDER BY user_account.email, member.user_id",
    }
    directory {
        TENANT_OF: "SELECT tenant_id FROM base_directory WHERE id = $1"
            because "finds the tenant of a base named by a URL",
        HEADS: "SELECT tenant_id, id, slug, clock FROM base ORDER BY tenant_id, id"
            because "a node follows the bases of all tenants",
    }
}

fn read(row: &mut Row) -> Result<Base, StoreError> {
    Ok(Base {
        id: row.take()?,
        name: row.take()?,
        slug: row.take()?,
        visibility: row.named()?,
        created_at: row.take()?,
        clock: row.take()?,
    })
}

fn read_stand(row: &mut Row) -> Result<Stand, StoreError> {
    Ok(Stand {
        base: read(row)?,
        role: role(row)?,
    })
}

/// The next column, a role or none.
fn role(row: &mut Row) -> Result<Option<Role>, StoreError> {
    let name: Option<String> = row.take()?;
    let role = name.map(|name| name.parse()).transpose();
    role.map_err(|error| StoreError::failed("read a role", error))
}

/// Adds a base; its clock starts at its creation.
///
/// # Errors
/// `Unique` if its slug is taken in the tenant.
pub async fn insert(tx: &mut Tx, base: &Base) -> Result<(), StoreError> {
    let row = params![
        base.id,
        &base.name,
        &base.slug,
        base.visibility.name(),
        base.created_at
    ];
    tx.execute(&INSERT, row).await?;
    tx.execute(&ENTER, params![base.id]).await.map(drop)
}

/// The tenant of a base. In the directory.
pub async fn tenant_of(tx: &mut Tx, kb: KbId) -> Result<Option<TenantId>, StoreError> {
    tx.row(&TENANT_OF, params![kb])
        .await?
        .map(|mut row| row.take())
        .transpose()
}

/// The base with this id.
pub async fn find(tx: &mut Tx, kb: KbId) -> Result<Option<Base>, StoreError> {
    tx.row(&FIND, params![kb])
        .await?
        .as_mut()
        .map(read)
        .transpose()
}

/// The base with this slug.
pub async fn find_by_slug(tx: &mut Tx, slug: &str) -> Result<Option<Base>, StoreError> {
    tx.row(&BY_SLUG, params![slug])
        .await?
        .as_mut()
        .map(read)
        .transpose()
}

/// Every base of the tenant, by name.
pub async fn list(tx: &mut Tx) -> Result<Vec<Base>, StoreError> {
    tx.rows(&LIST, &[]).await?.iter_mut().map(read).collect()
}

/// A base and the user's role in it, in one statement; none if the tenant has no such base.
pub async fn stand_of(tx: &mut Tx, kb: KbId, user: UserId) -> Result<Option<Stand>, StoreError> {
    tx.row(&STAND, params![kb, user])
        .await?
        .as_mut()
        .map(read_stand)
        .transpose()
}

/// The bases that the user may know of as anyone of the tenant or as a member, by name.
pub async fn visible_to(tx: &mut Tx, user: UserId) -> Result<Vec<Stand>, StoreError> {
    tx.rows(&VISIBLE, params![user])
        .await?
        .iter_mut()
        .map(read_stand)
        .collect()
}

/// Gives a base another name; whether there is such a base.
pub async fn rename(tx: &mut Tx, kb: KbId, name: &str) -> Result<bool, StoreError> {
    Ok(tx.execute(&RENAME, params![kb, name]).await? == 1)
}

/// Opens or restricts a base; whether there is such a base.
pub async fn set_visibility(
    tx: &mut Tx,
    kb: KbId,
    visibility: Visibility,
) -> Result<bool, StoreError> {
    Ok(tx
        .execute(&SET_VISIBILITY, params![kb, visibility.name()])
        .await?
        == 1)
}

/// Takes the base's one place for a writer until the transaction ends, and the record time of
/// what it writes: `now`, or a microsecond after the last write if the clock stands later.
///
/// # Errors
/// If the tenant has no such base.
pub async fn advance_clock(
    tx: &mut Tx,
    kb: KbId,
    now: RecordTime,
) -> Result<RecordTime, StoreError> {
    match tx.row(&ADVANCE, params![kb, now]).await? {
        Some(mut row) => row.take(),
        None => Err(no_base(kb)),
    }
}

/// Record time of the base's last write; none if the tenant has no such base.
pub async fn head(tx: &mut Tx, kb: KbId) -> Result<Option<RecordTime>, StoreError> {
    tx.row(&HEAD, params![kb])
        .await?
        .map(|mut row| row.take())
        .transpose()
}

/// A base's name and the record time of its last write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub tenant: TenantId,
    pub kb: KbId,
    pub slug: String,
    pub clock: RecordTime,
}

/// Every base of every tenant. In the directory.
pub async fn heads(tx: &mut Tx) -> Result<Vec<Head>, StoreError> {
    let rows = tx.rows(&HEADS, &[]).await?;
    rows.into_iter()
        .map(|mut row| {
            Ok(Head {
                tenant: row.take()?,
                kb: row.take()?,
                slug: row.take()?,
                clock: row.take()?,
            })
        })
        .collect()
}

/// Takes `count` ordinals for new chunks; the first of them.
pub(crate) async fn reserve_ordinals(tx: &mut Tx, kb: KbId, count: i64) -> Result<i64, StoreError> {
    match tx.row(&RESERVE, params![kb, count]).await? {
        Some(mut row) => Ok(row.take::<i64>()? - count),
        None => Err(no_base(kb)),
    }
}

fn no_base(kb: KbId) -> StoreError {
    StoreError::failed("write to a base", format!("the tenant has no base `{kb}`"))
}

/// Makes the user a member, or changes the role of one.
pub async fn set_member(
    tx: &mut Tx,
    kb: KbId,
    user: UserId,
    role: Role,
    granted_at: RecordTime,
) -> Result<(), StoreError> {
    tx.execute(&SET_MEMBER, params![kb, user, role, granted_at])
        .await
        .map(drop)
}

/// Ends a membership; whether there was one.
pub async fn remove_member(tx: &mut Tx, kb: KbId, user: UserId) -> Result<bool, StoreError> {
    Ok(tx.execute(&REMOVE_MEMBER, params![kb, user]).await? == 1)
}

/// The members of a base, by email.
pub async fn members(tx: &mut Tx, kb: KbId) -> Result<Vec<Member>, StoreError> {
    let rows = tx.rows(&MEMBERS, params![kb]).await?;
    rows.into_iter()
        .map(|mut row| {
            Ok(Member {
                user: row.take()?,
                role: row.named()?,
                granted_at: row.take()?,
                email: row.take()?,
                name: row.take()?,
            })
        })
        .collect()
}
