//! Settings: flags over environment over file over default, each value with where it came from.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use etcetera::BaseStrategy;
use store::blobs::{self, Access, Bucket, Patience};

use crate::warm::Warm;
use providers::Network;

mod models;

pub use models::{ENDPOINT, ModelSetting};

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody said anything.
    Default,
    /// The settings file.
    File(PathBuf),
    /// A variable of the environment.
    Environment(&'static str),
    /// A flag of the command line.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => out.write_str("default"),
            Origin::File(path) => write!(out, "file {}", path.display()),
            Origin::Environment(name) => write!(out, "environment {name}"),
            Origin::Flag(name) => write!(out, "flag --{name}"),
        }
    }
}

/// A setting: its name in the file, its variable, its default and what it means.
pub struct Setting {
    /// Name in the file: in its table `[server]`, or `table.name` in a table of its own.
    pub key: &'static str,
    /// Variable of the environment; with `_FILE` behind it, a file that holds the value.
    pub variable: &'static str,
    /// Flag of the command line, for those that have one.
    pub flag: Option<&'static str>,
    /// What it means.
    pub meaning: &'static str,
    /// Whether its value may hold a secret and is never printed.
    pub secret: bool,
}

macro_rules! settings {
    ($($constant:ident = $key:literal $variable:literal $flag:expr, $secret:literal, $meaning:literal;)*) => {
        $(pub const $constant: &str = $key;)*
        /// Every setting, in the order of the manual.
        pub const SETTINGS: &[Setting] = &[
            $(Setting { key: $key, variable: $variable, flag: $flag, meaning: $meaning, secret: $secret },)*
        ];
    };
}

settings! {
    DATA = "data" "QUIPU_DATA" Some("data"), false, "the data folder";
    LISTEN = "listen" "QUIPU_LISTEN" Some("listen"), false, "address and port to serve on";
    DATABASE = "database" "QUIPU_DATABASE" Some("database"), true, "`postgres://…`, or nothing for SQLite in the data folder";
    PUBLIC_URL = "public_url" "QUIPU_PUBLIC_URL" Some("public-url"), false, "the address by which people and agents reach this server";
    ALLOWED_HOSTS = "allowed_hosts" "QUIPU_ALLOWED_HOSTS" None, false, "further names this server answers to, with commas between";
    ALLOWED_ORIGINS = "allowed_origins" "QUIPU_ALLOWED_ORIGINS" None, false, "web origins whose pages may call this server, with commas between";
    METRICS_LISTEN = "metrics_listen" "QUIPU_METRICS_LISTEN" Some("metrics-listen"), false, "address and port to serve metrics on; nothing for none";
    UPLOAD_BYTES_MAX = "upload_bytes_max" "QUIPU_UPLOAD_BYTES_MAX" None, false, "largest document, in bytes";
    BODY_BYTES_MAX = "body_bytes_max" "QUIPU_BODY_BYTES_MAX" None, false, "largest body of any other request, in bytes";
    BODY_STRETCH_SECONDS = "body_stretch_seconds" "QUIPU_BODY_STRETCH_SECONDS" None, false, "seconds within which each 32 KiB of a body must arrive";
    CALLS_PER_MINUTE = "calls_per_minute" "QUIPU_CALLS_PER_MINUTE" None, false, "calls a token may make in a minute; 0 for no bound";
    NODE = "node" "QUIPU_NODE" Some("node"), false, "this server's name in logs and metrics, where several share a database; the machine's name and the port if empty";
    WORKER = "worker" "QUIPU_WORKER" None, false, "`true` or `false`: whether this server reads, indexes and embeds what was added, and tidies up";
    WARM_BASES = "warm_bases" "QUIPU_WARM_BASES" None, false, "bases to keep ready for searching: `all`, or ids and slugs with commas between; nothing for those that are asked for";
    BLOBS_URL = "blobs.url" "QUIPU_BLOBS_URL" None, false, "`s3://bucket/prefix` for the documents' bytes, or nothing for a folder in the data folder";
    BLOBS_ENDPOINT = "blobs.endpoint" "QUIPU_BLOBS_ENDPOINT" None, false, "the address of an S3-compatible store; nothing for Amazon's";
    BLOBS_REGION = "blobs.region" "QUIPU_BLOBS_REGION" None, false, "the bucket's region";
    BLOBS_PATH_STYLE = "blobs.path_style" "QUIPU_BLOBS_PATH_STYLE" None, false, "`true` or `false`: whether the bucket stands in the path of the address; `true` where `blobs.endpoint` is set";
    BLOBS_ACCESS_KEY_ID = "blobs.access_key_id" "QUIPU_BLOBS_ACCESS_KEY_ID" None, true, "the access key; without one the machine's role is used";
    BLOBS_SECRET_ACCESS_KEY = "blobs.secret_access_key" "QUIPU_BLOBS_SECRET_ACCESS_KEY" None, true, "the access key's secret half";
    BLOBS_SESSION_TOKEN = "blobs.session_token" "QUIPU_BLOBS_SESSION_TOKEN" None, true, "the token that comes with a key for a while";
    FETCH_NETWORKS = "fetch_networks" "QUIPU_FETCH_NETWORKS" None, false, "addresses that sources may pull from although they are not public, such as `10.1.0.0/16`, with commas between";
    FETCH_PORTS = "fetch_ports" "QUIPU_FETCH_PORTS" None, false, "ports that sources may pull from, with commas between";
    MODEL = "model" "QUIPU_MODEL" None, false, "the embedding model: `local`, `none`, `endpoint`, or the NAME of a table `[models.NAME]`; followed when it changes";
    EMBEDDING_URL = "embedding_url" "QUIPU_EMBEDDING_URL" None, false, "address of an OpenAI-compatible embeddings endpoint: the model `endpoint`";
    EMBEDDING_MODEL = "embedding_model" "QUIPU_EMBEDDING_MODEL" None, false, "the model's name at that endpoint";
    EMBEDDING_WIDTH = "embedding_width" "QUIPU_EMBEDDING_WIDTH" None, false, "how many numbers its vectors have";
    EMBEDDING_KEY = "embedding_key" "QUIPU_EMBEDDING_KEY" None, true, "the endpoint's key, sent as a bearer token";
    EMBEDDING_QUERY_PREFIX = "embedding_query_prefix" "QUIPU_EMBEDDING_QUERY_PREFIX" None, false, "set before a question, such as `query: `";
    EMBEDDING_PASSAGE_PREFIX = "embedding_passage_prefix" "QUIPU_EMBEDDING_PASSAGE_PREFIX" None, false, "set before a passage, such as `passage: `";
    EMBEDDING_LANGUAGES = "embedding_languages" "QUIPU_EMBEDDING_LANGUAGES" None, false, "languages the model was trained on, as codes such as `en`, with commas between; nothing for any";
    LOG_LEVEL = "log_level" "QUIPU_LOG_LEVEL" None, false, "`error`, `warn`, `info`, `debug`, or a filter such as `info,store=debug`";
    LOG_FORMAT = "log_format" "QUIPU_LOG_FORMAT" None, false, "`text` or `json`";
}

