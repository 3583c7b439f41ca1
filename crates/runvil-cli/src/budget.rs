//! What a run may use before it is cancelled.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::{args::BudgetArgs, progress::counted, usage::Usage};

/// The most that a run may use. What is not set is not bounded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Budget {
    /// Model rounds.
    #[serde(deserialize_with = "whole")]
    pub(crate) max_rounds: Option<u64>,
    /// Tokens of requests and replies together, as far as the server reports them.
    #[serde(deserialize_with = "whole")]
    pub(crate) max_total_tokens: Option<u64>,
    /// Seconds from the start of the run, or of the process that goes on with it.
    pub(crate) max_seconds: Option<Seconds>,
}

impl From<&BudgetArgs> for Budget {
    fn from(args: &BudgetArgs) -> Self {
        Self {
            max_rounds: args.max_rounds,
            max_total_tokens: args.max_total_tokens,
            max_seconds: args.max_seconds,
        }
    }
}

impl Budget {
    /// What `first` says, before what is said here.
    pub(crate) fn under(self, first: Self) -> Self {
        Self {
            max_rounds: first.max_rounds.or(self.max_rounds),
            max_total_tokens: first.max_total_tokens.or(self.max_total_tokens),
            max_seconds: first.max_seconds.or(self.max_seconds),
        }
    }

    /// Whether anything bounds that earlier rounds count against.
    pub(crate) fn counts_use(&self) -> bool {
        self.max_rounds.is_some() || self.max_total_tokens.is_some()
    }

    /// The budget that this much use has passed already.
    pub(crate) fn passed_by(&self, usage: &Usage) -> Option<Passed> {
        let rounds = self.max_rounds.filter(|limit| usage.rounds > *limit);
        let tokens = self.max_total_tokens.zip(usage.known_tokens());
        let tokens = tokens.filter(|(limit, used)| used > limit);
        rounds
            .map(|limit| Passed::Rounds { limit })
            .or_else(|| tokens.map(|(limit, used)| Passed::Tokens { limit, used }))
    }
}

const COUNT: &str = "a whole number from 0 on is meant, such as 100";

/// A count, as the command line gives it.
pub(crate) fn count(text: &str) -> Result<u64, &'static str> {
    text.parse().map_err(|_| COUNT)
}

/// A count, as a file gives it.
fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    match Option::<serde_json::Number>::deserialize(deserializer) {
        Ok(None) => Ok(None),
        Ok(Some(number)) => number.as_u64().map(Some).ok_or_else(|| D::Error::custom(COUNT)),
        Err(_) => Err(D::Error::custom(COUNT)),
    }
}

/// A length of time, more than none.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub(crate) struct Seconds(pub(crate) Duration);

impl TryFrom<f64> for Seconds {
    type Error = &'static str;

    fn try_from(seconds: f64) -> Result<Self, Self::Error> {
        match Duration::try_from_secs_f64(seconds) {
            Ok(time) if !time.is_zero() => Ok(Self(time)),
            _ => Err("a number of seconds above 0 is meant, such as 90 or 0.5"),
        }
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0.as_secs_f64())
    }
}

impl FromStr for Seconds {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // What is no number is refused as one that is none.
        Self::try_from(text.parse().unwrap_or(f64::NAN))
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.as_secs_f64())
    }
}

/// A budget that a run passed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Passed {
    /// Another round would have been one too many.
    Rounds {
        /// The budget.
        limit: u64,
    },
    /// The server reported more tokens than that.
    Tokens {
        /// The budget.
        limit: u64,
        /// What was reported.
        used: u64,
    },
    /// The time is over.
    Seconds {
        /// The budget.
        limit: Seconds,
    },
}

impl Passed {
    /// The name of the budget, in `runvil.toml` and for programs.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Rounds { .. } => "max_rounds",
            Self::Tokens { .. } => "max_total_tokens",
            Self::Seconds { .. } => "max_seconds",
        }
    }

    /// What to do about it.
    pub(crate) fn help(&self) -> String {
        let name = self.name();
        format!(
            "raise --{}, or `{name}` under [budget] in runvil.toml, or let the prompt do less",
            name.replace('_', "-")
        )
    }
}

impl fmt::Display for Passed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rounds { limit } => write!(f, "it passed its budget of {}", counted(*limit, "model round")),
            Self::Tokens { limit, used } => {
                write!(
                    f,
                    "it passed its budget of {}, having used {used}",
                    counted(*limit, "token")
                )
            }
            Self::Seconds { limit } => write!(f, "it passed its budget of {limit} s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_a_number_above_none() {
        assert_eq!("0.5".parse::<Seconds>().map(|s| s.0), Ok(Duration::from_millis(500)));
        for text in ["0", "-1", "NaN", "inf", "soon", "1e300", ""] {
            assert!(text.parse::<Seconds>().is_err(), "{text}");
        }
    }

    #[test]
    fn use_that_is_within_a_budget_has_not_passed_it() {
        let budget = Budget {
            max_rounds: Some(2),
            max_total_tokens: Some(10),
            max_seconds: None,
        };
        let used = |rounds, prompt_tokens| Usage {
            rounds,
            prompt_tokens,
            ..Usage::default()
        };
        assert_eq!(budget.passed_by(&used(2, Some(10))), None);
        assert_eq!(budget.passed_by(&used(2, None)), None);
        assert_eq!(budget.passed_by(&used(3, None)), Some(Passed::Rounds { limit: 2 }));
        let tokens = Passed::Tokens { limit: 10, used: 11 };
        assert_eq!(budget.passed_by(&used(1, Some(11))), Some(tokens));
    }

    #[test]
    fn the_command_line_counts_before_the_configuration_key_by_key() {
        let configured = Budget {
            max_rounds: Some(1),
            max_total_tokens: Some(2),
            max_seconds: None,
        };
        let args = BudgetArgs {
            max_rounds: Some(9),
            max_total_tokens: None,
            max_seconds: None,
        };
        let budget = configured.under(Budget::from(&args));
        assert_eq!((budget.max_rounds, budget.max_total_tokens), (Some(9), Some(2)));
    }
}
