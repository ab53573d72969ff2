//! Tables as Markdown, one line a row.

/// Columns a Markdown table may have; a row beyond goes on without being filled up.
const COLUMNS_FILLED: usize = 256;

/// Text fit for a cell: on one line, with its bars escaped.
pub(super) fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        for letter in word.chars() {
            if letter == '|' {
                out.push('\\');
            }
            out.push(letter);
        }
    }
    out
}

/// One row of a table. `cells` are plain text.
pub(super) fn row<S: AsRef<str>>(cells: &[S], columns: usize) -> String {
    let mut out = String::from("|");
    for text in cells {
        out.push(' ');
        out.push_str(&cell(text.as_ref()));
        out.push_str(" |");
    }
    for _ in cells.len()..columns.min(COLUMNS_FILLED) {
        out.push_str("  |");
    }
    out
}

/// The line between a table's head and its rows.
pub(super) fn rule(columns: usize) -> String {
    format!("|{}", " --- |".repeat(columns.max(1)))
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
        out.push_str(&row(cells, columns));
        if index == 0 {
            out.push('\n');
            out.push_str(&rule(columns.max(cells.len())));
        }
    }
    out
}
