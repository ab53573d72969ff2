//! The command line: verbs are the operations' own, from the same table as every other door.

mod backup;
mod export;
mod house;
mod import;
mod ingest;
mod output;
mod pause;
mod received;
mod reindex;
mod restore;
mod serve;
mod told;
mod upgrade_check;
mod verbs;
mod verify;
mod watch;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command};
use kernel::Registry;

use crate::config::{ConfigError, Settings, Sources};

pub use output::Failure;

/// What `--help` prints below the verbs.
const AFTER_HELP: &str = "\
Without --server a verb acts on the data folder: through the socket of the server that has it in \
use, or by itself. With --server and --token it acts on another server.

Exit codes: 0 done, 1 this machine or the way to the server, 2 wrong arguments, 3 not allowed, 4 not there, 5 conflict, 7 too many calls, \
70 a fault of the server, 74 disk full, 75 try again.";

fn flag(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name(value)
        .help(help)
        .global(true)
        .help_heading("Where")
}

/// The whole command line.
pub fn command(registry: &Registry) -> Command {
    let root = Command::new("quipu")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A self-hosted knowledge ledger for people and their agents")
        .after_help(AFTER_HELP)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .max_term_width(100)
        .arg(flag(
            "data",
            "DIR",
            "Data folder [env: QUIPU_DATA] [default: the platform's]",
        ))
        .arg(flag(
            "config",
            "FILE",
            "Settings file [env: QUIPU_CONFIG] [default: DIR/quipu.toml]",
        ))
        .arg(flag(
            "database",
            "URL",
            "postgres://… instead of SQLite in the data folder [env: QUIPU_DATABASE]",
        ))
        .arg(flag(
            "server",
            "URL",
            "Act on this server [env: QUIPU_SERVER]",
        ))
        .arg(flag(
            "token",
            "TOKEN",
            "Personal token for --server [env: QUIPU_TOKEN]",
        ))
        .arg(
            flag("json", "", "Answer in JSON, for programs")
                .num_args(0)
                .action(ArgAction::SetTrue),
        );
    let root = root
        .subcommand(serve::command())
        .subcommand(ingest::command())
        .subcommand(export::command())
        .subcommand(import::command())
        .subcommand(backup::command())
        .subcommand(restore::command())
        .subcommand(verify::command())
        .subcommand(reindex::command())
        .subcommand(upgrade_check::command())
        .subcommand(config_command());
    verbs::add_to(root, registry)
}

fn config_command() -> Command {
    let show = Command::new("show")
        .about("Show every setting with its value; secrets are masked")
        .arg(
            Arg::new("origin")
                .long("origin")
                .help("Say where each value came from")
                .action(ArgAction::SetTrue),
        );
    Command::new("config")
        .about("Settings")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(show)
}

/// Runs a command line and tells how it went.
pub fn run(words: impl IntoIterator<Item = std::ffi::OsString>) -> ExitCode {
    let registry = Registry::new(crate::app::OPS);
    let matches = match command(&registry).try_get_matches_from(words) {
        Ok(matches) => matches,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let json = matches.get_flag("json");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers())
        .enable_all()
        .build();
    let outcome = match runtime {
        Ok(runtime) => {
            let outcome = runtime.block_on(dispatch(registry, &matches));
            // Arithmetic on a thread of its own does not hold up the end.
            runtime.shutdown_background();
            outcome
        }
        Err(error) => Err(Failure::local(error.to_string())),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(json),
    }
}

/// A store answers within microseconds on the thread that asks, so a few more threads than cores
/// keep a long read from holding up the rest.
fn workers() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from) + 2
}

async fn dispatch(registry: Registry, matches: &ArgMatches) -> Result<(), Failure> {
    match matches.subcommand() {
        Some(("serve", own)) => serve::run(registry, settings(own)?, own).await,
        Some(("config", own)) => {
            show_config(&settings(own)?, own);
            Ok(())
        }
        Some(("ingest", own)) => ingest::run(registry, own).await,
        Some(("export", own)) => export::run(registry, own).await,
        Some(("import", own)) => import::run(registry, own).await,
        Some(("backup", own)) => backup::run(registry, own).await,
        Some(("restore", own)) => restore::run(settings(own)?, own).await,
        Some(("verify", own)) => verify::run(registry, own).await,
        Some(("reindex", own)) => reindex::run(registry, own).await,
        Some(("upgrade-check", own)) => upgrade_check::run(own).await,
        _ => verbs::run(registry, matches).await,
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "settings are read from the environment here"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The names of the variables that are ours by their name.
fn variables() -> impl Iterator<Item = String> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    names.filter(|name| name.starts_with("QUIPU_"))
}

/// Reads the settings as the flags and the environment say.
fn settings(matches: &ArgMatches) -> Result<Settings, Failure> {
    let mut flags = BTreeMap::new();
    for setting in crate::config::SETTINGS {
        let Some(flag) = setting.flag else { continue };
        if let Ok(Some(value)) = matches.try_get_one::<String>(flag) {
            flags.insert(flag, value.clone());
        }
    }
    let file = matches.get_one::<String>("config").map(PathBuf::from);
    Settings::read(&Sources {
        flags,
        environment: &variable,
        file,
    })
    .map_err(Failure::from)
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Failure::wrong(error.to_string())
    }
}

fn show_config(settings: &Settings, matches: &ArgMatches) {
    let shown = settings.shown();
    let Some(("show", own)) = matches.subcommand() else {
        return;
    };
    if own.get_flag("json") {
        output::print(&serde_json::json!({ "settings": shown }).to_string());
        return;
    }
    let width = shown.iter().map(|one| one.key.len()).max().unwrap_or(0);
    for one in shown {
        let origin = if own.get_flag("origin") {
            format!("  ({})", one.origin)
        } else {
            String::new()
        };
        output::print(&format!("{:width$}  {}{origin}", one.key, one.value));
    }
}
