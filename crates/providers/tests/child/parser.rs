//! A parser's child that behaves as its file's format says: well, or badly in one of many ways.

use std::hint::black_box;
use std::process::ExitCode;

use model::document::{ParsedDocument, Section};
use providers::{ParserLimits, serve_parser};

fn main() -> ExitCode {
    let limits = ParserLimits {
        cpu_seconds: 1,
        ..ParserLimits::default()
    };
    match serve_parser(limits, behave) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn behave(format: &str, filename: &str, file: &[u8]) -> Result<ParsedDocument, String> {
    match format {
        "echo" => Ok(document(
            filename,
            String::from_utf8_lossy(file).into_owned(),
        )),
        "length" => Ok(document(filename, file.len().to_string())),
        "process" => Ok(document(filename, std::process::id().to_string())),
        "environment" => Ok(document(filename, std::env::vars_os().count().to_string())),
        "open" => match std::fs::File::open("/etc/passwd") {
            Ok(_) => Ok(document(filename, "opened".into())),
            Err(_) => Err("no file can be opened".into()),
        },
        "refuse" => Err(format!("{filename} is encrypted")),
        "panic" => panic!("a secret of the document"),
        "exit" => std::process::exit(3),
        "abort" => std::process::abort(),
        "overflow" => Ok(document(filename, deep(file.len() as u64).to_string())),
        "hoard" => Ok(document(filename, "x".repeat(2 << 30))),
        "babble" => Ok(document(filename, "x".repeat(4 << 20))),
        "chatter" => {
            println!("this is no frame");
            Ok(document(filename, "read".into()))
        }
        "spin" => loop {
            black_box(0);
        },
        "wait" => loop {
            std::thread::park();
        },
        _ => Err(format!("no parser reads {format}")),
    }
}

fn document(title: &str, body: String) -> ParsedDocument {
    let section = Section {
        body,
        ..Section::default()
    };
    ParsedDocument {
        title: Some(title.into()),
        sections: vec![section],
        ..ParsedDocument::default()
    }
}

#[expect(unconditional_recursion, reason = "the stack is meant to overflow")]
fn deep(depth: u64) -> u64 {
    black_box(deep(black_box(depth + 1)) + 1)
}