/// What other programs call a variable, which is heeded if ours is not set.
fn known_elsewhere(variable: &str) -> &'static [&'static str] {
    match variable {
        "QUIPU_BLOBS_REGION" => &["AWS_REGION", "AWS_DEFAULT_REGION"],
        "QUIPU_BLOBS_ACCESS_KEY_ID" => &["AWS_ACCESS_KEY_ID"],
        "QUIPU_BLOBS_SECRET_ACCESS_KEY" => &["AWS_SECRET_ACCESS_KEY"],
        "QUIPU_BLOBS_SESSION_TOKEN" => &["AWS_SESSION_TOKEN"],
        _ => &[],
    }
}

/// A value as it was found.
#[derive(Debug, Clone)]
struct Found {
    text: String,
    origin: Origin,
}

/// All settings, checked.
#[derive(Clone)]
pub struct Settings {
    /// The data folder.
    pub data: PathBuf,
    /// Address to serve on.
    pub listen: SocketAddr,
    /// The database's URL.
    pub database: String,
    /// The address people use, without a slash at its end.
    pub public_url: String,
    /// Further names this server answers to.
    pub allowed_hosts: Vec<String>,
    /// Web origins whose pages may call.
    pub allowed_origins: Vec<String>,
    /// Address to serve metrics on.
    pub metrics_listen: Option<SocketAddr>,
    /// Largest document, in bytes.
    pub upload_bytes_max: u64,
    /// Largest other body, in bytes.
    pub body_bytes_max: usize,
    /// Time within which each 32 KiB of a body must arrive.
    pub body_stretch_within: Duration,
    /// Calls a token may make in a minute.
    pub calls_per_minute: Option<NonZeroU32>,
    /// This server's name in logs and metrics.
    pub node: String,
    /// Whether this server does the work in the queue.
    pub worker: bool,
    /// Which bases' search caches are kept ready.
    pub warm_bases: Warm,
    /// The bucket for the documents' bytes; none for a folder in the data folder.
    pub bucket: Option<Bucket>,
    /// Addresses that may be pulled from although they are not public.
    pub fetch_networks: Vec<Network>,
    /// Ports that may be pulled from.
    pub fetch_ports: Vec<u16>,
    /// Name of the embedding model to use.
    pub model: Option<String>,
    /// The embedding models at endpoints.
    pub endpoints: Vec<ModelSetting>,
    /// The log's filter.
    pub log_level: String,
    /// Whether the log is JSON.
    pub log_json: bool,
    shown: Vec<Shown>,
}

