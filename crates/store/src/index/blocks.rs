//! A long list of rows in shared blocks: a copy costs a pointer for each block, and a change
//! copies only the blocks that it touches. So a search keeps the list as it was while it grows.

use std::sync::Arc;

/// Rows of a block.
const BLOCK: usize = 1024;

/// Rows of `width` values each.
#[derive(Debug, Clone)]
pub(super) struct Blocks<T> {
    width: usize,
    rows: usize,
    full: Vec<Arc<Vec<T>>>,
}

impl<T> Default for Blocks<T> {
    fn default() -> Self {
        Self::of_width(1)
    }
}

impl<T> Blocks<T> {
    /// No rows yet, of `width` values each.
    pub(super) const fn of_width(width: usize) -> Self {
        Self {
            width,
            rows: 0,
            full: Vec::new(),
        }
    }

    /// How many rows there are.
    pub(super) const fn len(&self) -> usize {
        self.rows
    }

    /// The row, if there is one.
    pub(super) fn row(&self, row: usize) -> Option<&[T]> {
        if self.rows <= row {
            return None;
        }
        let start = row % BLOCK * self.width;
        self.full[row / BLOCK].get(start..start + self.width)
    }

    /// The first value of the row, if there is one.
    pub(super) fn at(&self, row: usize) -> Option<&T> {
        self.row(row)?.first()
    }

    /// The values of each block in order, whole rows each.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &[T]> {
        self.full.iter().map(|block| block.as_slice())
    }

    /// All values in order.
    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.full.iter().flat_map(|block| block.iter())
    }
}

impl<T: Clone> Blocks<T> {
    /// Adds a row.
    pub(super) fn push(&mut self, row: &[T]) {
        debug_assert_eq!(row.len(), self.width, "rows are of one width");
        if self.rows.is_multiple_of(BLOCK) {
            self.full.push(Arc::default());
        }
        let last = self.full.last_mut().expect("pushed above");
        Arc::make_mut(last).extend_from_slice(row);
        self.rows += 1;
    }

    /// Adds rows of `value` until there are `rows`.
    pub(super) fn grow(&mut self, rows: usize, value: T) {
        while self.rows < rows {
            if self.rows.is_multiple_of(BLOCK) {
                self.full.push(Arc::default());
            }
            let room = (BLOCK - self.rows % BLOCK).min(rows - self.rows);
            let last = Arc::make_mut(self.full.last_mut().expect("pushed above"));
            last.resize(last.len() + room * self.width, value.clone());
            self.rows += room;
        }
    }

    /// The row to be changed, if there is one.
    pub(super) fn row_mut(&mut self, row: usize) -> Option<&mut [T]> {
        if self.rows <= row {
            return None;
        }
        let start = row % BLOCK * self.width;
        Arc::make_mut(&mut self.full[row / BLOCK]).get_mut(start..start + self.width)
    }

    /// The first value of the row to be changed, if there is one.
    pub(super) fn at_mut(&mut self, row: usize) -> Option<&mut T> {
        self.row_mut(row)?.first_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_stays_as_it_was_while_the_list_grows_and_changes() {
        let mut list = Blocks::of_width(2);
        for n in 0..3000 {
            list.push(&[n, -n]);
        }
        let before = list.clone();

        list.push(&[1, 1]);
        list.row_mut(1500).unwrap()[0] = 7;
        list.grow(5000, 9);

        assert_eq!((before.len(), list.len()), (3000, 5000));
        assert_eq!(before.row(1500), Some(&[1500, -1500][..]));
        assert_eq!(list.row(1500), Some(&[7, -1500][..]));
        assert_eq!(
            (before.row(3000), list.row(4999)),
            (None, Some(&[9, 9][..]))
        );
        assert_eq!(before.values().count(), 6000);
        assert!(before.values().copied().eq((0..3000).flat_map(|n| [n, -n])));
        assert!(
            Arc::ptr_eq(&before.full[0], &list.full[0])
                && !Arc::ptr_eq(&before.full[1], &list.full[1]),
            "a block that was not touched is shared"
        );
    }
}
