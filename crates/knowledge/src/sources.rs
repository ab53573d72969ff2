//! Sources: where the documents of a base come from, and what a source says of them.

mod create_source;
mod delete_source;
mod list_source_items;
mod list_sources;
mod pages;
mod pull;
mod push_file;
mod push_items;
mod show_source;
mod start_pull;
mod take;
mod update_source;

use engine::library;
use kernel::{Base, Cx};
use model::{DocumentId, Error, KbId, Limit, RecordTime, Result, Role, SourceId};
use providers::fetch;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::sources::{self, ItemCount, Source, SourceKind};
use store::{StoreError, Tx};

pub use create_source::CreateSource;
pub use delete_source::{DeleteSource, DeletedSource, EmptySource};
pub use list_source_items::{ListSourceItems, SourceItem, SourceItems};
pub use list_sources::{ListSources, Sources};
pub use pull::{Outcome, PullSource};
pub use push_file::PushFile;
pub use push_items::{PushItem, PushItems, PushedItems};
pub use show_source::{ShowSource, ShownSource};
pub use start_pull::StartPull;
pub use update_source::UpdateSource;

/// How a source's documents come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Kind {
    /// A program sends them.
    #[default]
    Push,
    /// A folder is watched (`quipu ingest PATH --watch`), and what changes in it is sent.
    Folder,
    /// Pages of the web are fetched at intervals.
    Pull,
}

impl Kind {
    const fn stored(self) -> SourceKind {
        match self {
            Kind::Push => SourceKind::Push,
            Kind::Folder => SourceKind::Folder,
            Kind::Pull => SourceKind::Pull,
        }
    }
}

/// What a source was told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Settings {
    /// The folder that is watched, for people to recognise it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Pages that are pulled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<String>,
    /// Sitemaps, feeds and pages whose links are pulled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lists: Vec<String>,
    /// Minutes from the end of one pull to the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_minutes: Option<Limit<1440, 43_200>>,
    /// Pages asked for in one pull at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages_max: Option<Limit<200, 5000>>,
}

impl Settings {
    fn interval_minutes(&self) -> u32 {
        self.interval_minutes.unwrap_or_default().get()
    }

    fn pages_max(&self) -> usize {
        self.pages_max.unwrap_or_default().rows()
    }
}

/// Addresses that a source is told at most, pages and lists each.
const ADDRESSES_MAX: usize = 1000;
/// Longest address, in bytes: it is the page's key.
const ADDRESS_BYTES_MAX: usize = 1000;

/// The addresses as they will be asked for, each once.
fn checked_addresses(name: &str, given: &[String]) -> Result<Vec<String>> {
    if ADDRESSES_MAX < given.len() {
        let count = given.len();
        let sentence = format!("`{name}` must be at most {ADDRESSES_MAX} addresses, not {count}");
        return Err(Error::invalid(sentence));
    }
    let mut addresses = Vec::new();
    for (place, address) in (1..).zip(given) {
        let address = fetch::normal(address.trim())
            .map_err(|fault| Error::invalid(format!("`{name}`, number {place}: {fault}")))?;
        if ADDRESS_BYTES_MAX < address.len() {
            let sentence = format!(
                "`{name}`, number {place}: an address may have {ADDRESS_BYTES_MAX} bytes at most"
            );
            return Err(Error::invalid(sentence));
        }
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    Ok(addresses)
}

/// What a caller says of a source of one kind or another.
#[derive(Debug, Default)]
struct Told {
    path: Option<String>,
    urls: Option<Vec<String>>,
    lists: Option<Vec<String>>,
    interval_minutes: Option<Limit<1440, 43_200>>,
    pages_max: Option<Limit<200, 5000>>,
}

impl Told {
    /// The settings with what was said now.
    ///
    /// # Errors
    /// `invalid_argument` for what a source of that kind is not told, and for a pull of nothing.
    fn onto(self, settings: Settings, kind: SourceKind) -> Result<Settings> {
        let said = [
            ("path", self.path.is_some(), SourceKind::Folder),
            ("urls", self.urls.is_some(), SourceKind::Pull),
            ("lists", self.lists.is_some(), SourceKind::Pull),
            (
                "interval_minutes",
                self.interval_minutes.is_some(),
                SourceKind::Pull,
            ),
            ("pages_max", self.pages_max.is_some(), SourceKind::Pull),
        ];
        let wrong = said.iter().find(|(_, is_said, of)| *is_said && *of != kind);
        if let Some((name, _, of)) = wrong {
            let (of, kind) = (of.name(), kind.name());
            let sentence = format!("`{name}` is for a source of the kind `{of}`, not `{kind}`");
            return Err(Error::invalid(sentence));
        }
        let addresses = |name, said: Option<Vec<String>>, before: Vec<String>| match said {
            Some(said) => checked_addresses(name, &said),
            None => Ok(before),
        };
        let settings = Settings {
            path: self.path.or(settings.path),
            urls: addresses("urls", self.urls, settings.urls)?,
            lists: addresses("lists", self.lists, settings.lists)?,
            interval_minutes: self.interval_minutes.or(settings.interval_minutes),
            pages_max: self.pages_max.or(settings.pages_max),
        };
        if kind == SourceKind::Pull && settings.urls.is_empty() && settings.lists.is_empty() {
            let sentence = "a source of the kind `pull` needs `urls` or `lists` to pull from";
            return Err(Error::invalid(sentence));
        }
        Ok(settings)
    }
}

/// Where documents of a base come from.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct SourceInfo {
    /// The source's id.
    pub id: SourceId,
    /// The base it belongs to.
    pub kb_id: KbId,
    /// Its name.
    pub name: String,
    /// How its documents come: `push`, `folder` or `pull`.
    pub kind: String,
    /// The lowest role that sees it and its documents.
    pub least_role: Role,
    /// What it was told.
    pub settings: Settings,
    /// When it was made.
    pub created_at: RecordTime,
    /// Documents that it has.
    pub documents: u64,
    /// Documents that it had and no longer has.
    pub missing: u64,
}

