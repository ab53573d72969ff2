//! Judged sets, read as they are found: by their form, never by a file's name.

mod conversations;
mod paragraphs;
mod trec;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use model::document::{ParsedDocument, Section};

use crate::Failure;

/// Larger files are no judged sets; some corpora hold databases.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Documents, questions, and what answers each.
pub struct Set {
    /// The sets of one name are reported as one.
    pub name: String,
    pub kind: Kind,
    pub documents: Vec<ParsedDocument>,
    pub questions: Vec<Question>,
}

/// What is judged, and so what is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One paragraph answers: each is a document, in one language a set.
    Paragraphs,
    /// Some turns answer: each is a section of the document that its session is.
    Conversations,
    /// Some documents are relevant.
    Documents,
}

pub struct Question {
    pub text: String,
    /// Document and section (0 where documents are judged), and how much it is worth.
    pub wanted: HashMap<(usize, usize), f64>,
    pub part: Part,
}

/// Whether constants of the product were tuned on the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Tuned,
    Held,
}

impl Part {
    pub const ALL: [Part; 2] = [Part::Tuned, Part::Held];

    pub fn name(self) -> &'static str {
        match self {
            Part::Tuned => "tuned",
            Part::Held => "held",
        }
    }
}

/// A file of a folder.
struct File {
    path: PathBuf,
    content: String,
}

impl File {
    fn stem(&self) -> String {
        let stem = self.path.file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    }
}

/// All judged sets in the folder and the folders below it whose path says one of `only`, or any.
pub fn read(folder: &Path, only: &[String]) -> Result<Vec<Set>, Failure> {
    let mut folders = vec![folder.to_owned()];
    let mut sets = Vec::new();
    while let Some(folder) = folders.pop() {
        let (mut files, mut below) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(&folder)?.flatten() {
            let (path, about) = (entry.path(), fs::metadata(entry.path())?);
            if about.is_dir() {
                below.push(path);
            } else if about.len() <= FILE_BYTES_MAX {
                files.push(path);
            }
        }
        below.sort();
        folders.extend(below.into_iter().rev());
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        if !only.is_empty() && !only.iter().any(|part| name.contains(part.as_str())) {
            continue;
        }
        files.sort();
        let files: Vec<File> = files
            .into_iter()
            .filter_map(|path| {
                let bytes = fs::read(&path).ok()?;
                let content = String::from_utf8_lossy(&bytes).into_owned();
                Some(File { path, content })
            })
            .collect();
        sets.extend(trec::read(&name, &files));
        let values: Vec<(&File, serde_json::Value)> = files
            .iter()
            .filter(|file| file.content.trim_start().starts_with(['{', '[']))
            .filter_map(|file| Some((file, serde_json::from_str(&file.content).ok()?)))
            .collect();
        sets.extend(conversations::read(&name, &values));
        sets.extend(paragraphs::read(&values));
    }
    sets.retain(|set| !set.questions.is_empty());
    Ok(sets)
}

/// A document of one section.
fn plain(title: Option<String>, body: &str) -> ParsedDocument {
    ParsedDocument {
        title,
        sections: vec![section(body)],
        ..ParsedDocument::default()
    }
}

fn section(body: &str) -> Section {
    Section {
        heading_path: Vec::new(),
        body: body.trim().to_owned(),
    }
}
