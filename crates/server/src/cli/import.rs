//! `quipu import`: a base from an archive, under its own ids.

use clap::{Arg, ArgMatches, Command};
use http::Method;
use kernel::Registry;

use super::house::{Ask, House, Needs};
use super::{Failure, output};

/// The verb.
pub fn command() -> Command {
    Command::new("import")
        .about("Take in a base that `quipu export` made an archive of, under its own ids")
        .long_about(
            "Take in a base that `quipu export` made an archive of, under its own ids.\n\n\
             The archive is checked from its first byte to its last before anything is written, and \
             the base comes in whole or not at all. One that is here already is refused. Its members \
             stay where it came from: whoever takes it in is its owner.",
        )
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .required(true)
                .index(1)
                .help("The archive"),
        )
}

/// Runs the verb.
pub async fn run(registry: Registry, matches: &ArgMatches) -> Result<(), Failure> {
    let path = matches.get_one::<String>("file").expect("clap requires it");
    let unreadable = |error: std::io::Error| Failure::wrong(format!("cannot read {path}: {error}"));
    let file = tokio::fs::File::open(path).await.map_err(unreadable)?;
    if file.metadata().await.map_err(unreadable)?.is_dir() {
        return Err(Failure::wrong(format!(
            "{path} is a folder; an archive is a file"
        )));
    }
    // An empty data folder is where a base is likely to be taken in.
    let house = House::open(registry, matches, Needs::Nothing).await?;
    let ask = Ask {
        method: Method::POST,
        path: "/kbs/import".to_owned(),
        body: Some((bytes::Bytes::new(), "application/x-tar")),
        text: !matches.get_flag("json"),
    };
    let answered = house.send_file(ask, file).await;
    house.close().await;
    let (status, answer) = answered?;
    if status.is_success() {
        output::print(String::from_utf8_lossy(&answer).trim_end());
        return Ok(());
    }
    let refused = serde_json::from_slice(&answer)
        .map_err(|_| Failure::local(format!("the server answered {status} without JSON")))?;
    Err(Failure::refused(refused))
}
