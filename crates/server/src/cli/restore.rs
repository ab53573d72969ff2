//! `quipu restore`: a backup back into an empty place.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command};
use engine::backup::{self, BackupError, Checked, Progress};
use indicatif::{ProgressBar, ProgressStyle};
use kernel::Clock;
use serde_json::json;
use store::index::Indexes;
use store::{Db, Options, audit, bases, check_schema, tenants};

use super::{Failure, backup as shown, output, variable, verify};
use crate::app;
use crate::config::Settings;
use crate::folder::Owner;

/// The verb.
pub fn command() -> Command {
    Command::new("restore")
        .about("Put a backup back, into an empty data folder or database")
        .long_about(
            "Put a backup back, into an empty data folder or database.\n\n\
             The backup is checked from its first byte to its last before anything is written. It \
             goes into SQLite in the data folder, or into PostgreSQL with --database, whichever it \
             was made on. Search caches are built anew.",
        )
        .arg(
            Arg::new("source")
                .value_name("SOURCE")
                .required(true)
                .index(1)
                .help("The backup"),
        )
}

/// What the database is called in the data folder until all of it is there.
const PARTIAL: &str = "quipu.sqlite.restoring";

/// What may lie in the folder: what a first start does not make, or an interrupted restore did.
const MAY_BE_THERE: &[&str] = &["lock", "quipu.toml", "models", "lost+found"];

/// Runs the verb.
pub async fn run(settings: Settings, matches: &ArgMatches) -> Result<(), Failure> {
    if matches.get_one::<String>("server").is_some() || variable("QUIPU_SERVER").is_some() {
        return Err(Failure::wrong(
            "a backup is restored on the machine that is to serve it; leave --server out",
        ));
    }
    let source = matches
        .get_one::<String>("source")
        .expect("clap requires it");
    let source = PathBuf::from(source);
    let as_json = matches.get_flag("json");
    must_be_empty(&settings).await?;
    let checked = verify::check(source.clone(), as_json).await?;
    check_schema(&checked.manifest.schema)
        .map_err(|error| Failure::wrong(format!("{}: {error}", source.display())))?;

    let owner = Owner::of(&settings.data).map_err(|error| Failure::local(error.to_string()))?;
    let bar = shown::bar(as_json);
    let outcome = put_back(&settings, &source, &checked, &bar).await;
    bar.finish_and_clear();
    drop(owner);
    let done = outcome?;
    print(&settings, &checked, &done, as_json);
    match done.broken {
        None => Ok(()),
        Some(why) => Err(Failure::local(format!(
            "everything is restored, but the activity log was changed before the backup: {why}"
        ))),
    }
}

/// What was put back, beyond what the manifest says.
struct Done {
    rows: u64,
    sealed: u64,
    /// Where the chain of the activity log breaks.
    broken: Option<String>,
}

/// Refuses a place that holds something.
async fn must_be_empty(settings: &Settings) -> Result<(), Failure> {
    let full = |what: String| {
        Failure::wrong(format!(
            "{what}; a backup is restored into an empty place only"
        ))
    };
    let folder = settings.data.display();
    let interrupted = settings.data.join(PARTIAL).exists();
    let entries = match fs::read_dir(&settings.data) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return database_is_empty(settings).await;
        }
        Err(error) => return Err(Failure::local(format!("cannot read {folder}: {error}"))),
    };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_ours = interrupted && (name == "blobs" || name.starts_with(PARTIAL));
        if !is_ours && !MAY_BE_THERE.contains(&name.as_str()) {
            return Err(full(format!("{folder} holds `{name}`")));
        }
    }
    database_is_empty(settings).await
}

async fn database_is_empty(settings: &Settings) -> Result<(), Failure> {
    if let Some(file) = settings.database.strip_prefix("sqlite:") {
        if !Path::new(file).exists() {
            return Ok(());
        }
        return Err(Failure::wrong(format!(
            "{file} is there already; a backup is restored into an empty place only"
        )));
    }
    let found = Db::inspect(&settings.database)
        .await
        .map_err(model::Error::from)?;
    match found {
        Some(found) if found.has_tenants => Err(Failure::wrong(
            "the database holds a deployment; a backup is restored into an empty place only",
        )),
        Some(found) if !found.schema.is_empty() => Err(Failure::wrong(
            "the database has quipu's tables already, which may be newer than the backup's; make \
             an empty one",
        )),
        _ => Ok(()),
    }
}

