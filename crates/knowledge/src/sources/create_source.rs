use kernel::{Base, Cx, Method, Operation, Spec, job};
use model::{Limit, Result, Role, SourceId};
use schemars::JsonSchema;
use serde::Deserialize;
use store::sources::{self, ItemCount, NewSource};

use super::{
    Kind, PullSource, Settings, SourceInfo, Told, checked_name, name_is_taken, no_such_source,
    text_of,
};
use crate::documents::at_most;

/// Make a source: a place outside that documents of this base come from. What it sends is known
/// by the source's own ids, so two sources never get in each other's way. A source of the kind
/// `pull` begins at once; only addresses of the public web are asked, unless the operator allows
/// others.
#[derive(Deserialize, JsonSchema)]
pub struct CreateSource {
    /// Its name for people, and on the command line.
    name: String,
    /// How its documents come; `push` if absent.
    #[serde(default)]
    kind: Kind,
    /// The lowest role that is to see it and its documents, at most your own; `viewer` if absent.
    least_role: Option<Role>,
    /// The folder that is watched, for people to recognise it. Only for the kind `folder`.
    path: Option<String>,
    /// Pages to pull. Only for the kind `pull`, which needs these or `lists`.
    urls: Option<Vec<String>>,
    /// What names pages to pull: sitemaps, RSS or Atom feeds, or pages whose links within their
    /// own host are followed, one step far. Only for the kind `pull`.
    lists: Option<Vec<String>>,
    /// Minutes from the end of one pull to the next; a day if absent. Only for the kind `pull`.
    interval_minutes: Option<Limit<1440, 43_200>>,
    /// Pages asked for in one pull at most; 200 if absent. Only for the kind `pull`.
    pages_max: Option<Limit<200, 5000>>,
}

impl Operation for CreateSource {
    type Target = Base;
    type Output = SourceInfo;
    const SPEC: Spec = Spec::write("create_source", "Make a source")
        .least(Role::Admin)
        .route(Method::Post, "/kbs/{kb_id}/sources")
        .idempotency_key()
        .cli("source create", &["name"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<SourceInfo> {
        let kb = cx.target.id();
        let name = checked_name(&self.name)?;
        at_most(cx.target.role(), self.least_role)?;
        let told = Told {
            path: self.path,
            urls: self.urls,
            lists: self.lists,
            interval_minutes: self.interval_minutes,
            pages_max: self.pages_max,
        };
        let settings = text_of(&told.onto(Settings::default(), self.kind.stored())?)?;
        let source = NewSource {
            id: SourceId::new(cx.ids.next()),
            name: &name,
            kind: self.kind.stored(),
            least_role: self.least_role.unwrap_or(Role::Viewer),
            settings: &settings,
            created_at: cx.now(),
        };
        cx.about("source", source.id);
        let mut tx = cx.write().await?;
        sources::insert(&mut tx, kb, &source)
            .await
            .map_err(|error| name_is_taken(error, &name))?;
        if self.kind == Kind::Pull {
            let first = PullSource::first(source.id);
            job::enqueue(cx, &mut tx, Some(kb), &first).await?;
        }
        let made = sources::find(&mut tx, kb, source.id).await?;
        let made = made.ok_or_else(no_such_source)?;
        let info = SourceInfo::of(kb, made, ItemCount::default())?;
        tx.commit(info).await
    }
}
