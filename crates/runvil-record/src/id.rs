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

    /// When it was drawn, in UTC milliseconds since the Unix epoch; `None` for an id that tells no instant.
    #[must_use]
    pub fn drawn_at(&self) -> Option<i64> {
        let (seconds, nanos) = self.0.get_timestamp()?.to_unix();
        let seconds = i64::try_from(seconds).ok()?;
        seconds.checked_mul(1_000)?.checked_add(i64::from(nanos / 1_000_000))
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

    #[test]
    fn an_id_tells_when_it_was_drawn() {
        let id: Result<RunId, _> = "01a22e2a-4c87-70df-bbde-4d9bffe3886c".parse();
        assert_eq!(id.map(|id| id.drawn_at()), Ok(Some(0x01a2_2e2a_4c87)));
        let other: Result<RunId, _> = "00000000-0000-4000-8000-000000000000".parse();
        assert_eq!(other.map(|id| id.drawn_at()), Ok(None));
    }
}