/// A setting with its value, as `config show` prints it.
#[derive(Debug, Clone, serde::Serialize, schemars::JsonSchema)]
pub struct Shown {
    /// Its name in the settings file.
    pub key: String,
    /// Its value; secrets are masked.
    pub value: String,
    /// Where the value came from.
    pub origin: String,
}

/// What is wrong with the settings.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the settings file {path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file is no TOML.
    #[error("the settings file {path} is no TOML: {source}")]
    NotToml {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: Box<toml::de::Error>,
    },
    /// The file has a key that no setting has.
    #[error("the settings file {path} has `{key}`, which is no setting; did you mean `{near}`?")]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// The nearest known one.
        near: &'static str,
    },
    /// A value is not what it should be.
    #[error("`{key}` ({origin}) must be {right}, not `{shown}`")]
    Wrong {
        /// The setting.
        key: &'static str,
        /// Where the value came from.
        origin: Origin,
        /// What would be right.
        right: &'static str,
        /// The value, masked if it may hold a secret.
        shown: String,
    },
    /// Values contradict one another.
    #[error("{0}")]
    Contradiction(String),
    /// The platform names no folder for data.
    #[error("no home folder found; name the data folder with --data or QUIPU_DATA")]
    NoHome,
}

/// What the command line and the environment say.
pub struct Sources<'a> {
    /// Flags that were given: name without dashes, value.
    pub flags: BTreeMap<&'static str, String>,
    /// Looks a variable of the environment up.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    /// The settings file named by `--config` or `QUIPU_CONFIG`.
    pub file: Option<PathBuf>,
}

/// The settings file's name inside the data folder.
const FILE_NAME: &str = "quipu.toml";

impl Settings {
    /// Reads and checks all settings.
    ///
    /// # Errors
    /// A sentence naming the setting, where its value came from, and what would be right.
    pub fn read(sources: &Sources<'_>) -> Result<Self, ConfigError> {
        let data = match find(sources, None, &SETTINGS[0])? {
            Some(found) => found,
            None => Found {
                text: default_data()?.display().to_string(),
                origin: Origin::Default,
            },
        };
        let named = sources
            .file
            .clone()
            .or_else(|| (sources.environment)("QUIPU_CONFIG").map(PathBuf::from));
        let path = named
            .clone()
            .unwrap_or_else(|| Path::new(&data.text).join(FILE_NAME));
        let table = read_file(&path, named.is_some())?;
        let file = table.as_ref().map(|table| own_table(&path, table));
        let file = file.transpose()?;
        let mut values = Values {
            found: BTreeMap::new(),
        };
        values.found.insert(DATA, data);
        for setting in &SETTINGS[1..] {
            if let Some(found) = find(
                sources,
                file.as_ref().map(|table| (path.as_path(), table)),
                setting,
            )? {
                values.found.insert(setting.key, found);
            }
        }
        let described = table.as_ref().and_then(|table| table.get("models"));
        let mut settings = values.check()?;
        settings
            .endpoints
            .extend(models::of_table(described, sources.environment));
        Ok(settings)
    }

    /// Every setting with its value and where it came from; secrets masked.
    pub fn shown(&self) -> &[Shown] {
        &self.shown
    }

    /// The folder of the embedding model.
    pub fn models(&self) -> PathBuf {
        self.data.join("models")
    }

    /// Whether the database is a file of the data folder.
    pub fn embedded(&self) -> bool {
        self.database.starts_with("sqlite:")
    }
}

fn default_data() -> Result<PathBuf, ConfigError> {
    let folders = etcetera::choose_base_strategy().map_err(|_| ConfigError::NoHome)?;
    Ok(folders.data_dir().join("quipu"))
}

fn read_file(path: &Path, must_exist: bool) -> Result<Option<toml::Table>, ConfigError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !must_exist => {
            return Ok(None);
        }
        Err(source) => {
            return Err(ConfigError::Unreadable {
                path: path.to_owned(),
                source,
            });
        }
    };
    let table = text.parse().map_err(|source| ConfigError::NotToml {
        path: path.to_owned(),
        source: Box::new(source),
    })?;
    Ok(Some(table))
}

/// The values of settings in the file, by their keys.
fn own_table(path: &Path, table: &toml::Table) -> Result<toml::Table, ConfigError> {
    let own = flat(table);
    for key in own.keys() {
        if !SETTINGS.iter().any(|setting| setting.key == key) {
            let distance = |setting: &&Setting| strsim::damerau_levenshtein(setting.key, key);
            let near = SETTINGS
                .iter()
                .min_by_key(distance)
                .map_or("", |setting| setting.key);
            return Err(ConfigError::Unknown {
                path: path.to_owned(),
                key: key.clone(),
                near,
            });
        }
    }
    Ok(own)
}

