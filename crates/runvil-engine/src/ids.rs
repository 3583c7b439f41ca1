//! Identifiers that a run hands out. Each one is built from counters, so a replay repeats it.

use std::{fmt, num::ParseIntError, str::FromStr};

use serde::{Deserialize, Serialize};

/// The id of a chain: the path of child indexes from the main walk, written `0.2.1` (book: Task ids, handles, and origins).
///
/// Ordering compares number by number, which is spawn order among siblings.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ChainId(Vec<u32>);

impl ChainId {
    /// The main walk, chain `0`.
    #[must_use]
    pub fn root() -> Self {
        Self(vec![0])
    }

    /// The chain's child with the given index.
    #[must_use]
    pub fn child(&self, index: u32) -> Self {
        let mut path = self.0.clone();
        path.push(index);
        Self(path)
    }

    /// The chain around this one whose path has the given length; this chain itself where the length is its own.
    ///
    /// # Panics
    /// If the path is shorter than that.
    #[must_use]
    pub fn ancestor(&self, length: usize) -> Self {
        Self(self.0[..length].to_vec())
    }

    /// Whether this chain is `other` or lies below it.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }

    /// The numbers of the path, the root's `0` first.
    #[must_use]
    pub fn components(&self) -> &[u32] {
        &self.0
    }
}

impl fmt::Display for ChainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, component) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(".")?;
            }
            write!(f, "{component}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for ChainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChainId({self})")
    }
}

impl From<ChainId> for String {
    fn from(id: ChainId) -> Self {
        id.to_string()
    }
}

/// A text that is not a dotted path of decimal components.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid chain id `{text}`: required a dot-separated path of decimal components")]
pub struct InvalidChainId {
    /// The text as given.
    pub text: String,
}

impl FromStr for ChainId {
    type Err = InvalidChainId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let component = |part: &str| -> Result<u32, Option<ParseIntError>> {
            if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
                return Err(None);
            }
            part.parse().map_err(Some)
        };
        text.split('.')
            .map(component)
            .collect::<Result<Vec<_>, _>>()
            .map(Self)
            .map_err(|_| InvalidChainId { text: text.to_owned() })
    }
}

impl TryFrom<String> for ChainId {
    type Error = InvalidChainId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

/// The number of an effect, counted from 1 in issue order over the whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EffectId(pub u64);

impl fmt::Display for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The id of one model round: the chain that sent it and the number of the request within that chain.
///
/// A round that fails keeps its id, so no two requests of a run share one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RoundId(String);

impl RoundId {
    /// The `n`th request (from 0) of a chain.
    #[must_use]
    pub fn new(chain: &ChainId, n: u32) -> Self {
        Self(format!("{chain}#{n}"))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_order_number_by_number() {
        let nine: ChainId = "0.9".parse().expect("a valid id");
        let ten: ChainId = "0.10".parse().expect("a valid id");
        assert!(nine < ten);
        assert_eq!(ChainId::root().child(2).child(1).to_string(), "0.2.1");
    }

    #[test]
    fn malformed_ids_name_the_text() {
        for text in ["", "0.", ".0", "0..1", "0.x", "+1", " 0", "4294967296", "0.-1"] {
            let error = text.parse::<ChainId>().expect_err(text);
            assert_eq!(
                error.to_string(),
                format!("invalid chain id `{text}`: required a dot-separated path of decimal components")
            );
        }
        assert!("4294967295.0".parse::<ChainId>().is_ok());
    }
}
