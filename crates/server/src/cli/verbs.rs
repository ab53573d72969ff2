//! Verbs made from the operations: words, flags, help and errors come from the one table.

use std::collections::BTreeMap;
use std::io::BufRead;

use bytes::Bytes;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command};
use http::Method;
use kernel::arguments::{Argument, Shape};
use kernel::{Effect, Registered, Registry, TargetKind};
use serde_json::{Map, Value};

use super::house::{Ask, House, Needs, encoded};
use super::{Failure, output};

/// Argument under which operations take a list of bases; on the command line it is `--base`.
const BASES: &str = "kb_ids";

/// Lists that are given one by one, and the flag for one.
const ONE_BY_ONE: &[(&str, &str)] = &[(BASES, "base"), ("packs", "pack")];

/// The file of an operation that takes one.
const FILE: &str = "file";

/// Argument under which the file's name goes with it.
const FILENAME: &str = "filename";

/// Argument that names a source; on the command line its name will do.
const SOURCE: &str = "source_id";

/// What the first words of verbs mean.
const GROUPS: &[(&str, &str)] = &[
    ("base", "Bases and their members"),
    ("document", "Documents of a base"),
    (
        "entity",
        "What facts are about: people, companies, places, anything with a name",
    ),
    (
        "fact",
        "What is held to be true, from when to when, and what it rests on",
    ),
    ("models", "Models that make searches find what is meant"),
    (
        "ontology",
        "The words for facts: types of entities, types of relations",
    ),
    ("source", "Where the documents of a base come from"),
    ("token", "Personal tokens"),
    ("user", "People"),
];

/// Adds a verb per operation that has one.
pub fn add_to(root: Command, registry: &Registry) -> Command {
    let mut groups: BTreeMap<&'static str, Vec<Command>> = BTreeMap::new();
    let mut root = root;
    for registered in registry.iter() {
        let Some(cli) = registered.entry.spec.cli else {
            continue;
        };
        match cli.verb.split_once(' ') {
            Some((group, word)) => groups
                .entry(group)
                .or_default()
                .push(verb(word, registered)),
            None => root = root.subcommand(verb(cli.verb, registered)),
        }
    }
    for (group, verbs) in groups {
        let about = GROUPS
            .iter()
            .find(|(name, _)| *name == group)
            .map_or("", |(_, about)| about);
        let command = Command::new(group)
            .about(about)
            .subcommand_required(true)
            .arg_required_else_help(true);
        root = root.subcommand(command.subcommands(verbs));
    }
    root
}

fn verb(word: &'static str, registered: &Registered) -> Command {
    let mut command = Command::new(word)
        .about(summary(&registered.description))
        .long_about(registered.description.clone());
    let positional = registered
        .entry
        .spec
        .cli
        .map_or(&[][..], |cli| cli.positional);
    for argument in registered.table.iter() {
        let place = positional.iter().position(|name| *name == argument.name);
        command = command.arg(arg(argument, place));
    }
    if registered.entry.spec.upload {
        let file = Arg::new(FILE)
            .value_name("FILE")
            .index(positional.len() + 1);
        command = command.arg(file.help("The file that is sent"));
    }
    if registered.entry.target == TargetKind::Base {
        let base = Arg::new("base").long("base").value_name("BASE");
        command = command
            .arg(base.help("The base: its name, slug or id; the only one there is if absent"));
    }
    command
}

