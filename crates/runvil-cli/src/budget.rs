//! What a run may use before it is cancelled.

use std::{fmt, str::FromStr, time::Duration};

use serde::Deserialize;

use crate::args::BudgetArgs;

/// The most that a run may use. What is not set is not bounded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Budget {
    /// Model rounds.
    pub(crate) max_rounds: Option<u64>,
    /// Tokens of requests and replies together, as far as the server reports them.
    pub(crate) max_total_tokens: Option<u64>,
    /// Seconds from the start of the run.
    pub(crate) max_seconds: Option<Seconds>,
}

impl Budget {
    /// What the command line says, before what is said here.
    pub(crate) fn with_args(self, args: &BudgetArgs) -> Self {
        Self {
            max_rounds: args.max_rounds.or(self.max_rounds),
            max_total_tokens: args.max_total_tokens.or(self.max_total_tokens),
            max_seconds: args.max_seconds.or(self.max_seconds),
        }
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
        let counted = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
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
        let budget = configured.with_args(&args);
        assert_eq!((budget.max_rounds, budget.max_total_tokens), (Some(9), Some(2)));
    }
}
