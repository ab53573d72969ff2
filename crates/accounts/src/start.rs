//! The first start: an organisation, its administrator, and a link to choose a password by.

use kernel::{Core, Result};
use model::{Error, TenantId, UserId};
use store::StoreError;
use store::tenants::{self, Tenant};
use store::users::{self, User};

use crate::secret::{SET_UP_PREFIX, Secret};

/// The administrator's address until they choose one.
pub const FIRST_ADMIN: &str = "admin@localhost";
/// Life of a set-up link, in seconds.
const LINK_SECONDS: i64 = 15 * 60;

/// What the first start made, or found.
pub struct Started {
    /// The organisation.
    pub tenant: TenantId,
    /// The administrator.
    pub admin: UserId,
    /// Secret of a set-up link, while the administrator has no password.
    pub set_up_secret: Option<String>,
}

/// Makes an organisation and its administrator where there is none.
///
/// While the administrator has no password each start makes a new set-up link.
pub async fn start(core: &Core) -> Result<Started> {
    let (tenant, admin, has_password) = match first(core).await? {
        Some(found) => found,
        None => match make_first(core).await {
            Ok((tenant, admin)) => (tenant, admin, false),
            // Another server on the same database was faster.
            Err(StoreError::Unique(_)) => first(core)
                .await?
                .ok_or_else(|| Error::internal("an organisation without an administrator"))?,
            Err(error) => return Err(error.into()),
        },
    };
    let set_up_secret = if has_password {
        None
    } else {
        Some(make_link(core, tenant, admin).await?)
    };
    Ok(Started {
        tenant,
        admin,
        set_up_secret,
    })
}

/// The first administrator, their organisation, and whether they have a password.
async fn first(core: &Core) -> Result<Option<(TenantId, UserId, bool)>> {
    let mut directory = core.db.read_directory().await?;
    let found = users::first_system_admin(&mut directory).await?;
    Ok(found.map(|(admin, password)| (admin.tenant, admin.id, password.is_some())))
}

async fn make_first(core: &Core) -> Result<(TenantId, UserId), StoreError> {
    let now = core.clock.now();
    let tenant = TenantId::new(core.ids.next());
    let admin = UserId::new(core.ids.next());
    let mut tx = core.db.write(tenant).await?;
    let name = "Quipu".to_owned();
    let slug = "quipu".to_owned();
    tenants::insert(
        &mut tx,
        &Tenant {
            id: tenant,
            name,
            slug,
            created_at: now,
        },
    )
    .await?;
    let user = User {
        id: admin,
        tenant,
        email: FIRST_ADMIN.to_owned(),
        name: "Administrator".to_owned(),
        system_admin: true,
        disabled_at: None,
        created_at: now,
    };
    users::insert(&mut tx, &user, None).await?;
    tx.commit().await?;
    Ok((tenant, admin))
}

/// Makes a set-up link for a person and gives its secret.
pub async fn make_link(core: &Core, tenant: TenantId, user: UserId) -> Result<String> {
    let secret = Secret::mint(SET_UP_PREFIX, &core.chance);
    let expires_at = core.clock.now().plus_seconds(LINK_SECONDS);
    let mut tx = core.db.write(tenant).await?;
    users::insert_setup_link(&mut tx, &secret.hash(), user, expires_at).await?;
    tx.commit().await?;
    Ok(secret.reveal())
}
