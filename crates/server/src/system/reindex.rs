use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kernel::{Core, Cx, Flowing, Method, Operation, Spec, Tenant};
use model::{Error, KbId, Result, TenantId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{bases, faults, tenants};
use tokio::sync::mpsc::Sender;

use super::lines;

/// Throw derived things away and build them anew: the search cache of one base or of all, and with
/// `parse` what was read from the documents' files.
///
/// Searches go on reading the old cache until the new one takes its place. A document that reads
/// as before keeps its version, and its passages their ids; one that reads otherwise gets a
/// version of its own, so that the past stays as it was. Documents that failed are tried again.
/// The answer comes line by line, each a JSON object: `progress`, and at the end `done`.
#[derive(Deserialize, JsonSchema)]
pub struct Reindex {
    /// The base; all of them if absent.
    base_id: Option<KbId>,
    /// Read the documents' files again as well.
    #[serde(default)]
    parse: bool,
}

/// What rebuilding tells on its way.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Told {
    Progress {
        /// Its human name.
        base: String,
        /// `parse` or `index`.
        step: &'static str,
        done: u64,
        of: u64,
    },
    Done(Done),
}

/// What was built anew.
#[derive(Debug, Default, Clone, Copy, Serialize)]
struct Done {
    bases: u64,
    /// Documents that were read again.
    documents: u64,
    /// Those of them that read otherwise than before.
    changed: u64,
    passages: u64,
}

/// How often it is told how far it is.
const TOLD_EVERY: Duration = Duration::from_millis(200);

impl Operation for Reindex {
    type Target = Tenant;
    type Output = Flowing;
    const SPEC: Spec = Spec::write("reindex", "Build derived things anew")
        .system_admin()
        .route(Method::Post, "/reindex")
        .flows(&[lines::MEDIA_TYPE]);

    async fn run(self, cx: &Cx<'_, Tenant>) -> Result<Flowing> {
        let core = Arc::clone(cx.core());
        let wanted = wanted(&core, self.base_id).await?;
        let parse = self.parse;
        Ok(lines::told(move |out| async move {
            let mut done = Done::default();
            for (tenant, kb, slug) in wanted {
                let one = One {
                    core: &core,
                    tenant,
                    kb,
                    slug,
                    out: &out,
                };
                if parse {
                    one.parse(&mut done).await?;
                }
                one.index(&mut done).await?;
                done.bases += 1;
            }
            let _ = out.send(Told::Done(done)).await;
            Ok(())
        }))
    }
}

/// The bases to work on: tenant, id, human name.
async fn wanted(core: &Core, only: Option<KbId>) -> Result<Vec<(TenantId, KbId, String)>> {
    let mut found = Vec::new();
    let tenants = tenants::list(&mut core.db.read_directory().await?).await?;
    for tenant in tenants {
        let all = bases::list(&mut core.db.read(tenant.id).await?).await?;
        let wanted = all
            .into_iter()
            .filter(|base| only.is_none_or(|only| only == base.id));
        found.extend(wanted.map(|base| (tenant.id, base.id, base.slug)));
    }
    match only {
        Some(id) if found.is_empty() => Err(Error::not_found(format!("no base has the id `{id}`"))),
        _ => Ok(found),
    }
}

/// One base.
struct One<'a> {
    core: &'a Arc<Core>,
    tenant: TenantId,
    kb: KbId,
    slug: String,
    out: &'a Sender<Told>,
}

impl One<'_> {
    async fn parse(&self, done: &mut Done) -> Result<()> {
        let (core, place) = (self.core, (self.tenant, self.kb));
        let asked = knowledge::documents::enqueue_readings(core, place).await?;
        loop {
            let left = knowledge::documents::readings_left(core, place, &asked).await?;
            let of = asked.len() as u64;
            self.tell("parse", of - left, of).await;
            if left == 0 {
                break;
            }
            tokio::time::sleep(TOLD_EVERY).await;
        }
        done.documents += asked.len() as u64;
        done.changed += knowledge::documents::readings_changed(core, place, &asked).await?;
        Ok(())
    }

    async fn index(&self, done: &mut Done) -> Result<()> {
        let core = self.core;
        let mut tx = core.db.read(self.tenant).await?;
        let of = faults::count_to_index(&mut tx, self.kb).await?;
        drop(tx);
        let indexed = Arc::new(AtomicU64::new(0));
        let building = core
            .indexes
            .rebuild(self.tenant, self.kb, Arc::clone(&indexed));
        let mut building = std::pin::pin!(building);
        loop {
            tokio::select! {
                built = &mut building => {
                    built?;
                    break;
                }
                () = tokio::time::sleep(TOLD_EVERY) => {
                    self.tell("index", indexed.load(Ordering::Relaxed), of).await;
                }
            }
        }
        let passages = indexed.load(Ordering::Relaxed);
        self.tell("index", passages, of.max(passages)).await;
        done.passages += passages;
        Ok(())
    }

    async fn tell(&self, step: &'static str, done: u64, of: u64) {
        let progress = Told::Progress {
            base: self.slug.clone(),
            step,
            done,
            of,
        };
        let _ = self.out.send(progress).await;
    }
}