/// The file's values by the keys of settings. Tables that no setting is in belong to others: the
/// client's live in the same file.
fn flat(table: &toml::Table) -> toml::Table {
    let is_ours = |name: &str| {
        let mut keys = SETTINGS.iter().map(|setting| setting.key);
        keys.any(|key| key.split_once('.').is_some_and(|(table, _)| table == name))
    };
    let mut own = toml::Table::new();
    for (name, value) in table {
        let prefix = match name.as_str() {
            "server" => String::new(),
            name if is_ours(name) => format!("{name}."),
            _ => continue,
        };
        if let toml::Value::Table(values) = value {
            for (key, value) in values {
                own.insert(format!("{prefix}{key}"), value.clone());
            }
        }
    }
    own
}

/// The value of a setting: flag, variable, variable's file, settings file.
fn find(
    sources: &Sources<'_>,
    file: Option<(&Path, &toml::Table)>,
    setting: &Setting,
) -> Result<Option<Found>, ConfigError> {
    if let Some((flag, text)) = setting
        .flag
        .and_then(|flag| Some((flag, sources.flags.get(flag)?)))
    {
        return Ok(Some(Found {
            text: text.clone(),
            origin: Origin::Flag(flag),
        }));
    }
    let from_environment = |variable: &'static str| {
        let text = (sources.environment)(variable).filter(|text| !text.is_empty());
        text.map(|text| Found {
            text,
            origin: Origin::Environment(variable),
        })
    };
    if let Some(found) = from_environment(setting.variable) {
        return Ok(Some(found));
    }
    if let Some(path) = (sources.environment)(&format!("{}_FILE", setting.variable)) {
        let path = PathBuf::from(path);
        let text = std::fs::read_to_string(&path).map_err(|source| ConfigError::Unreadable {
            path: path.clone(),
            source,
        })?;
        return Ok(Some(Found {
            text: text.trim().to_owned(),
            origin: Origin::File(path),
        }));
    }
    let value = file.and_then(|(path, table)| Some((path, table.get(setting.key)?)));
    let elsewhere = known_elsewhere(setting.variable);
    let other = elsewhere.iter().find_map(|name| from_environment(name));
    let in_file = value.map(|(path, value)| Found {
        text: match value {
            toml::Value::String(text) => text.clone(),
            toml::Value::Array(list) => {
                let words = list
                    .iter()
                    .map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned));
                words.collect::<Vec<_>>().join(",")
            }
            other => other.to_string(),
        },
        origin: Origin::File(path.to_owned()),
    });
    Ok(in_file.or(other))
}

struct Values {
    found: BTreeMap<&'static str, Found>,
}

impl Values {
    fn text(&self, key: &str) -> Option<&str> {
        self.found
            .get(key)
            .map(|found| found.text.as_str())
            .filter(|text| !text.is_empty())
    }

    fn parsed<T: std::str::FromStr>(
        &self,
        key: &'static str,
        right: &'static str,
    ) -> Result<Option<T>, ConfigError> {
        let Some(found) = self.found.get(key).filter(|found| !found.text.is_empty()) else {
            return Ok(None);
        };
        let wrong = |_| ConfigError::Wrong {
            key,
            origin: found.origin.clone(),
            right,
            shown: found.text.clone(),
        };
        found.text.trim().parse().map(Some).map_err(wrong)
    }

    /// A list whose every word must be right; none where nothing was said.
    fn parsed_list<T: std::str::FromStr>(
        &self,
        key: &'static str,
        right: &'static str,
    ) -> Result<Option<Vec<T>>, ConfigError> {
        let Some(found) = self.found.get(key).filter(|found| !found.text.is_empty()) else {
            return Ok(None);
        };
        let words = self.list(key);
        let read = words.iter().map(|word| word.parse().ok());
        let read = read.collect::<Option<Vec<T>>>().map(Some);
        read.ok_or_else(|| ConfigError::Wrong {
            key,
            origin: found.origin.clone(),
            right,
            shown: found.text.clone(),
        })
    }

    fn list(&self, key: &str) -> Vec<String> {
        let words = self.text(key).unwrap_or_default().split(',').map(str::trim);
        words
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    }

