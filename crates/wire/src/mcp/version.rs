//! Revisions of the protocol that we speak.

/// A released revision. Later ones are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// 2024-11-05.
    V2024_11_05,
    /// 2025-03-26: the one with batches.
    V2025_03_26,
    /// 2025-06-18: what the manual documents.
    V2025_06_18,
    /// 2025-11-25: the last that opens with `initialize`.
    V2025_11_25,
    /// 2026-07-28: stateless.
    V2026_07_28,
}

impl Version {
    /// Every revision, oldest first.
    pub const ALL: [Version; 5] = [
        Version::V2024_11_05,
        Version::V2025_03_26,
        Version::V2025_06_18,
        Version::V2025_11_25,
        Version::V2026_07_28,
    ];

    /// Its date, as it stands on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Version::V2024_11_05 => "2024-11-05",
            Version::V2025_03_26 => "2025-03-26",
            Version::V2025_06_18 => "2025-06-18",
            Version::V2025_11_25 => "2025-11-25",
            Version::V2026_07_28 => "2026-07-28",
        }
    }

    /// Reads a date off the wire; `None` if it is no revision of ours.
    pub fn read(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.name() == name)
    }

    /// Whether it carries its metadata with each request instead of a handshake.
    pub const fn is_modern(self) -> bool {
        matches!(self, Version::V2026_07_28)
    }
}

/// Under which rules a message is read and answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    /// A revision that opens with `initialize`.
    Legacy(Version),
    /// 2026-07-28.
    Modern,
}

impl Era {
    /// Its revision.
    pub const fn version(self) -> Version {
        match self {
            Era::Legacy(version) => version,
            Era::Modern => Version::V2026_07_28,
        }
    }
}

/// The revision that `initialize` is answered with: the requested one, or 2025-06-18 if it is
/// absent, unknown, or one without `initialize`.
pub fn negotiate(requested: Option<&str>) -> Version {
    requested
        .and_then(Version::read)
        .filter(|version| !version.is_modern())
        .unwrap_or(Version::V2025_06_18)
}

/// Every revision's date, newest first.
pub fn supported() -> Vec<&'static str> {
    Version::ALL
        .iter()
        .rev()
        .map(|version| version.name())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initialize_echoes_a_known_revision_and_counter_offers_for_any_other() {
        for version in &Version::ALL[..4] {
            assert_eq!(negotiate(Some(version.name())), *version);
        }
        for other in [
            None,
            Some("2026-07-28"),
            Some("2027-01-01"),
            Some(""),
            Some("1"),
        ] {
            assert_eq!(negotiate(other), Version::V2025_06_18);
        }
    }

    #[test]
    fn revisions_are_ordered_by_their_dates() {
        assert!(Version::ALL.is_sorted());
        assert!(Version::ALL.map(Version::name).is_sorted());
    }
}
