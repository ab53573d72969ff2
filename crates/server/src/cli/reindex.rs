//! `quipu reindex`: derived things thrown away and built anew, while searches go on.

use clap::{Arg, ArgAction, ArgMatches, Command};
use kernel::Registry;
use serde_json::json;

use super::house::{Ask, House, Needs};
use super::{Failure, output, told};

/// The verb.
pub fn command() -> Command {
    Command::new("reindex")
        .about("Build search caches anew, and read documents again, while searches go on")
        .long_about(
            "Build search caches anew, and read documents again, while searches go on.\n\n\
             Searches read the old cache until the new one takes its place. With --parse the \
             documents' files are read again first: what reads as before keeps its ids, what reads \
             otherwise becomes a version of its own, and documents that failed are tried again.",
        )
        .arg(
            Arg::new("base")
                .long("base")
                .value_name("BASE")
                .help("The base: its name, slug or id; all of them if absent"),
        )
        .arg(
            Arg::new("parse")
                .long("parse")
                .action(ArgAction::SetTrue)
                .help("Read the documents' files again as well"),
        )
}

/// Runs the verb.
pub async fn run(registry: Registry, matches: &ArgMatches) -> Result<(), Failure> {
    let house = House::open(registry, matches, Needs::Deployment).await?;
    let rebuilt = rebuild(&house, matches).await;
    house.close().await;
    let done = rebuilt?;
    if matches.get_flag("json") {
        output::print(&done.to_string());
        return Ok(());
    }
    let number = |name: &str| done[name].as_u64().unwrap_or_default();
    if matches.get_flag("parse") {
        output::print(&format!(
            "{} documents read again, {} of them otherwise than before",
            number("documents"),
            number("changed")
        ));
    }
    output::print(&format!(
        "search caches of {} bases built anew: {} passages",
        number("bases"),
        number("passages")
    ));
    Ok(())
}

async fn rebuild(house: &House, matches: &ArgMatches) -> Result<serde_json::Value, Failure> {
    let mut arguments = json!({ "parse": matches.get_flag("parse") });
    if let Some(wished) = matches.get_one::<String>("base") {
        arguments["base_id"] = json!(house.base(Some(wished)).await?);
    }
    let arriving = house.flow(Ask::post("/reindex", &arguments)).await?;
    told::read(arriving, matches.get_flag("json"), |_, _| ()).await
}