    fn check(self) -> Result<Settings, ConfigError> {
        let data = PathBuf::from(self.text(DATA).ok_or(ConfigError::NoHome)?);
        let address = "an address with a port such as `127.0.0.1:7341`";
        let listen = self.parsed(LISTEN, address)?.unwrap_or(DEFAULT_LISTEN);
        let database = match self.text(DATABASE) {
            Some(url) if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
                url.to_owned()
            }
            Some(url) if url.starts_with("sqlite:") => url.to_owned(),
            Some(_) => {
                return Err(ConfigError::Wrong {
                    key: DATABASE,
                    origin: self.found[DATABASE].origin.clone(),
                    right: "`postgres://user:password@host/name`, or nothing for SQLite",
                    shown: "…".to_owned(),
                });
            }
            None => format!("sqlite:{}", data.join("quipu.sqlite").display()),
        };
        let worker = self.truth(WORKER)?.unwrap_or(true);
        if !worker && database.starts_with("sqlite:") {
            return Err(ConfigError::Contradiction(format!(
                "`{WORKER}` is false, but no other server has this SQLite database to do the work: set `{DATABASE}` to a PostgreSQL, or leave `{WORKER}` out"
            )));
        }
        let public_url = match self.text(PUBLIC_URL) {
            Some(url) => checked_url(url, &self.found[PUBLIC_URL].origin)?,
            None if listen.ip().is_loopback() => format!("http://{listen}"),
            None => {
                return Err(ConfigError::Contradiction(format!(
                    "`listen` is {listen}, which others can reach: say by which address, with `public_url` (QUIPU_PUBLIC_URL)"
                )));
            }
        };
        let endpoint = self.endpoint();
        let named = self.text(MODEL).map(str::to_owned);
        let mut settings = Settings {
            // Whoever describes the one endpoint means it to be used.
            model: named.or_else(|| endpoint.as_ref().map(|endpoint| endpoint.name.clone())),
            endpoints: endpoint.into_iter().collect(),
            data,
            listen,
            database,
            public_url,
            allowed_hosts: self.list(ALLOWED_HOSTS),
            allowed_origins: self.list(ALLOWED_ORIGINS),
            metrics_listen: self.parsed(METRICS_LISTEN, address)?,
            upload_bytes_max: self
                .parsed(UPLOAD_BYTES_MAX, "a number of bytes")?
                .unwrap_or(100 * 1024 * 1024),
            body_bytes_max: self
                .parsed(BODY_BYTES_MAX, "a number of bytes")?
                .unwrap_or(4 * 1024 * 1024),
            body_stretch_within: self
                .parsed::<NonZeroU32>(BODY_STRETCH_SECONDS, "a whole number of seconds above 0")?
                .map_or(DEFAULT_BODY_STRETCH, |seconds| {
                    Duration::from_secs(seconds.get().into())
                }),
            calls_per_minute: self
                .parsed::<u32>(CALLS_PER_MINUTE, "a whole number")?
                .and_then(NonZeroU32::new),
            node: match self.text(NODE) {
                Some(name) => name.trim().to_owned(),
                None => format!("{}:{}", machine_name(), listen.port()),
            },
            worker,
            warm_bases: Warm::of(&self.list(WARM_BASES)),
            bucket: self.bucket()?,
            fetch_networks: self
                .parsed_list(FETCH_NETWORKS, "networks such as `10.1.0.0/16, fd00::/8`")?
                .unwrap_or_default(),
            fetch_ports: self
                .parsed_list(FETCH_PORTS, "port numbers such as `80, 443`")?
                .unwrap_or(vec![80, 443]),
            log_level: self.text(LOG_LEVEL).unwrap_or("info").to_owned(),
            log_json: self.log_json()?,
            shown: Vec::new(),
        };
        settings.shown = self.show(&settings);
        Ok(settings)
    }

    /// The model that the flat settings describe, if they do.
    fn endpoint(&self) -> Option<ModelSetting> {
        let url = self.text(EMBEDDING_URL)?.to_owned();
        let text = |key: &str| self.text(key).unwrap_or_default().to_owned();
        let described = models::Described {
            url,
            model: text(EMBEDDING_MODEL),
            width: text(EMBEDDING_WIDTH).trim().parse().unwrap_or_default(),
            key: self.text(EMBEDDING_KEY).map(str::to_owned),
            query_prefix: text(EMBEDDING_QUERY_PREFIX),
            passage_prefix: text(EMBEDDING_PASSAGE_PREFIX),
            languages: self.list(EMBEDDING_LANGUAGES),
            ..models::Described::default()
        };
        Some(described.named(ENDPOINT, &|_| None))
    }

    fn truth(&self, key: &'static str) -> Result<Option<bool>, ConfigError> {
        self.parsed(key, "`true` or `false`")
    }

    /// The bucket that the table `[blobs]` names.
    fn bucket(&self) -> Result<Option<Bucket>, ConfigError> {
        let Some(url) = self.text(BLOBS_URL) else {
            if let Some(endpoint) = self.text(BLOBS_ENDPOINT) {
                return Err(ConfigError::Contradiction(format!(
                    "`{BLOBS_ENDPOINT}` is {endpoint}, but no bucket is named: say which, with `{BLOBS_URL} = \"s3://bucket\"`"
                )));
            }
            return Ok(None);
        };
        let wrong = |key: &'static str, right, shown: &str| ConfigError::Wrong {
            key,
            origin: self.found[key].origin.clone(),
            right,
            shown: shown.to_owned(),
        };
        let right = "`s3://bucket` or `s3://bucket/prefix`, or nothing for a folder";
        let shown = masked_url(url);
        let (name, prefix) = blobs::split_url(url).map_err(|_| wrong(BLOBS_URL, right, &shown))?;
        let endpoint = match self.text(BLOBS_ENDPOINT) {
            Some(address) if is_address(address) => Some(address.trim_end_matches('/').to_owned()),
            Some(other) => {
                let right = "an address such as `https://s3.example.org`";
                return Err(wrong(BLOBS_ENDPOINT, right, &masked_url(other)));
            }
            None => None,
        };
        let access = match (
            self.text(BLOBS_ACCESS_KEY_ID),
            self.text(BLOBS_SECRET_ACCESS_KEY),
        ) {
            (Some(id), Some(secret)) => Some(Access {
                id: id.to_owned(),
                secret: secret.into(),
                session: self.text(BLOBS_SESSION_TOKEN).map(Into::into),
            }),
            (None, None) => None,
            (Some(_), None) => {
                return Err(ConfigError::Contradiction(format!(
                    "`{BLOBS_ACCESS_KEY_ID}` is set without `{BLOBS_SECRET_ACCESS_KEY}`, its other half"
                )));
            }
            (None, Some(_)) => {
                return Err(ConfigError::Contradiction(format!(
                    "`{BLOBS_SECRET_ACCESS_KEY}` is set without `{BLOBS_ACCESS_KEY_ID}`, its other half"
                )));
            }
        };
        Ok(Some(Bucket {
            name: name.to_owned(),
            prefix: prefix.to_owned(),
            path_style: self.truth(BLOBS_PATH_STYLE)?.unwrap_or(endpoint.is_some()),
            region: self.text(BLOBS_REGION).map(str::to_owned),
            endpoint,
            access,
            patience: Patience::default(),
        }))
    }

    fn log_json(&self) -> Result<bool, ConfigError> {
        match self.text(LOG_FORMAT) {
            None | Some("text") => Ok(false),
            Some("json") => Ok(true),
            Some(other) => Err(ConfigError::Wrong {
                key: LOG_FORMAT,
                origin: self.found[LOG_FORMAT].origin.clone(),
                right: "`text` or `json`",
                shown: other.to_owned(),
            }),
        }
    }

    fn show(&self, settings: &Settings) -> Vec<Shown> {
        let bucket = settings.bucket.as_ref();
        let value_of = |key: &str| match key {
            DATA => settings.data.display().to_string(),
            LISTEN => settings.listen.to_string(),
            DATABASE => masked_url(&settings.database),
            PUBLIC_URL => settings.public_url.clone(),
            ALLOWED_HOSTS => settings.allowed_hosts.join(","),
            ALLOWED_ORIGINS => settings.allowed_origins.join(","),
            METRICS_LISTEN => settings
                .metrics_listen
                .map(|at| at.to_string())
                .unwrap_or_default(),
            UPLOAD_BYTES_MAX => settings.upload_bytes_max.to_string(),
            BODY_BYTES_MAX => settings.body_bytes_max.to_string(),
            BODY_STRETCH_SECONDS => settings.body_stretch_within.as_secs().to_string(),
            CALLS_PER_MINUTE => settings
                .calls_per_minute
                .map_or(0, NonZeroU32::get)
                .to_string(),
            NODE => settings.node.clone(),
            WORKER => settings.worker.to_string(),
            WARM_BASES => settings.warm_bases.to_string(),
            BLOBS_URL => self.text(BLOBS_URL).unwrap_or_default().to_owned(),
            BLOBS_ENDPOINT => bucket
                .and_then(|bucket| bucket.endpoint.clone())
                .unwrap_or_default(),
            BLOBS_REGION => bucket
                .and_then(|bucket| bucket.region.clone())
                .unwrap_or_default(),
            BLOBS_PATH_STYLE => bucket
                .map(|bucket| bucket.path_style.to_string())
                .unwrap_or_default(),
            BLOBS_ACCESS_KEY_ID | BLOBS_SECRET_ACCESS_KEY | BLOBS_SESSION_TOKEN => {
                self.text(key).map(|_| "…".to_owned()).unwrap_or_default()
            }
            FETCH_NETWORKS => self.list(FETCH_NETWORKS).join(","),
            FETCH_PORTS => {
                let ports: Vec<String> = settings.fetch_ports.iter().map(u16::to_string).collect();
                ports.join(",")
            }
            EMBEDDING_KEY => self.text(EMBEDDING_KEY).map_or("", |_| "…").to_owned(),
            MODEL
            | EMBEDDING_URL
            | EMBEDDING_MODEL
            | EMBEDDING_WIDTH
            | EMBEDDING_QUERY_PREFIX
            | EMBEDDING_PASSAGE_PREFIX
            | EMBEDDING_LANGUAGES => self.text(key).unwrap_or_default().to_owned(),
            LOG_LEVEL => settings.log_level.clone(),
            LOG_FORMAT => if settings.log_json { "json" } else { "text" }.to_owned(),
            _ => String::new(),
        };
        let shown = SETTINGS.iter().map(|setting| Shown {
            key: setting.key.to_owned(),
            value: value_of(setting.key),
            origin: self
                .found
                .get(setting.key)
                .map_or(Origin::Default, |found| found.origin.clone())
                .to_string(),
        });
        shown.collect()
    }
}

