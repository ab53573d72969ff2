use kernel::{Base, Cx, Job, Method, Operation, Spec};
use model::{Limit, Result, Role, SourceId};
use schemars::JsonSchema;
use serde::Deserialize;
use store::jobs;
use store::sources::{self, SourceKind};

use super::{
    PullSource, SourceInfo, Told, checked_name, known, name_is_taken, no_such_source, settings_of,
    text_of,
};

/// Change a source: its name or what it was told. Its documents stay as they are.
#[derive(Deserialize, JsonSchema)]
pub struct UpdateSource {
    /// The source's id.
    source_id: SourceId,
    /// Its new name.
    name: Option<String>,
    /// The folder that is watched from now on. Only for the kind `folder`.
    path: Option<String>,
    /// Pages to pull from now on, in place of those before. Only for the kind `pull`.
    urls: Option<Vec<String>>,
    /// What names pages to pull from now on, in place of those before. Only for the kind `pull`.
    lists: Option<Vec<String>>,
    /// Minutes from the end of one pull to the next. Only for the kind `pull`.
    interval_minutes: Option<Limit<1440, 43_200>>,
    /// Pages asked for in one pull at most. Only for the kind `pull`.
    pages_max: Option<Limit<200, 5000>>,
}

impl Operation for UpdateSource {
    type Target = Base;
    type Output = SourceInfo;
    const SPEC: Spec = Spec::write("update_source", "Change a source")
        .least(Role::Admin)
        .route(Method::Patch, "/kbs/{kb_id}/sources/{source_id}")
        .cli("source update", &["source_id"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<SourceInfo> {
        cx.about("source", self.source_id);
        let kb = cx.target.id();
        let mut tx = cx.write().await?;
        let source = known(&mut tx, cx, self.source_id).await?;
        let name = match &self.name {
            Some(name) => checked_name(name)?,
            None => source.name.clone(),
        };
        let told = Told {
            path: self.path,
            urls: self.urls,
            lists: self.lists,
            interval_minutes: self.interval_minutes,
            pages_max: self.pages_max,
        };
        let settings = told.onto(settings_of(&source)?, source.kind)?;
        if source.kind == SourceKind::Pull {
            // A shorter interval counts for the pull that waits already.
            let due = cx
                .now()
                .plus_seconds(i64::from(settings.interval_minutes()) * 60);
            let next = PullSource::of(&source);
            jobs::hasten(&mut tx, PullSource::KIND, &next.key(), due).await?;
        }
        sources::update(&mut tx, kb, source.id, &name, &text_of(&settings)?)
            .await
            .map_err(|error| name_is_taken(error, &name))?;
        let changed = sources::find(&mut tx, kb, source.id).await?;
        let changed = changed.ok_or_else(no_such_source)?;
        let count = sources::count(&mut tx, kb, source.id).await?;
        tx.commit(SourceInfo::of(kb, changed, count)?).await
    }
}
