//! The `uses:` entry, by which a prompt declares a Pack (book: Declaring Packs under `uses:`).

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::name::{NameError, PackId, PackName, segments};

/// One entry of a prompt's `uses:` list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UsesEntry {
    /// A bare Pack id, which always means the runvil Pack of that id.
    Bare(PackId),
    /// A fully qualified name.
    Qualified(PackName),
}

impl UsesEntry {
    /// The Pack id, under which the run holds the Pack.
    pub fn id(&self) -> PackId {
        match self {
            Self::Bare(id) => id.clone(),
            Self::Qualified(name) => name.id(),
        }
    }

    /// The fully qualified name of the Pack that the entry means.
    pub fn pack_name(&self) -> PackName {
        match self {
            Self::Bare(id) => PackName::runvil(id),
            Self::Qualified(name) => name.clone(),
        }
    }
}

impl FromStr for UsesEntry {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        match segments(text)? {
            1 => text.parse().map(Self::Bare),
            2 => text.parse().map(Self::Qualified),
            _ => Err(NameError::UsesEntrySegments),
        }
    }
}

impl fmt::Display for UsesEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bare(id) => id.fmt(formatter),
            Self::Qualified(name) => name.fmt(formatter),
        }
    }
}

/// As it is written.
impl Serialize for UsesEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_entry_means_the_runvil_pack() {
        let bare: UsesEntry = "web".parse().expect("valid");
        let qualified: UsesEntry = "runvil/web".parse().expect("valid");
        assert_eq!(bare.pack_name(), qualified.pack_name());
        assert_eq!(bare.id(), qualified.id());
        assert_eq!(
            (bare.to_string(), qualified.to_string()),
            ("web".to_owned(), "runvil/web".to_owned())
        );
    }

    #[test]
    fn an_entry_has_one_segment_or_two_and_its_segments_come_first() {
        assert_eq!("acme/web/fetch".parse::<UsesEntry>(), Err(NameError::UsesEntrySegments));
        assert_eq!("acme/kit/Fast".parse::<UsesEntry>(), Err(NameError::CharacterSet));
        assert_eq!("acme/kit/x/".parse::<UsesEntry>(), Err(NameError::EmptySegment));
    }
}