/// Time for each 32 KiB of a body where nobody says anything: about 1 KiB a second.
const DEFAULT_BODY_STRETCH: Duration = Duration::from_secs(30);

/// Address to serve on where nobody says anything.
const DEFAULT_LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7341);

/// The name that the machine goes by, `node` if it has none.
fn machine_name() -> String {
    let name = rustix::system::uname();
    let name = name.nodename().to_string_lossy();
    if name.is_empty() {
        "node".to_owned()
    } else {
        name.into_owned()
    }
}

/// Whether it is an address of the web, without a password or a question in it.
fn is_address(url: &str) -> bool {
    let parsed: Option<http::Uri> = url.parse().ok();
    parsed.is_some_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri
                .authority()
                .is_some_and(|authority| !authority.as_str().contains('@'))
            && uri.query().is_none()
    })
}

fn checked_url(url: &str, origin: &Origin) -> Result<String, ConfigError> {
    let url = url.trim_end_matches('/');
    if is_address(url) {
        return Ok(url.to_owned());
    }
    let right = "an address such as `https://quipu.example.org`";
    Err(ConfigError::Wrong {
        key: PUBLIC_URL,
        origin: origin.clone(),
        right,
        shown: url.to_owned(),
    })
}

/// A URL without the password in it.
fn masked_url(url: &str) -> String {
    match url
        .split_once("://")
        .and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?)))
    {
        Some((scheme, (_, place))) => format!("{scheme}://…@{place}"),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(
        flags: &[(&'static str, &str)],
        environment: &[(&str, &str)],
    ) -> Result<Settings, ConfigError> {
        let environment = |name: &str| {
            environment
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        };
        let flags = flags
            .iter()
            .map(|(flag, value)| (*flag, (*value).to_owned()))
            .collect();
        Settings::read(&Sources {
            flags,
            environment: &environment,
            file: None,
        })
    }

    fn origin_of(settings: &Settings, key: &str) -> String {
        settings
            .shown()
            .iter()
            .find(|shown| shown.key == key)
            .unwrap()
            .origin
            .clone()
    }

    #[test]
    fn a_flag_wins_over_the_environment_and_both_over_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display().to_string();
        std::fs::write(
            folder.path().join(FILE_NAME),
            "[server]\nlisten = \"127.0.0.1:1\"\nlog_level = \"warn\"\ncalls_per_minute = 9\n",
        )
        .unwrap();

        let settings = read(
            &[("data", &path), ("listen", "127.0.0.1:3")],
            &[
                ("QUIPU_LISTEN", "127.0.0.1:2"),
                ("QUIPU_LOG_LEVEL", "debug"),
            ],
        )
        .unwrap();

        assert_eq!(settings.listen.port(), 3);
        assert_eq!(settings.log_level, "debug");
        assert_eq!(settings.calls_per_minute.map(NonZeroU32::get), Some(9));
        assert_eq!(origin_of(&settings, "listen"), "flag --listen");
        assert_eq!(
            origin_of(&settings, "log_level"),
            "environment QUIPU_LOG_LEVEL"
        );
        assert!(origin_of(&settings, "calls_per_minute").starts_with("file "));
        assert_eq!(origin_of(&settings, "log_format"), "default");
    }

    #[test]
    fn a_misspelt_key_in_the_file_is_refused_with_the_nearest_one() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(
            folder.path().join(FILE_NAME),
            "[server]\nlisen = \"127.0.0.1:1\"\n",
        )
        .unwrap();

        let refused = read(&[("data", &folder.path().display().to_string())], &[])
            .err()
            .unwrap();

        assert!(
            refused
                .to_string()
                .ends_with("`lisen`, which is no setting; did you mean `listen`?")
        );
    }

    #[test]
    fn a_bucket_is_taken_from_its_own_table_and_its_keys_are_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().display().to_string();
        std::fs::write(
            folder.path().join(FILE_NAME),
            "[blobs]\nurl = \"s3://papers/quipu\"\nendpoint = \"http://127.0.0.1:9000/\"\nregion = \"eu\"\n\n[client]\nx = 1\n",
        )
        .unwrap();
        let keys = [
            ("AWS_ACCESS_KEY_ID", "AKIAHUSH"),
            ("AWS_SECRET_ACCESS_KEY", "hush hush"),
            ("AWS_REGION", "us"),
        ];

        let settings = read(&[("data", &data)], &keys).unwrap();

        let bucket = settings.bucket.as_ref().unwrap();
        assert_eq!(
            (bucket.name.as_str(), bucket.prefix.as_str()),
            ("papers", "quipu")
        );
        assert_eq!(bucket.endpoint.as_deref(), Some("http://127.0.0.1:9000"));
        assert_eq!(
            (bucket.region.as_deref(), bucket.path_style),
            (Some("eu"), true)
        );
        assert_eq!(bucket.access.as_ref().unwrap().id, "AKIAHUSH");
        assert!(origin_of(&settings, "blobs.url").starts_with("file "));
        assert_eq!(
            origin_of(&settings, "blobs.secret_access_key"),
            "environment AWS_SECRET_ACCESS_KEY"
        );
        let all = format!("{:?} {:?}", settings.shown(), settings.bucket);
        assert!(
            !all.contains("hush") && !format!("{:?}", settings.shown()).contains("AKIA"),
            "{all}"
        );
    }

    #[test]
    fn a_bucket_that_is_half_named_is_refused_with_what_is_missing() {
        let refused = |environment: &[(&str, &str)]| {
            read(&[("data", "d")], environment)
                .err()
                .unwrap()
                .to_string()
        };

        let no_secret = refused(&[
            ("QUIPU_BLOBS_URL", "s3://papers"),
            ("QUIPU_BLOBS_ACCESS_KEY_ID", "A"),
        ]);
        let no_bucket = refused(&[("QUIPU_BLOBS_ENDPOINT", "http://s3")]);
        let other = refused(&[("QUIPU_BLOBS_URL", "gs://me:hush@papers")]);
        let endpoint = refused(&[
            ("QUIPU_BLOBS_URL", "s3://papers"),
            ("QUIPU_BLOBS_ENDPOINT", "s3.example.org"),
        ]);

        assert!(
            no_secret.contains("`blobs.secret_access_key`, its other half"),
            "{no_secret}"
        );
        assert!(no_bucket.contains("no bucket is named"), "{no_bucket}");
        assert!(
            other.contains("must be `s3://bucket`") && !other.contains("hush"),
            "{other}"
        );
        assert!(endpoint.contains("an address such as"), "{endpoint}");
    }

    #[test]
    fn an_address_others_can_reach_needs_a_public_url() {
        let flags = [("data", "d"), ("listen", "0.0.0.0:7341")];
        assert!(
            read(&flags, &[])
                .err()
                .unwrap()
                .to_string()
                .contains("`public_url`")
        );
        let settings = read(
            &flags,
            &[("QUIPU_PUBLIC_URL", "https://quipu.example.org/")],
        )
        .unwrap();
        assert_eq!(settings.public_url, "https://quipu.example.org");
    }

    #[test]
    fn a_password_in_the_databases_url_is_never_shown() {
        let settings = read(
            &[("data", "d")],
            &[("QUIPU_DATABASE", "postgres://me:hush@db/quipu")],
        )
        .unwrap();
        let all = format!("{:?}", settings.shown());
        assert!(
            all.contains("postgres://…@db/quipu") && !all.contains("hush"),
            "{all}"
        );
        let refused = read(
            &[("data", "d")],
            &[("QUIPU_DATABASE", "mysql://me:hush@db")],
        )
        .err()
        .unwrap();
        assert!(!refused.to_string().contains("hush"));
    }

    #[test]
    fn where_sources_may_pull_from_is_the_public_web_unless_it_is_said() {
        let nothing = read(&[("data", "/d")], &[]).unwrap();
        let intranet = [
            ("QUIPU_FETCH_NETWORKS", "10.1.0.0/16, fd00::/8"),
            ("QUIPU_FETCH_PORTS", "443,8080"),
        ];
        let said = read(&[("data", "/d")], &intranet).unwrap();
        let wrong = read(&[("data", "/d")], &[("QUIPU_FETCH_NETWORKS", "inside")]);

        assert!(nothing.fetch_networks.is_empty());
        assert_eq!(nothing.fetch_ports, [80, 443]);
        assert_eq!(
            (said.fetch_networks.len(), said.fetch_ports),
            (2, vec![443, 8080])
        );
        let wrong = wrong.err().unwrap().to_string();
        assert!(
            wrong.contains("`fetch_networks` (environment QUIPU_FETCH_NETWORKS) must be networks"),
            "{wrong}"
        );
    }
}
