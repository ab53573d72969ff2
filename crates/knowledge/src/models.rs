//! The embedding models of the whole house: which one is wanted, going back, throwing away.
//!
//! Nothing here takes vectors from a search before others are there to take their place; only
//! [`prune`] removes any, and none that a search asks for or will ask for.

mod prune_vectors;

use engine::library::models::{self, name_of};
use kernel::{Core, job};
use model::{Code, Error, KbId, Result, TenantId};
use providers::embed::{LOCAL, NONE};
use store::models::Choice;
use store::{Tx, bases, jobs, models as choices, tenants, vectors};

use crate::documents::{embed_base_key, enqueue_missing_vectors};

pub use prune_vectors::PruneVectors;

/// Name of the wanted model, or `none`.
pub async fn wanted(core: &Core) -> Result<String> {
    models::wanted_name(&mut core.db.read_directory().await?).await
}

/// Makes a model the wanted one. Each base is switched to it when all its passages have vectors.
///
/// # Errors
/// `invalid_argument` if no model has the name; `conflict` if it cannot be used.
pub async fn choose(core: &Core, name: &str) -> Result<()> {
    usable(core, name)?;
    let mut tx = core.db.write_directory().await?;
    let choice = choices::choice(&mut tx).await?;
    let is_other = name_of(&choice) != name;
    let before = is_other.then(|| name_of(&choice).to_owned());
    let chosen = Choice {
        name: Some(name.to_owned()),
        before: before.or(choice.before),
        setting: choice.setting,
    };
    choices::set_choice(&mut tx, &chosen).await?;
    tx.commit().await?;
    if name == NONE {
        stop_asking(core).await?;
    }
    enqueue_missing_vectors(core).await.map(drop)
}

/// Returns to the model that was wanted before, at once in every base that came from it; its name.
///
/// # Errors
/// `conflict` if there is none, or it cannot be used.
pub async fn roll_back(core: &Core) -> Result<String> {
    let mut tx = core.db.write_directory().await?;
    let choice = choices::choice(&mut tx).await?;
    let Some(before) = choice.before.clone() else {
        let sentence = "there is no model to go back to: none was in use before this one";
        return Err(Error::new(Code::Conflict, sentence));
    };
    let tag = usable(core, &before)?;
    let back = Choice {
        before: Some(name_of(&choice).to_owned()),
        name: Some(before.clone()),
        setting: choice.setting,
    };
    choices::set_choice(&mut tx, &back).await?;
    tx.commit().await?;
    match tag {
        None => stop_asking(core).await?,
        Some(tag) => {
            for (tenant, kb) in all_bases(core).await? {
                let mut tx = core.db.write(tenant).await?;
                models::switch_back(&mut tx, kb, &tag, core.clock.now()).await?;
                tx.commit().await?;
            }
        }
    }
    enqueue_missing_vectors(core).await?;
    Ok(before)
}

/// Follows the setting where it has changed since it was last looked at, so that what was chosen
/// later by hand stays. A setting that names no model changes nothing; the sentence says so.
pub async fn follow_setting(core: &Core, setting: Option<&str>) -> Result<Option<String>> {
    let wrong = setting.filter(|name| !is_known(core, name));
    if let Some(name) = wrong {
        return Ok(Some(no_such_model(core, name).message));
    }
    let mut tx = core.db.write_directory().await?;
    let choice = choices::choice(&mut tx).await?;
    if choice.setting.as_deref() == setting {
        return Ok(None);
    }
    let is_other = setting.is_some_and(|name| name_of(&choice) != name);
    let before = is_other.then(|| name_of(&choice).to_owned());
    let followed = Choice {
        name: setting.map(str::to_owned).or(choice.name.clone()),
        before: before.or(choice.before.clone()),
        setting: setting.map(str::to_owned),
    };
    choices::set_choice(&mut tx, &followed).await?;
    tx.commit().await?;
    if setting == Some(NONE) {
        stop_asking(core).await?;
    }
    Ok(None)
}

/// Queues the removal of every vector that no search asks for or will ask for; per base and model,
/// how many.
///
/// # Errors
/// `conflict` if the wanted model cannot be used here: which vectors are its own is not known then.
pub async fn prune(core: &Core) -> Result<Vec<(KbId, String, u64)>> {
    usable(core, &wanted(core).await?)?;
    let mut pruned = Vec::new();
    for (tenant, kb) in all_bases(core).await? {
        let mut tx = core.db.read(tenant).await?;
        let standing = models::standing(&mut tx, kb, &core.embedders).await?;
        let there = vectors::models(&mut tx, kb).await?;
        drop(tx);
        let mut tx = core.db.write(tenant).await?;
        for (model, count) in there {
            if !standing.asks_for(&model) {
                let work = PruneVectors {
                    model: model.clone(),
                    kb,
                };
                job::enqueue(core, &mut tx, Some(kb), &work).await?;
                pruned.push((kb, model, count));
            }
        }
        tx.commit().await?;
    }
    core.job_bell.notify_one();
    Ok(pruned)
}