async fn put_back(
    settings: &Settings,
    source: &Path,
    checked: &Checked,
    bar: &ProgressBar,
) -> Result<Done, Failure> {
    let total = backup::About {
        rows: checked.manifest.tables.values().sum(),
        blob_bytes: checked.manifest.blobs.bytes,
    };
    let told = |progress: Progress, blobs: bool| {
        let about = Some(total);
        // Files come first here; the bar shows rows until all of them are counted.
        let rows = if blobs { total.rows } else { progress.rows };
        shown::show(
            bar,
            Progress {
                about,
                rows,
                ..progress
            },
        );
    };
    let partial = settings.data.join(PARTIAL);
    let place = if settings.embedded() {
        remove_partial(&settings.data)?;
        // Says to a later restore that what lies here is of an interrupted one.
        fs::write(&partial, "").map_err(|error| cannot(&partial, &error))?;
        format!("sqlite:{}", partial.display())
    } else {
        settings.database.clone()
    };
    let blobs = app::open_blobs(settings).await?;
    backup::restore_blobs(source, checked, &blobs, |progress| told(progress, true))
        .await
        .map_err(failed)?;

    let schema = checked.manifest.schema.last().map(|step| step.number);
    let options = |schema| Options {
        opened_at: Clock::system().now(),
        schema,
        ..Options::default()
    };
    let db = Db::open(&place, options(schema))
        .await
        .map_err(model::Error::from)?;
    let loaded = backup::load(source, checked, &db, |progress| told(progress, false)).await;
    db.close().await;
    let loaded = loaded.map_err(failed)?;
    if settings.embedded() {
        let path = settings.database.trim_start_matches("sqlite:");
        fs::rename(&partial, path).map_err(|error| cannot(&partial, &error))?;
        let synced = fs::File::open(&settings.data).and_then(|folder| folder.sync_all());
        synced.map_err(|error| cannot(&settings.data, &error))?;
    }

    let db = Db::open(&settings.database, options(None))
        .await
        .map_err(model::Error::from)?;
    db.count_what_was_loaded()
        .await
        .map_err(model::Error::from)?;
    let chain = after(settings, &db, bar).await;
    db.close().await;
    let (sealed, broken) = chain?;
    Ok(Done {
        rows: loaded.rows,
        sealed,
        broken,
    })
}

/// Builds the search caches and walks the chains of the activity log: how many lines are sealed,
/// and where one breaks.
async fn after(
    settings: &Settings,
    db: &Db,
    bar: &ProgressBar,
) -> Result<(u64, Option<String>), Failure> {
    let run = async {
        let indexes = Indexes::open(db.clone(), app::index_folder(settings))?;
        let tenants = tenants::list(&mut db.read_directory().await?).await?;
        let (mut sealed, mut broken) = (0, None);
        bar.set_length(0);
        bar.set_position(0);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} search caches: {pos}/{len} bases")
        {
            bar.set_style(style);
        }
        for tenant in tenants {
            let chain = audit::verify(&mut db.read(tenant.id).await?).await?;
            sealed += chain.sealed;
            if let Some((number, why)) = chain.broken {
                broken = Some(format!("row {number} of `{}`: {why}", tenant.slug));
            }
            let all = bases::list(&mut db.read(tenant.id).await?).await?;
            bar.inc_length(all.len() as u64);
            for base in all {
                indexes.synced(tenant.id, base.id, None).await?;
                indexes.close(base.id).await?;
                bar.inc(1);
            }
        }
        Ok::<_, store::StoreError>((sealed, broken))
    };
    Ok(run.await.map_err(model::Error::from)?)
}

/// Removes what an interrupted restore left.
fn remove_partial(folder: &Path) -> Result<(), Failure> {
    for end in ["", "-wal", "-shm"] {
        let path = folder.join(format!("{PARTIAL}{end}"));
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(cannot(&path, &error)),
            _ => {}
        }
    }
    Ok(())
}

fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    Failure::local(format!("cannot write {}: {error}", path.display()))
}

fn failed(error: BackupError) -> Failure {
    match error {
        BackupError::Store(error) => model::Error::from(error).into(),
        error => Failure::local(error.to_string()),
    }
}

fn print(settings: &Settings, checked: &Checked, done: &Done, as_json: bool) {
    if as_json {
        let mut answer = shown::about(checked);
        answer["data"] = json!(settings.data);
        answer["rows"] = json!(done.rows);
        answer["sealed"] = json!(done.sealed);
        output::print(&answer.to_string());
        return;
    }
    output::print(&format!(
        "restored into {}: {} rows, {} files of documents; the chain of the activity log {} ({} \
         lines)\n{}",
        settings.data.display(),
        done.rows,
        checked.manifest.blobs.count,
        if done.broken.is_some() {
            "breaks"
        } else {
            "holds"
        },
        done.sealed,
        shown::sentence(checked)
    ));
}
