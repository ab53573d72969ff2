//! Whose vectors a base is searched with, and which model the house is to use.
//!
//! A model is known here by its tag, which names everything its vectors depend on.

use model::{KbId, RecordTime};

use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx, tenants};

/// The model whose vectors a base is searched with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Serving {
    /// Its tag.
    pub model: String,
    /// The base's record time of the switch to it.
    pub since: RecordTime,
}

/// A base's models.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaseModels {
    /// None: searched by words only.
    pub serving: Option<Serving>,
    /// Tag of the one before, to go back to.
    pub previous: Option<String>,
}

/// The model that the house is to use, by the name that operators call it by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// None if nobody has chosen.
    pub name: Option<String>,
    /// The one before.
    pub before: Option<String>,
    /// What the setting said when it was last looked at.
    pub setting: Option<String>,
}

statements! {
    tenant {
        OF_BASE: "SELECT serving, previous, since FROM base_model WHERE tenant_id = $1 AND base_id = $2",
        SET: "INSERT INTO base_model (tenant_id, base_id, serving, previous, since) VALUES ($1, $2, $3, $4, $5) \
            ON CONFLICT (tenant_id, base_id) DO UPDATE SET serving = excluded.serving, previous = excluded.previous, since = excluded.since",
        FORGET: "UPDATE base_model SET previous = NULL WHERE tenant_id = $1 AND base_id = $2 AND previous = $3",
    }
}

const CHOICE: [&str; 3] = ["model", "model_before", "model_setting"];

/// The base's models.
pub async fn of_base(tx: &mut Tx, kb: KbId) -> Result<BaseModels, StoreError> {
    let Some(mut row) = tx.row(&OF_BASE, params![kb]).await? else {
        return Ok(BaseModels::default());
    };
    let (serving, previous): (Option<String>, Option<String>) = (row.take()?, row.take()?);
    let since = row.take()?;
    Ok(BaseModels {
        serving: serving.map(|model| Serving { model, since }),
        previous,
    })
}

/// Searches the base with the vectors of `serving` from `at` on, the transaction's record time;
/// what it was searched with until then is the one to go back to.
pub async fn serve(
    tx: &mut Tx,
    kb: KbId,
    serving: Option<&str>,
    at: RecordTime,
) -> Result<(), StoreError> {
    let before = of_base(tx, kb).await?;
    let other = |model: &String| Some(model.as_str()) != serving;
    let was = before.serving.map(|serving| serving.model).filter(other);
    let previous = was.or(before.previous).filter(other);
    tx.execute(&SET, params![kb, serving, previous.as_deref(), at])
        .await
        .map(drop)
}

/// The model's vectors are gone: there is no going back to it.
pub async fn forget(tx: &mut Tx, kb: KbId, model: &str) -> Result<(), StoreError> {
    tx.execute(&FORGET, params![kb, model]).await.map(drop)
}

/// The model that the house is to use.
pub async fn choice(tx: &mut Tx) -> Result<Choice, StoreError> {
    let [name, before, setting] = CHOICE;
    let given = |value: Option<String>| value.filter(|value| !value.is_empty());
    Ok(Choice {
        name: given(tenants::meta(tx, name).await?),
        before: given(tenants::meta(tx, before).await?),
        setting: given(tenants::meta(tx, setting).await?),
    })
}

/// Sets the model that the house is to use. In the directory.
pub async fn set_choice(tx: &mut Tx, choice: &Choice) -> Result<(), StoreError> {
    let values = [&choice.name, &choice.before, &choice.setting];
    for (key, value) in CHOICE.into_iter().zip(values) {
        tenants::set_meta(tx, key, value.as_deref().unwrap_or_default()).await?;
    }
    Ok(())
}
