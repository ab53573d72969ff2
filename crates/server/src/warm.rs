//! Keeping this server's search caches near their bases: what others write is followed in the
//! background, and what was purged elsewhere leaves this machine's files too.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kernel::job;
use model::{KbId, RecordTime};
use store::bases::{self, Head};
use store::models;
use tokio::sync::watch;

use crate::app::App;
use crate::http::listen::ended;

/// How often the bases' heads are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Which bases' search caches are kept ready before anybody asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warm {
    /// Every base's.
    All,
    /// Those with these ids or slugs; none if there are none.
    Named(Vec<String>),
}

impl Warm {
    /// From the words of the setting.
    pub fn of(words: &[String]) -> Self {
        match words {
            [word] if word == "all" => Warm::All,
            words => Warm::Named(words.to_vec()),
        }
    }

    fn names(&self, base: &Head) -> bool {
        match self {
            Warm::All => true,
            Warm::Named(words) => words
                .iter()
                .any(|word| word.eq_ignore_ascii_case(&base.slug) || *word == base.kb.to_string()),
        }
    }
}

impl fmt::Display for Warm {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warm::All => out.write_str("all"),
            Warm::Named(words) => out.write_str(&words.join(",")),
        }
    }
}

/// Follows the bases until the end is asked for.
pub async fn follow(app: Arc<App>, end: watch::Receiver<bool>) {
    let mut seen = HashMap::new();
    loop {
        match look(&app, &mut seen).await {
            Ok(behind) => {
                metrics::gauge!("quipu_bases_behind").set(behind.all as f64);
                // Once ready it stays so: a base that is written to is behind now and then.
                if behind.warm == 0 {
                    app.readiness.is_warm.store(true, Ordering::Relaxed);
                }
            }
            Err(error) => {
                tracing::warn!(cause = %job::describe(&error), "the bases could not be looked at");
            }
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = ended(end.clone()) => return,
        }
    }
}

/// Bases whose cache here does not know their last write.
#[derive(Debug, Default)]
struct Behind {
    all: usize,
    /// Those of them that are to be kept ready.
    warm: usize,
}

/// Has the cache of every base that this server keeps or has one of brought up. `seen` are the
/// heads that others' caches were found to have nothing to do with.
async fn look(app: &App, seen: &mut HashMap<KbId, RecordTime>) -> model::Result<Behind> {
    let core = &app.core;
    // Where nobody else writes, only this server purges, and sees to its files by itself.
    let is_alone = app.settings.embedded();
    let heads = bases::heads(&mut core.db.read_directory().await?).await?;
    let mut behind = Behind::default();
    for base in heads {
        let is_warm = app.settings.warm_bases.names(&base);
        if !is_warm && seen.get(&base.kb) == Some(&base.clock) {
            continue;
        }
        let mut tx = core.db.read(base.tenant).await?;
        let serving = models::of_base(&mut tx, base.kb).await?.serving;
        drop(tx);
        // Vectors that no question can be compared with are not read.
        let serving = serving.filter(|serving| core.embedders.by_tag(&serving.model).is_some());
        let serving = serving.as_ref();
        if core.indexes.covers(base.kb, base.clock, serving) {
            seen.insert(base.kb, base.clock);
            continue;
        }
        if is_warm {
            core.indexes.keep(base.tenant, base.kb);
        } else if !core.indexes.is_open(base.kb) && (is_alone || !core.indexes.has_files(base.kb)) {
            seen.insert(base.kb, base.clock);
            continue;
        }
        behind.all += 1;
        behind.warm += usize::from(is_warm);
        core.indexes.follow(base.tenant, base.kb, serving);
    }
    Ok(behind)
}

#[cfg(test)]
mod tests {
    use model::TenantId;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_base_is_kept_ready_by_its_id_or_slug() {
        let base = Head {
            tenant: TenantId::new(Uuid::from_u128(1)),
            kb: KbId::new(Uuid::from_u128(2)),
            slug: "papers".to_owned(),
            clock: RecordTime::from_micros(0),
        };
        let names = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            Warm::of(&words).names(&base)
        };

        assert!(names(&["all"]) && names(&["notes", "Papers"]));
        assert!(names(&["00000000-0000-0000-0000-000000000002"]));
        assert!(!names(&[]) && !names(&["notes"]));
    }
}
