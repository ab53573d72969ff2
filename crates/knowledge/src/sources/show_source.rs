use kernel::{Base, Cx, Job, Method, Operation, Reply, Spec};
use model::{Error, KbId, RecordTime, Result, SourceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::sources::{self, Source, SourceKind};
use store::{Tx, jobs};

use super::{Outcome, PullSource, SourceInfo, known};

/// Show a source: what it was told, how many documents it has, and how its pull stands: when it is
/// due, what became of the last one, and which addresses could not be taken.
#[derive(Deserialize, JsonSchema)]
pub struct ShowSource {
    /// The source's id.
    source_id: SourceId,
}

/// A source and how it stands.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ShownSource {
    /// The source.
    #[serde(flatten)]
    pub source: SourceInfo,
    /// How its pull stands; null for other kinds.
    pub pull: Option<PullInfo>,
}

/// How the pull of a source stands.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct PullInfo {
    /// `waiting` for `due_at`, `running`, or `failed` when the last attempt was given up.
    pub state: String,
    /// When it is due, or was.
    pub due_at: Option<RecordTime>,
    /// Pages done in the pull that is under way.
    pub done: Option<u64>,
    /// Pages that this pull asks for.
    pub of: Option<u64>,
    /// When the last pull ended; null if none has.
    pub pulled_at: Option<RecordTime>,
    /// What became of the last pull.
    pub last: Option<Outcome>,
    /// Pages and lists that could not be taken when they were asked for last; at most 100.
    pub faults: Vec<Fault>,
}

/// Why an address could not be taken.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Fault {
    /// The address.
    pub url: String,
    /// Why it could not be taken, in a sentence.
    pub error: String,
}

/// Faults shown at most.
const FAULTS_MAX: u32 = 100;

impl PullInfo {
    pub(super) async fn of(tx: &mut Tx, kb: KbId, source: &Source) -> Result<Self> {
        let job = jobs::by_key(tx, kb, &PullSource::of(source).key(), 1)
            .await?
            .pop();
        let progress = job.as_ref().and_then(|job| job.progress.as_deref());
        let progress: Value = progress
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        let last = source
            .outcome
            .as_deref()
            .map(serde_json::from_str::<Outcome>);
        let last = last.transpose().map_err(Error::internal)?;
        let mut faults = last
            .as_ref()
            .map(|last| last.lists.clone())
            .unwrap_or_default();
        for page in sources::faults(tx, kb, source.id, FAULTS_MAX).await? {
            faults.push(Fault {
                url: page.url,
                error: page.fault.unwrap_or_default(),
            });
        }
        faults.truncate(FAULTS_MAX as usize);
        Ok(Self {
            state: job
                .as_ref()
                .map_or("failed", |job| job.state.name())
                .to_owned(),
            due_at: job.as_ref().map(|job| job.run_at),
            done: progress["done"].as_u64(),
            of: progress["of"].as_u64(),
            pulled_at: source.pulled_at,
            last,
            faults,
        })
    }

    fn lines(&self) -> String {
        let mut text = match (self.state.as_str(), self.due_at) {
            ("waiting", Some(due)) => format!("next pull {due}\n"),
            ("running", _) => {
                let (done, of) = (self.done.unwrap_or(0), self.of.unwrap_or(0));
                format!("pulling: {done} of {of} pages\n")
            }
            (state, _) => format!("pull {state}\n"),
        };
        if let (Some(at), Some(last)) = (self.pulled_at, &self.last) {
            text.push_str(&format!("last pull {at}: {}\n", last.line()));
        }
        for fault in &self.faults {
            text.push_str(&format!("{}: {}\n", fault.url, fault.error));
        }
        text
    }
}

impl Reply for ShownSource {
    fn text(&self) -> String {
        let pull = self.pull.as_ref().map(PullInfo::lines);
        self.source.line() + &pull.unwrap_or_default()
    }
}

impl Operation for ShowSource {
    type Target = Base;
    type Output = ShownSource;
    const SPEC: Spec = Spec::read("show_source", "Show a source")
        .route(Method::Get, "/kbs/{kb_id}/sources/{source_id}")
        .cli("source show", &["source_id"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<ShownSource> {
        cx.about("source", self.source_id);
        let kb = cx.target.id();
        let mut tx = cx.read().await?;
        let source = known(&mut tx, cx, self.source_id).await?;
        let count = sources::count(&mut tx, kb, source.id).await?;
        let pull = match source.kind {
            SourceKind::Pull => Some(PullInfo::of(&mut tx, kb, &source).await?),
            SourceKind::Push | SourceKind::Folder => None,
        };
        Ok(ShownSource {
            pull,
            source: SourceInfo::of(kb, source, count)?,
        })
    }
}