/// How the whole house stands with models.
#[derive(Debug, Clone)]
pub struct Report {
    /// Name of the wanted model, or `none`.
    pub wanted: String,
    /// Name of the one to go back to.
    pub before: Option<String>,
    /// Every base, by tenant.
    pub bases: Vec<BaseReport>,
}

/// How a base stands with models.
#[derive(Debug, Clone)]
pub struct BaseReport {
    /// The base.
    pub kb: KbId,
    /// Its second, human name.
    pub slug: String,
    /// Tag of the model whose vectors searches ask for.
    pub serving: Option<String>,
    /// Whether that model can read a question here.
    pub can_ask: bool,
    /// Tag of the one to go back to.
    pub previous: Option<String>,
    /// Tag of the model whose vectors are being made to take the place of the others.
    pub building: Option<String>,
    /// Why no more of them are made at the moment.
    pub waits_for: Option<String>,
    /// Passages, of every version.
    pub passages: u64,
    /// Vectors by the tag of their model; every model asked for is listed.
    pub vectors: Vec<(String, u64)>,
}

/// How the whole house stands with models. Counts every base's passages.
pub async fn report(core: &Core) -> Result<Report> {
    let choice = choices::choice(&mut core.db.read_directory().await?).await?;
    let mut reports = Vec::new();
    let tenants = tenants::list(&mut core.db.read_directory().await?).await?;
    for tenant in tenants {
        let mut tx = core.db.read(tenant.id).await?;
        for base in bases::list(&mut tx).await? {
            reports.push(report_on(core, &mut tx, base).await?);
        }
    }
    Ok(Report {
        wanted: name_of(&choice).to_owned(),
        before: choice.before,
        bases: reports,
    })
}

async fn report_on(core: &Core, tx: &mut Tx, base: bases::Base) -> Result<BaseReport> {
    let kb = base.id;
    let standing = models::standing(tx, kb, &core.embedders).await?;
    let mut counted = vectors::models(tx, kb).await?;
    for tag in standing.tags() {
        if !counted.iter().any(|(known, _)| known == tag) {
            counted.push((tag.to_owned(), 0));
        }
    }
    let serving = standing.serving().map(str::to_owned);
    let building = standing
        .wanted
        .clone()
        .filter(|tag| Some(tag) != serving.as_ref());
    let mut waits_for = None;
    if let Some(tag) = building.as_ref().or(serving.as_ref()) {
        let latest = jobs::by_key(tx, kb, &embed_base_key(kb, tag), 1).await?;
        waits_for = latest.into_iter().next().and_then(|job| job.error);
    }
    Ok(BaseReport {
        kb,
        slug: base.slug,
        can_ask: serving
            .as_ref()
            .is_none_or(|tag| core.embedders.by_tag(tag).is_some()),
        serving,
        previous: standing.base.previous,
        building,
        waits_for,
        passages: vectors::passages(tx, kb).await?,
        vectors: counted,
    })
}

/// Searches every base by words only from now on.
async fn stop_asking(core: &Core) -> Result<()> {
    for (tenant, kb) in all_bases(core).await? {
        let mut tx = core.db.write(tenant).await?;
        models::serve_none(&mut tx, kb, core.clock.now()).await?;
        tx.commit().await?;
    }
    Ok(())
}

async fn all_bases(core: &Core) -> Result<Vec<(TenantId, KbId)>> {
    let tenants = tenants::list(&mut core.db.read_directory().await?).await?;
    let mut all = Vec::new();
    for tenant in tenants {
        let bases = bases::list(&mut core.db.read(tenant.id).await?).await?;
        all.extend(bases.into_iter().map(|base| (tenant.id, base.id)));
    }
    Ok(all)
}

fn is_known(core: &Core, name: &str) -> bool {
    name == NONE || name == LOCAL || core.embedders.by_name(name).is_some()
}

/// Tag of the model of this name, none for `none`.
fn usable(core: &Core, name: &str) -> Result<Option<String>> {
    if name == NONE {
        return Ok(None);
    }
    let known = core.embedders.by_name(name);
    let known = known.ok_or_else(|| no_such_model(core, name))?;
    match known.embedder {
        Ok(embedder) => Ok(Some(embedder.model_tag().to_owned())),
        Err(why) => {
            let sentence = format!("the model `{name}` cannot be used: {why}");
            Err(Error::new(Code::Conflict, sentence))
        }
    }
}

fn no_such_model(core: &Core, name: &str) -> Error {
    let known = core.embedders.all().into_iter().map(|known| known.name);
    let known: Vec<String> = known.chain([NONE.to_owned()]).collect();
    Error::invalid(format!(
        "no model is called `{name}`; there are: {}",
        known.join(", ")
    ))
}
