//! `quipu export`: a base whole, as an archive or as a graph, kept only if all of it came.

use std::io;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command};
use engine::backup::{BackupError, Checked};
use engine::base_archive::{self, Manifest};
use kernel::Registry;
use serde_json::{Value, json};

use super::house::{Ask, House, Needs, encoded};
use super::received::{self, Destination};
use super::{Failure, backup, output};

const ARCHIVE: &str = "archive";

/// The verb.
pub fn command() -> Command {
    Command::new("export")
        .about("Save one base whole: as an archive for another Quipu, or as an RDF graph")
        .long_about(
            "Save one base whole: as an archive for another Quipu, or as an RDF graph.\n\n\
             An archive is a tar file with everything that belongs to the base, documents' bytes and \
             the whole history of its facts included; `quipu import` takes it in under the same ids. \
             It is checked on its way. A graph is all that its reader may see, in Turtle or JSON-LD, \
             for other programs. Either is as of one moment, while the server runs.",
        )
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .required(true)
                .index(1)
                .help("The file to write; a folder, for a file named by the base; `-` for standard output"),
        )
        .arg(
            Arg::new("base")
                .long("base")
                .value_name("BASE")
                .help("The base: its name, slug or id; the only one there is if absent"),
        )
        .arg(
            Arg::new("format")
                .long("format")
                .value_name("FORMAT")
                .value_parser(PossibleValuesParser::new([ARCHIVE, "turtle", "jsonld"]))
                .default_value(ARCHIVE)
                .help("What to write"),
        )
        .arg(
            Arg::new("iri-base")
                .long("iri-base")
                .value_name("URL")
                .help("Address under which a graph's ids become IRIs; `urn:utopia:kb:…` if absent"),
        )
}

/// Runs the verb.
pub async fn run(registry: Registry, matches: &ArgMatches) -> Result<(), Failure> {
    let word = matches.get_one::<String>("file").expect("clap requires it");
    let format = matches
        .get_one::<String>("format")
        .expect("it has a default");
    let iri_base = matches.get_one::<String>("iri-base");
    if format == ARCHIVE && iri_base.is_some() {
        return Err(Failure::wrong(
            "--iri-base is for a graph: give --format turtle or jsonld with it",
        ));
    }
    let destination = Destination::of(word)?;
    let house = House::open(registry, matches, Needs::Deployment).await?;
    let exported = async {
        let base = house.base(matches.get_one::<String>("base").map(String::as_str));
        let kb = base.await?.to_string();
        if format == ARCHIVE {
            return archive(&house, &destination, &kb, matches.get_flag("json")).await;
        }
        let mut path = format!("/kbs/{kb}/export?format={format}");
        if let Some(base) = iri_base {
            path.push_str(&format!("&base={}", encoded(base)));
        }
        let extension = if format == "turtle" { "ttl" } else { "jsonld" };
        graph(
            &house,
            &destination,
            Ask::get(path),
            format!("{kb}.{extension}"),
        )
        .await
    };
    let exported = exported.await;
    house.close().await;
    exported?.print(matches.get_flag("json"))
}

/// What was saved, and where.
struct Exported {
    /// Where it is; none if it went to standard output.
    path: Option<PathBuf>,
    bytes: u64,
    manifest: Option<Manifest>,
}

async fn archive(
    house: &House,
    destination: &Destination,
    kb: &str,
    as_json: bool,
) -> Result<Exported, Failure> {
    let bar = backup::bar(as_json);
    let shown = bar.clone();
    let read = move |arriving: &mut dyn io::Read| {
        base_archive::check(arriving, |progress| backup::show(&shown, progress))
    };
    let ask = Ask::get(format!("/kbs/{kb}/archive"));
    let arrived = received::receive(house, ask, destination, read).await;
    bar.finish_and_clear();
    let arrived = arrived?;
    let bytes = arrived.bytes;
    let (path, checked) = arrived.keep(destination, |checked: &Checked<Manifest>| {
        format!("{}.tar", checked.manifest.base.slug)
    })?;
    Ok(Exported {
        path,
        bytes,
        manifest: Some(checked.manifest),
    })
}

async fn graph(
    house: &House,
    destination: &Destination,
    ask: Ask,
    called: String,
) -> Result<Exported, Failure> {
    let read = |arriving: &mut dyn io::Read| {
        io::copy(arriving, &mut io::sink()).map_err(|source| BackupError::Io {
            what: "receive it".to_owned(),
            source,
        })
    };
    let arrived = received::receive(house, ask, destination, read).await?;
    let bytes = arrived.bytes;
    let (path, _) = arrived.keep(destination, |_| called)?;
    Ok(Exported {
        path,
        bytes,
        manifest: None,
    })
}

impl Exported {
    /// Says what was saved; a failure if it is whole but what it was made of was not.
    fn print(self, as_json: bool) -> Result<(), Failure> {
        let path = self.path.as_ref().map(|path| path.display().to_string());
        let told = if as_json {
            self.json(path.as_deref()).to_string()
        } else {
            self.sentence(path.as_deref())
        };
        // Where the export itself goes to standard output, what is said of it does not.
        match path {
            Some(_) => output::print(&told),
            None => eprintln!("{told}"),
        }
        let lost: Vec<String> = self
            .manifest
            .map(|manifest| [manifest.missing, manifest.damaged].concat())
            .unwrap_or_default();
        match lost.first() {
            None => Ok(()),
            Some(first) => Err(Failure::local(format!(
                "the archive is kept, but {} of the documents' files were missing or damaged \
                 already, such as `{first}`; `quipu verify` names them",
                lost.len()
            ))),
        }
    }

    fn json(&self, path: Option<&str>) -> Value {
        let mut told = json!({ "path": path, "bytes": self.bytes });
        if let Some(manifest) = &self.manifest {
            told["base"] = json!(manifest.base);
            told["tables"] = json!(manifest.tables);
            told["blobs"] = json!(manifest.blobs);
            told["missing"] = json!(manifest.missing);
            told["damaged"] = json!(manifest.damaged);
        }
        told
    }

    fn sentence(&self, path: Option<&str>) -> String {
        let size = indicatif::BinaryBytes(self.bytes);
        let path = path.map(|path| format!("{path}  ")).unwrap_or_default();
        match &self.manifest {
            None => format!("{path}{size}"),
            Some(manifest) => format!(
                "{path}{size}: `{}` as of {}, {} rows, {} files of documents",
                manifest.base.slug,
                manifest.base.clock,
                manifest.tables.values().sum::<u64>(),
                manifest.blobs.count
            ),
        }
    }
}
