//! The id of a run, different for every run (book: What a run's record holds).

use std::{fmt, str::FromStr};

use uuid::Uuid;

/// A run's own id. Ids sort by the instant at which they were drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(Uuid);

impl RunId {
    /// Draws a fresh id from the clock and the operating system's random source.
    #[must_use]
    pub fn draw() -> Self {
        Self(Uuid::now_v7())
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

/// A text that is no run id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no run id")]
pub struct InvalidRunId(String);

impl FromStr for RunId {
    type Err = InvalidRunId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Uuid::try_parse(text)
            .map(Self)
            .map_err(|_| InvalidRunId(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_id_sorts_behind_an_earlier_one_and_reads_back() {
        let ids: Vec<RunId> = (0..100).map(|_| RunId::draw()).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(ids.windows(2).all(|pair| pair[0].to_string() < pair[1].to_string()));
        assert_eq!(ids[0].to_string().parse(), Ok(ids[0]));
    }
}
