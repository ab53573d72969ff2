//! A parser's child that reads a little Markdown, so that stories need no real parser.

use std::process::ExitCode;

use model::document::{DateSource, DocumentDate, ParsedDocument, Section};
use providers::{ParserLimits, serve_parser};

fn main() -> ExitCode {
    match serve_parser(ParserLimits::default(), parse) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn parse(_: &str, filename: &str, file: &[u8]) -> Result<ParsedDocument, String> {
    let text = std::str::from_utf8(file).map_err(|_| format!("`{filename}` is not text"))?;
    let mut parsed = ParsedDocument::default();
    let mut section = Section::default();
    let mut path: Vec<String> = Vec::new();
    for line in text.split_inclusive('\n') {
        let marks = line.chars().take_while(|&c| c == '#').count();
        if 0 < marks {
            put(&mut parsed, section);
            path.truncate(marks - 1);
            path.push(line[marks..].trim().to_owned());
            section = Section {
                heading_path: path.clone(),
                body: String::new(),
            };
        } else if let Some(date) = line.strip_prefix("Date: ") {
            let value = date.parse().map_err(|_| "the date is no date".to_owned())?;
            parsed.date = Some(DocumentDate {
                value,
                source: DateSource::Content,
            });
        } else {
            section.body.push_str(line);
        }
    }
    put(&mut parsed, section);
    Ok(parsed)
}

fn put(parsed: &mut ParsedDocument, section: Section) {
    let body = section.body.trim().to_owned();
    if !body.is_empty() || !section.heading_path.is_empty() {
        parsed.sections.push(Section { body, ..section });
    }
}
