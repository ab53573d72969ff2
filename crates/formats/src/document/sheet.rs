//! The tables of a spreadsheet: a sheet is cut at its empty rows and columns.

use super::table;

/// Cells of one sheet kept at once; more is refused by the readers.
pub(super) const CELLS_MAX: usize = 20_000_000;

/// Cells that one merged area fills.
const MERGED_MAX: usize = 4096;

/// The cells of a sheet, as text.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    rows: Vec<(usize, Vec<(usize, String)>)>,
}

impl Sheet {
    /// Adds a row below all before it. `cells` are in order of their columns.
    pub(super) fn row(&mut self, at: usize, cells: Vec<(usize, String)>) {
        if cells.iter().any(|(_, text)| !text.trim().is_empty()) {
            self.rows.push((at, cells));
        }
    }

    /// Writes the text of a merged area's first cell into all of it.
    pub(super) fn merge(&mut self, rows: (usize, usize), columns: (usize, usize)) {
        let area = (rows.1.saturating_sub(rows.0) + 1)
            .saturating_mul(columns.1.saturating_sub(columns.0) + 1);
        if area > MERGED_MAX {
            return;
        }
        let Some(text) = self.text(rows.0, columns.0).map(str::to_owned) else {
            return;
        };
        // Only rows that have other text: a tall title is no table.
        for (at, cells) in self
            .rows
            .iter_mut()
            .filter(|(at, _)| (rows.0..=rows.1).contains(at))
        {
            for column in columns.0..=columns.1 {
                if (*at, column) == (rows.0, columns.0) {
                    continue;
                }
                match cells.binary_search_by_key(&column, |(column, _)| *column) {
                    Ok(place) => cells[place].1.clone_from(&text),
                    Err(place) => cells.insert(place, (column, text.clone())),
                }
            }
        }
    }

    fn text(&self, row: usize, column: usize) -> Option<&str> {
        let place = self.rows.binary_search_by_key(&row, |(at, _)| *at).ok()?;
        let cells = &self.rows[place].1;
        let place = cells
            .binary_search_by_key(&column, |(column, _)| *column)
            .ok()?;
        Some(&cells[place].1)
    }

    /// The tables of the sheet as Markdown, from the top, side by side from the left.
    pub(super) fn tables(self) -> Vec<String> {
        let mut out = Vec::new();
        cut(self.rows, &mut out);
        out
    }
}

type Rows = Vec<(usize, Vec<(usize, String)>)>;

/// Cuts at empty rows, then at empty columns between what looks like two tables.
fn cut(rows: Rows, out: &mut Vec<String>) {
    let mut blocks: Vec<Rows> = Vec::new();
    for row in rows {
        match blocks.last_mut() {
            Some(block) if block.last().is_some_and(|(last, _)| last + 1 == row.0) => {
                block.push(row);
            }
            _ => blocks.push(vec![row]),
        }
    }
    for block in blocks {
        match side_by_side(&block) {
            Some(column) => {
                let (mut left, mut right) = (Rows::new(), Rows::new());
                for (at, cells) in block {
                    let (before, after): (Vec<_>, Vec<_>) =
                        cells.into_iter().partition(|(place, _)| *place < column);
                    for (side, cells) in [(&mut left, before), (&mut right, after)] {
                        if cells.iter().any(|(_, text)| !text.trim().is_empty()) {
                            side.push((at, cells));
                        }
                    }
                }
                cut(left, out);
                cut(right, out);
            }
            None => out.push(markdown(&block)),
        }
    }
}

/// Columns that hold any text, in order.
fn columns(block: &Rows) -> Vec<usize> {
    let mut columns: Vec<usize> = Vec::new();
    for (_, cells) in block {
        for (column, text) in cells {
            if !text.trim().is_empty()
                && let Err(place) = columns.binary_search(column)
            {
                columns.insert(place, *column);
            }
        }
    }
    columns
}

/// The first column of a second table beside a first: after an empty one, with two columns or
/// more on both sides. A single column apart is spacing within one table.
fn side_by_side(block: &Rows) -> Option<usize> {
    let columns = columns(block);
    let gaps: Vec<usize> = (1..columns.len())
        .filter(|at| columns[*at] > columns[at - 1] + 1)
        .collect();
    gaps.iter()
        .enumerate()
        .find(|(index, at)| {
            let before = index.checked_sub(1).map_or(0, |before| gaps[before]);
            let after = gaps.get(index + 1).copied().unwrap_or(columns.len());
            **at - before >= 2 && after - **at >= 2
        })
        .map(|(_, at)| columns[*at])
}

fn markdown(block: &Rows) -> String {
    let columns = columns(block);
    let rows: Vec<Vec<&str>> = block
        .iter()
        .map(|(_, cells)| {
            let mut row = vec![""; columns.len()];
            for (column, text) in cells {
                if let Ok(place) = columns.binary_search(column) {
                    row[place] = text;
                }
            }
            row
        })
        .collect();
    table::markdown(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet(rows: &[(usize, &[(usize, &str)])]) -> Vec<String> {
        let mut sheet = Sheet::default();
        for (at, cells) in rows {
            sheet.row(
                *at,
                cells
                    .iter()
                    .map(|(column, text)| (*column, (*text).to_owned()))
                    .collect(),
            );
        }
        sheet.tables()
    }

    #[test]
    fn an_empty_row_parts_two_tables() {
        let tables = sheet(&[(0, &[(0, "a"), (1, "b")]), (2, &[(0, "c"), (1, "d")])]);

        assert_eq!(tables.len(), 2);
    }

    #[test]
    fn an_empty_column_parts_two_tables_but_not_a_single_column() {
        let beside = sheet(&[(0, &[(0, "a"), (1, "b"), (3, "c"), (4, "d")])]);
        let spaced = sheet(&[(0, &[(0, "a"), (1, "b"), (3, "c")])]);

        assert_eq!(beside.len(), 2);
        assert_eq!(spaced, ["| a | b | c |\n| --- | --- | --- |"]);
    }
}
