//! Tables as Markdown, one line a row.

/// Columns a Markdown table may have; a row beyond goes on without being filled up.
pub(super) const COLUMNS_FILLED: usize = 256;

/// Writes `text` fit for a cell: on one line, with its bars escaped.
fn cell_into(out: &mut String, text: &str) {
    let start = out.len();
    for word in text.split_whitespace() {
        if out.len() > start {
            out.push(' ');
        }
        if word.contains('|') {
            out.push_str(&word.replace('|', "\\|"));
        } else {
            out.push_str(word);
        }
    }
}

/// Writes one row of a table, filled up to `columns`. `cells` are plain text.
pub(super) fn row_into<'c>(out: &mut String, cells: impl Iterator<Item = &'c str>, columns: usize) {
    let mut written = 0;
    out.push('|');
    for text in cells {
        out.push(' ');
        cell_into(out, text);
        out.push_str(" |");
        written += 1;
    }
    for _ in written..columns.min(COLUMNS_FILLED) {
        out.push_str("  |");
    }
}

/// The line between a table's head and its rows.
pub(super) fn rule(columns: usize) -> String {
    format!("|{}", " --- |".repeat(columns.max(1)))
}

/// A Markdown table on one line, without its bars.
pub(super) fn flat(markdown: &str) -> String {
    let mut texts = Vec::new();
    for line in markdown.lines().filter(|line| !line.starts_with("| ---")) {
        let line = line.replace("\\|", "\u{1}");
        let cells = line
            .split('|')
            .map(str::trim)
            .filter(|text| !text.is_empty());
        texts.extend(cells.map(|text| text.replace('\u{1}', "|")));
    }
    texts.join(" ")
}

/// A table whose first row is its head. Rows without any text are left away; a table of one
/// cell is its text.
pub(super) fn markdown<S: AsRef<str>>(rows: &[Vec<S>]) -> String {
    let filled: Vec<&Vec<S>> = rows
        .iter()
        .filter(|row| row.iter().any(|text| !text.as_ref().trim().is_empty()))
        .collect();
    let columns = filled.iter().map(|row| row.len()).max().unwrap_or(0);
    if filled.len() == 1 && columns == 1 {
        return filled[0][0].as_ref().trim().to_owned();
    }
    let mut out = String::new();
    for (index, cells) in filled.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        row_into(&mut out, cells.iter().map(AsRef::as_ref), columns);
        if index == 0 {
            out.push('\n');
            out.push_str(&rule(columns.min(COLUMNS_FILLED).max(cells.len())));
        }
    }
    out
}
