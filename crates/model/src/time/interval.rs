//! A stretch of world time, half-open, in UTC microseconds since 1970.

/// An interval that begins here has no beginning. It is compared and never added to.
pub const OPEN_START: i64 = i64::MIN;
/// An interval that ends here has no end. It is compared and never added to.
pub const OPEN_END: i64 = i64::MAX;

/// From the first instant up to, and without, the second; never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Interval {
    from: i64,
    to: i64,
}

impl Interval {
    /// All of time.
    pub const ALWAYS: Self = Self {
        from: OPEN_START,
        to: OPEN_END,
    };

    /// The interval from `from` up to `to`; none if it would be empty.
    pub fn new(from: i64, to: i64) -> Option<Self> {
        (from < to).then_some(Self { from, to })
    }

    /// Its first instant, or [`OPEN_START`].
    pub const fn from(self) -> i64 {
        self.from
    }

    /// The first instant after it, or [`OPEN_END`].
    pub const fn to(self) -> i64 {
        self.to
    }

    /// Whether the two share an instant.
    pub const fn overlaps(self, other: Self) -> bool {
        self.from < other.to && other.from < self.to
    }

    /// What the two share.
    pub fn intersection(self, other: Self) -> Option<Self> {
        Self::new(self.from.max(other.from), self.to.min(other.to))
    }

    /// This interval up to an instant, if anything of it stands before.
    pub fn until(self, end: i64) -> Option<Self> {
        Self::new(self.from, self.to.min(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_does_not_overlap_the_one_that_begins_where_it_ends() {
        let (a, b) = (Interval::new(0, 5).unwrap(), Interval::new(5, 9).unwrap());

        assert!(!a.overlaps(b) && !b.overlaps(a));
        assert_eq!(a.intersection(b), None);
        assert_eq!(Interval::ALWAYS.intersection(a), Some(a));
        assert_eq!(Interval::new(5, 5), None);
    }
}
