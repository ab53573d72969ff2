//! `quipu upgrade-check`: what this program would do with a data folder, without doing it.

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Command};
use serde::Serialize;
use store::{Db, check_schema, index, known_schema};

use super::{Failure, output, settings, variables};
use crate::app;
use crate::config::{SETTINGS, Settings};
use crate::folder;

/// The verb.
pub fn command() -> Command {
    Command::new("upgrade-check")
        .about("Say what this version would do with the data, without changing anything")
        .long_about(
            "Say what this version would do with the data, without changing anything.\n\n\
             Run it with the program that is to take over, before the old one is stopped. It says \
             which migrations it would apply, how much room they need, whether search caches are \
             built anew, and whether the settings are known. The exit code is 5 if this version \
             would refuse the data.",
        )
}

/// Exit code where an upgrade would be refused.
const REFUSED: u8 = 5;

/// What was looked at.
#[derive(Debug, Serialize)]
struct Look {
    about: &'static str,
    /// `ok`, `note` where something will happen, or `refused`.
    verdict: Verdict,
    sentence: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Ok,
    Note,
    Refused,
}

fn look(about: &'static str, verdict: Verdict, sentence: impl Into<String>) -> Look {
    Look {
        about,
        verdict,
        sentence: sentence.into(),
    }
}

/// Runs the verb.
pub async fn run(matches: &ArgMatches) -> Result<(), Failure> {
    let mut looks = vec![look(
        "program",
        Verdict::Ok,
        format!(
            "quipu {}, schema {}",
            env!("CARGO_PKG_VERSION"),
            known_schema().last().map_or(0, |step| step.number)
        ),
    )];
    looks.push(variables_known());
    match settings(matches) {
        Ok(settings) => {
            looks.push(look("settings", Verdict::Ok, "every setting is known"));
            looks.push(server(&settings));
            looks.extend(database(&settings).await);
            looks.push(caches(&settings));
            let model = providers::models::status(&settings.models()).sentence();
            looks.push(look("model", Verdict::Ok, model));
        }
        Err(failure) => looks.push(look("settings", Verdict::Refused, failure.sentence())),
    }
    let refused = looks.iter().any(|one| one.verdict == Verdict::Refused);
    if matches.get_flag("json") {
        let answer = serde_json::json!({ "refused": refused, "looked_at": looks });
        output::print(&answer.to_string());
    } else {
        for one in &looks {
            let mark = match one.verdict {
                Verdict::Ok => "ok     ",
                Verdict::Note => "note   ",
                Verdict::Refused => "REFUSED",
            };
            output::print(&format!("{mark}  {:11}  {}", one.about, one.sentence));
        }
    }
    if refused {
        return Err(Failure::with_exit(
            REFUSED,
            "this version would refuse the data; nothing was changed",
        ));
    }
    Ok(())
}

/// Variables that are ours by their name and that nothing reads.
fn variables_known() -> Look {
    let beside = ["QUIPU_CONFIG", "QUIPU_SERVER", "QUIPU_TOKEN"];
    let is_known = |name: &str| {
        let bare = name.strip_suffix("_FILE").unwrap_or(name);
        beside.contains(&name)
            || SETTINGS
                .iter()
                .any(|setting| setting.variable == name || setting.variable == bare)
    };
    let unknown: Vec<String> = variables().filter(|name| !is_known(name)).collect();
    match unknown.as_slice() {
        [] => look(
            "environment",
            Verdict::Ok,
            "every variable that begins with QUIPU_ is known",
        ),
        names => look(
            "environment",
            Verdict::Note,
            format!(
                "no setting reads {}; is a name mistyped, or from another version?",
                names.join(", ")
            ),
        ),
    }
}

fn server(settings: &Settings) -> Look {
    if folder::has_living_owner(&settings.data) {
        let sentence = "a server runs on the data folder; stop it before this version takes over";
        return look("server", Verdict::Note, sentence);
    }
    look("server", Verdict::Ok, "none runs on the data folder")
}

async fn database(settings: &Settings) -> Vec<Look> {
    let found = match Db::inspect(&settings.database).await {
        Ok(found) => found.unwrap_or_default(),
        Err(error) => {
            let error = model::Error::from(error);
            return vec![look(
                "schema",
                Verdict::Refused,
                kernel::job::describe(&error),
            )];
        }
    };
    if found.schema.is_empty() {
        let sentence = format!(
            "there is no deployment in {}; the first start makes one",
            settings.data.display()
        );
        return vec![look("schema", Verdict::Note, sentence)];
    }
    let at = found.schema.last().map_or(0, |step| step.number);
    match check_schema(&found.schema) {
        Err(error) => {
            let sentence = format!("it is at {at}: {error}");
            vec![look("schema", Verdict::Refused, sentence)]
        }
        Ok(pending) if pending.is_empty() => {
            vec![look(
                "schema",
                Verdict::Ok,
                format!("it is at {at}, as this version has it"),
            )]
        }
        Ok(pending) => {
            let names: Vec<String> = pending
                .iter()
                .map(|step| format!("{} `{}`", step.number, step.name))
                .collect();
            let sentence = format!(
                "it is at {at}; the first start would apply {}. There is no way back but a backup: \
                 make one with the old version (`quipu backup DEST`)",
                names.join(", ")
            );
            vec![
                look("schema", Verdict::Note, sentence),
                room(settings, found.bytes),
            ]
        }
    }
}

/// Whether there is room for a copy of the largest table, which a migration may make: as much as
/// the whole database at most.
fn room(settings: &Settings, bytes: u64) -> Look {
    let needed = indicatif::BinaryBytes(bytes);
    if !settings.embedded() {
        let sentence =
            format!("the database server may need up to {needed} more for the migrations");
        return look("disk", Verdict::Note, sentence);
    }
    let Some(free) = free_bytes(&settings.data) else {
        return look(
            "disk",
            Verdict::Note,
            format!("the migrations may need up to {needed} more"),
        );
    };
    let sentence = format!(
        "the migrations may need up to {needed} more, and {} are free",
        indicatif::BinaryBytes(free)
    );
    look(
        "disk",
        if free < bytes {
            Verdict::Refused
        } else {
            Verdict::Ok
        },
        sentence,
    )
}

fn free_bytes(folder: &Path) -> Option<u64> {
    let about = rustix::fs::statvfs(folder).ok()?;
    Some(about.f_bavail.saturating_mul(about.f_frsize))
}

/// Search caches of another form than this version's are built anew.
fn caches(settings: &Settings) -> Look {
    let below = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.is_dir())
            .collect()
    };
    let form = index::form();
    let caches: Vec<Vec<PathBuf>> = below(&app::index_folder(settings))
        .iter()
        .map(|base| below(base))
        .collect();
    let is_of_form = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().ends_with(&form))
    };
    let others = caches
        .iter()
        .filter(|classes| !classes.iter().all(is_of_form))
        .count();
    if others == 0 {
        return look(
            "search",
            Verdict::Ok,
            format!("{} caches of form {form}", caches.len()),
        );
    }
    let sentence = format!(
        "{others} of {} caches are of another form than {form} and are built anew at the first search",
        caches.len()
    );
    look("search", Verdict::Note, sentence)
}