impl SourceInfo {
    fn of(kb: KbId, source: Source, count: ItemCount) -> Result<Self> {
        Ok(Self {
            settings: settings_of(&source)?,
            id: source.id,
            kb_id: kb,
            name: source.name,
            kind: source.kind.name().to_owned(),
            least_role: source.least_role,
            created_at: source.created_at,
            documents: count.documents - count.missing,
            missing: count.missing,
        })
    }

    fn line(&self) -> String {
        let missing = match self.missing {
            0 => String::new(),
            missing => format!(", {missing} missing"),
        };
        format!(
            "{}  {}  {}  {} document(s){missing}\n",
            self.id, self.kind, self.name, self.documents
        )
    }
}

impl kernel::Reply for SourceInfo {
    fn text(&self) -> String {
        self.line()
    }
}

fn settings_of(source: &Source) -> Result<Settings> {
    serde_json::from_str(&source.settings).map_err(Error::internal)
}

fn text_of(settings: &Settings) -> Result<String> {
    serde_json::to_string(settings).map_err(Error::internal)
}

/// What became of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum PushAction {
    /// It was not known.
    Created,
    /// It has another content or date, or it was missing and came back.
    Updated,
    /// It has another name, and nothing else changed.
    Moved,
    /// It is what it was.
    Unchanged,
    /// It is no longer in its source, and deleted here; sending it again brings it back.
    MarkedMissing,
}

impl PushAction {
    const fn name(self) -> &'static str {
        match self {
            PushAction::Created => "created",
            PushAction::Updated => "updated",
            PushAction::Moved => "moved",
            PushAction::Unchanged => "unchanged",
            PushAction::MarkedMissing => "marked_missing",
        }
    }
}

impl From<library::PushAction> for PushAction {
    fn from(action: library::PushAction) -> Self {
        match action {
            library::PushAction::Created => PushAction::Created,
            library::PushAction::Updated => PushAction::Updated,
            library::PushAction::Moved => PushAction::Moved,
            library::PushAction::Unchanged => PushAction::Unchanged,
            library::PushAction::MarkedMissing => PushAction::MarkedMissing,
        }
    }
}

/// What became of a document that a source spoke of.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct PushedItem {
    /// Which document of the source it is; null if the item does not say.
    pub external_id: Option<String>,
    /// What became of it; null if it was refused.
    pub action: Option<PushAction>,
    /// The document's id; null if there is none.
    pub document_id: Option<DocumentId>,
    /// The document's latest version.
    pub version: Option<u32>,
    /// Why it was refused, in a sentence.
    pub error: Option<String>,
    /// The same as one of the codes of refusals.
    pub code: Option<String>,
}

impl PushedItem {
    /// What became of the document under `external_id`; a source that never had it lost nothing.
    fn of(external_id: &str, pushed: Option<library::Pushed>) -> Self {
        Self {
            external_id: Some(external_id.to_owned()),
            action: Some(pushed.map_or(PushAction::Unchanged, |pushed| pushed.action.into())),
            document_id: pushed.map(|pushed| pushed.document),
            version: pushed.map(|pushed| pushed.version),
            ..Self::default()
        }
    }

    fn refused(external_id: Option<String>, error: Error) -> Self {
        Self {
            external_id,
            error: Some(error.message),
            code: Some(error.code.name().to_owned()),
            ..Self::default()
        }
    }

    fn line(&self) -> String {
        let id = self.external_id.as_deref().unwrap_or("?");
        match (self.action, self.document_id, &self.error) {
            (Some(action), Some(document), _) => format!("{document}  {}  {id}\n", action.name()),
            (Some(action), None, _) => format!("{}  {id}\n", action.name()),
            (None, _, error) => {
                format!("refused  {id}: {}\n", error.as_deref().unwrap_or_default())
            }
        }
    }
}

impl kernel::Reply for PushedItem {
    fn text(&self) -> String {
        self.line()
    }
}

/// The sentence for a source that is not there or not for the caller.
fn no_such_source() -> Error {
    Error::not_found("no source with that id")
}

/// The source as the caller may know of it.
async fn known(tx: &mut Tx, cx: &Cx<'_, Base>, id: SourceId) -> Result<Source> {
    let role = cx.target.role();
    let source = sources::find(tx, cx.target.id(), id).await?;
    source
        .filter(|source| source.least_role <= role)
        .ok_or_else(no_such_source)
}

/// Longest name of a source, in characters.
const NAME_LENGTH_MAX: usize = 200;

fn checked_name(name: &str) -> Result<String> {
    let name = name.trim();
    let length = name.chars().count();
    if length == 0 || NAME_LENGTH_MAX < length || name.chars().any(char::is_control) {
        let sentence = format!("`name` must be one line of 1 to {NAME_LENGTH_MAX} characters");
        return Err(Error::invalid(sentence));
    }
    Ok(name.to_owned())
}

/// The refusal of a name that another source of the base has.
fn name_is_taken(error: StoreError, name: &str) -> Error {
    match error {
        StoreError::Unique(_) => Error::new(
            model::Code::Conflict,
            format!("the base has a source called `{name}`; take another name"),
        ),
        other => other.into(),
    }
}