/// The first paragraph, in one line.
fn summary(description: &str) -> String {
    let paragraph = description.split("\n\n").next().unwrap_or_default();
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn arg(argument: &Argument, place: Option<usize>) -> Arg {
    let name = flag_of(&argument.name).to_owned();
    let mut help = argument.description.clone();
    if argument.name == BASES {
        help.push_str(" Name, slug or id; may be repeated.");
    } else if name != argument.name {
        help.push_str(" May be repeated.");
    }
    let mut arg = Arg::new(name.clone())
        .help(help)
        .value_name(name.to_uppercase());
    arg = match place {
        Some(place) => arg.index(place + 1).required(argument.required),
        None => arg.long(name.replace('_', "-")).required(argument.required),
    };
    if !argument.choices.is_empty() {
        arg = arg.value_parser(PossibleValuesParser::new(argument.choices.clone()));
    }
    match argument.shape {
        Shape::Boolean if place.is_none() => arg.action(ArgAction::SetTrue).num_args(0),
        Shape::List => arg.action(ArgAction::Append),
        _ if place.is_none() => arg.allow_hyphen_values(true),
        _ => arg,
    }
}

/// The flag of an argument.
fn flag_of(argument: &str) -> &str {
    let known = ONE_BY_ONE.iter().find(|(list, _)| *list == argument);
    known.map_or(argument, |(_, one)| one)
}

/// Runs the verb that was given.
pub async fn run(registry: Registry, matches: &ArgMatches) -> Result<(), Failure> {
    let (words, own) = verb_of(matches);
    let known = registry
        .iter()
        .find(|one| one.entry.spec.cli.is_some_and(|cli| cli.verb == words));
    let Some(registered) = known else {
        return Err(Failure::wrong(format!("`{words}` is no verb")));
    };
    let mut given = given(registered, own)?;
    let file = if registered.entry.spec.upload {
        Some(file(registered, own, &mut given)?)
    } else {
        None
    };
    // The house takes the registry, so what is needed of it is looked up again there.
    let plan = Plan::of(registered, given, file);
    let needs = needs(registered);
    let house = House::open(registry, own, needs).await?;
    let outcome = plan.ask(&house, own).await;
    house.close().await;
    output::print(&outcome?);
    Ok(())
}

/// Only what adds to an organisation can be the first thing that is done.
fn needs(registered: &Registered) -> Needs {
    match (registered.entry.target, registered.entry.spec.effect) {
        (TargetKind::Tenant | TargetKind::Account, Effect::Write) => Needs::Nothing,
        _ => Needs::Deployment,
    }
}

fn verb_of(matches: &ArgMatches) -> (String, &ArgMatches) {
    let mut words = Vec::new();
    let mut own = matches;
    while let Some((word, deeper)) = own.subcommand() {
        words.push(word);
        own = deeper;
    }
    (words.join(" "), own)
}

/// The arguments that were given, as text; `-` reads a line of standard input, for secrets.
fn given(registered: &Registered, matches: &ArgMatches) -> Result<Map<String, Value>, Failure> {
    let mut given = Map::new();
    for argument in registered.table.iter() {
        let name = flag_of(&argument.name);
        let is_flag = argument.shape == Shape::Boolean
            && matches
                .try_get_one::<bool>(name)
                .is_ok_and(|found| found.is_some());
        if is_flag {
            if matches.get_flag(name) {
                given.insert(argument.name.clone(), Value::Bool(true));
            }
            continue;
        }
        let Some(values) = matches.get_many::<String>(name) else {
            continue;
        };
        let mut values: Vec<Value> = values
            .map(|value| read_dash(value).map(Value::String))
            .collect::<Result<_, _>>()?;
        let is_written = |value: &Value| value.as_str().is_some_and(|text| text.starts_with('['));
        let value = match argument.shape {
            // A list that is written as JSON is read as such.
            Shape::List if !(values.len() == 1 && is_written(&values[0])) => Value::Array(values),
            _ => values.pop().unwrap_or_default(),
        };
        given.insert(argument.name.clone(), value);
    }
    Ok(given)
}

/// The bytes of the file that was named, none if none was; its name is added to the arguments.
fn file(
    registered: &Registered,
    matches: &ArgMatches,
    given: &mut Map<String, Value>,
) -> Result<Bytes, Failure> {
    let Some(path) = matches.get_one::<String>(FILE) else {
        return Ok(Bytes::new());
    };
    let bytes = std::fs::read(path);
    let bytes = bytes.map_err(|error| Failure::wrong(format!("cannot read {path}: {error}")))?;
    let name = std::path::Path::new(path).file_name();
    if let Some(name) = name.and_then(|name| name.to_str())
        && registered.table.get(FILENAME).is_some()
        && !given.contains_key(FILENAME)
    {
        given.insert(FILENAME.to_owned(), Value::String(name.to_owned()));
    }
    Ok(bytes.into())
}

fn read_dash(value: &str) -> Result<String, Failure> {
    if value != "-" {
        return Ok(value.to_owned());
    }
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.map_err(|error| Failure::local(format!("standard input cannot be read: {error}")))?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// A call of an operation, without the registry.
struct Plan {
    method: Method,
    path: &'static str,
    reads: bool,
    is_about_base: bool,
    given: Map<String, Value>,
    /// The file, for an operation whose body is one.
    file: Option<Bytes>,
}

impl Plan {
    fn of(registered: &Registered, given: Map<String, Value>, file: Option<Bytes>) -> Self {
        let spec = &registered.entry.spec;
        let (method, path) = spec.route.expect("an operation with a verb has a route");
        Self {
            method: method
                .name()
                .parse()
                .expect("the names of methods are HTTP's"),
            path,
            reads: spec.effect == Effect::Read || method == kernel::Method::Delete,
            is_about_base: registered.entry.target == TargetKind::Base,
            given,
            file,
        }
    }

    async fn ask(mut self, house: &House, matches: &ArgMatches) -> Result<String, Failure> {
        if let Some(Value::Array(bases)) = self.given.get_mut(BASES) {
            for base in bases {
                let id = house.base(base.as_str()).await?;
                *base = Value::String(id.to_string());
            }
        }
        let mut path = self.path.to_owned();
        if self.is_about_base {
            let wished = matches.get_one::<String>("base").map(String::as_str);
            if path.contains("{kb_id}") {
                path = path.replace("{kb_id}", &house.base(wished).await?.to_string());
            }
            if let Some(Value::String(source)) = self.given.get_mut(SOURCE) {
                *source = house.source(wished, source).await?;
            }
        }
        self.given.retain(|name, value| {
            let mark = format!("{{{name}}}");
            let in_path = path.contains(&mark);
            if in_path {
                path = path.replace(&mark, &encoded(value.as_str().unwrap_or_default()));
            }
            !in_path
        });
        let body = if let Some(file) = self.file {
            path.push_str(&query_of(&self.given));
            Some((file, "application/octet-stream"))
        } else if self.reads {
            path.push_str(&query_of(&self.given));
            None
        } else {
            Some((
                Bytes::from(Value::Object(self.given).to_string()),
                "application/json",
            ))
        };
        let text = !matches.get_flag("json");
        let (status, answer) = house
            .send(Ask {
                method: self.method,
                path,
                body,
                text,
            })
            .await?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        if status.is_success() {
            return Ok(answer);
        }
        let body = serde_json::from_str(&answer);
        Err(body.map_or_else(
            |_| Failure::local(format!("the server answered {status}")),
            Failure::refused,
        ))
    }
}

fn query_of(given: &Map<String, Value>) -> String {
    let mut query = String::new();
    for (name, value) in given {
        let values = match value {
            Value::Array(list) => list.clone(),
            one => vec![one.clone()],
        };
        for value in values {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            let sign = if query.is_empty() { '?' } else { '&' };
            query.push_str(&format!("{sign}{}={}", encoded(name), encoded(&text)));
        }
    }
    query
}
