//! How much of the reference texts the parsers find.
//!
//! Reads `$QUIPU_CORPORA/documents` (or the folder given): each file `X` that has an
//! `X.expected.md`. Recall is the share of the reference's 5-grams, of words and of characters,
//! counted with their number, that the parsed text has too; both sides after NFKC, with Markdown
//! marks (also the numbers of lists), comments and LaTeX removed. A word is a run of letters or a
//! run of digits, so that `H₂O` and `H 2 O` are the same three. Pooled per format; `drawingml*` and `right_to_left_02*`
//! stand apart. Prints a table, then one JSON line a file when `--files` is given.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use formats::document::{Format, Limits, parse};
use model::document::ParsedDocument;
use unicode_normalization::UnicodeNormalization;

/// Words or characters in a gram.
const GRAM: usize = 5;

#[derive(Default, Clone, Copy)]
struct Recall {
    found: usize,
    wanted: usize,
}

impl Recall {
    fn of(expected: &[String], parsed: &[String]) -> Recall {
        // A reference shorter than a gram is one gram.
        let size = GRAM.min(expected.len()).max(1);
        let mut known: HashMap<&[String], usize> = HashMap::new();
        for gram in parsed.windows(size) {
            *known.entry(gram).or_default() += 1;
        }
        let mut recall = Recall::default();
        for gram in expected.windows(size) {
            recall.wanted += 1;
            if let Some(left) = known.get_mut(gram).filter(|left| **left > 0) {
                *left -= 1;
                recall.found += 1;
            }
        }
        recall
    }

    fn add(&mut self, other: Recall) {
        self.found += other.found;
        self.wanted += other.wanted;
    }

    fn share(self) -> f64 {
        if self.wanted == 0 {
            1.0
        } else {
            self.found as f64 / self.wanted as f64
        }
    }
}

fn main() {
    let mut folder = None;
    let mut each = false;
    let mut show = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--files" => each = true,
            "--show" => show = arguments.next(),
            _ => folder = Some(PathBuf::from(argument)),
        }
    }
    if let Some(file) = show {
        print!(
            "{}",
            text_of(Path::new(&file)).unwrap_or_else(|error| error)
        );
        return;
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "a measuring tool, told where the corpora are"
    )]
    let corpora = std::env::var_os("QUIPU_CORPORA");
    let Some(folder) = folder.or(corpora.map(|corpora| Path::new(&corpora).join("documents")))
    else {
        println!("QUIPU_CORPORA is not set: nothing to measure");
        return;
    };
    let mut files = Vec::new();
    gather(&folder, &mut files);
    files.sort();
    let mut pooled: BTreeMap<String, (usize, Recall, Recall)> = BTreeMap::new();
    for file in files {
        let reference = PathBuf::from(format!("{}.expected.md", file.display()));
        let Ok(expected) = fs::read_to_string(reference) else {
            continue;
        };
        let name = file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let parsed = text_of(&file);
        let error = parsed.as_ref().err().cloned();
        let (expected, parsed) = (plain(&expected), plain(&parsed.unwrap_or_default()));
        let words = Recall::of(&words(&expected), &words(&parsed));
        let letters = Recall::of(&letters(&expected), &letters(&parsed));
        let extension = file
            .extension()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let apart = ["drawingml", "right_to_left_02"]
            .iter()
            .any(|apart| name.starts_with(apart));
        let pool = pooled
            .entry(if apart { name.clone() } else { extension })
            .or_default();
        pool.0 += 1;
        pool.1.add(words);
        pool.2.add(letters);
        if each {
            println!(
                "{}",
                serde_json::json!({
                    "file": name, "words": words.share(), "characters": letters.share(),
                    "grams": words.wanted, "error": error,
                })
            );
        }
    }
    println!(
        "{:<28} {:>5} {:>12} {:>12}",
        "format", "files", "word 5-gram", "char 5-gram"
    );
    for (format, (files, words, letters)) in pooled {
        println!(
            "{format:<28} {files:>5} {:>12.4} {:>12.4}",
            words.share(),
            letters.share()
        );
    }
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            gather(&path, files);
        } else {
            files.push(path);
        }
    }
}

fn document_of(file: &Path) -> Result<ParsedDocument, String> {
    let bytes = fs::read(file).map_err(|error| error.to_string())?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let format = Format::detect(&name, &bytes).map_err(|error| error.to_string())?;
    parse(format, &name, &bytes, &Limits::default()).map_err(|error| error.to_string())
}

fn text_of(file: &Path) -> Result<String, String> {
    let mut out = Vec::new();
    write_markdown(&document_of(file)?, &mut out);
    String::from_utf8(out).map_err(|error| error.to_string())
}

fn write_markdown(document: &ParsedDocument, out: &mut dyn Write) {
    for section in &document.sections {
        if let Some(heading) = section.heading_path.last() {
            let marks = "#".repeat(section.heading_path.len());
            writeln!(out, "{marks} {heading}\n").expect("the output takes all");
        }
        writeln!(out, "{}\n", section.body).expect("the output takes all");
    }
}

/// `markdown` after NFKC, without comments, LaTeX, targets of links and marks.
fn plain(markdown: &str) -> String {
    let text: String = markdown.nfkc().collect();
    let text = without(&text, "<!--", "-->");
    let text = without(&text, "$$", "$$");
    let text = without_line_bound(&text, '$');
    let text = text
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
        .replace("<br>", " ");
    let text: String = text.lines().map(without_list_mark).collect();
    // The target of a link: from `](` to its bracket.
    let text = without(&text, "](", ")");
    text.chars()
        .map(|letter| {
            if "#*_`|[]>-~\\!:+=".contains(letter) {
                ' '
            } else {
                letter
            }
        })
        .collect()
}

/// The line without the number by which Markdown makes it an item of a list.
fn without_list_mark(line: &str) -> String {
    let item = line.trim_start();
    let digits = item.bytes().take_while(u8::is_ascii_digit).count();
    match item[digits..].strip_prefix(". ") {
        Some(text) if 0 < digits => format!("{text}\n"),
        _ => format!("{line}\n"),
    }
}

fn without(text: &str, open: &str, close: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        out.push_str(before);
        out.push(' ');
        if let Some((_, after)) = after.split_once(close) {
            rest = after;
        } else {
            rest = after;
            break;
        }
    }
    out + rest
}

/// Drops what stands between two `mark`s on one line.
fn without_line_bound(text: &str, mark: char) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let parts: Vec<&str> = line.split(mark).collect();
        for (at, part) in parts.iter().enumerate() {
            if at % 2 == 0 || at + 1 == parts.len() {
                out.push_str(part);
            }
        }
        out.push('\n');
    }
    out
}

/// Runs of letters, and runs of digits.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut kind = None;
    for letter in text.chars() {
        let is = letter.is_alphanumeric().then(|| letter.is_numeric());
        match words.last_mut() {
            Some(word) if is.is_some() && is == kind => word.push(letter),
            _ if is.is_some() => words.push(letter.to_string()),
            _ => {}
        }
        kind = is;
    }
    words
}

/// Characters, white space aside.
fn letters(text: &str) -> Vec<String> {
    text.chars()
        .filter(|letter| !letter.is_whitespace())
        .map(|letter| letter.to_string())
        .collect()
}
