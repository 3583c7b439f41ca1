//! What a backend's refusal means (book: Failures from a backend status, Errors inside a reply stream).

use runvil_engine::{CompletionError, CompletionErrorKind as Kind};

/// The phrases that name a context limit (book: How a provider overflow is recognized).
const OVERFLOW: [&str; 12] = [
    "context length",
    "context window",
    "context size",
    "context_length_exceeded",
    "maximum context length",
    "prompt is too long",
    "too many tokens",
    "exceeds the available context size",
    "exceed_context_size",
    "input is too long",
    "exceeds the maximum number of tokens",
    "too large for model",
];

/// The words that name a spent allowance: the vendors' codes hold one of them.
const QUOTA: [&str; 3] = ["quota", "billing", "credit"];

/// The vendors' codes for a refusal on content grounds, and the words that their messages use instead.
const POLICY: [&str; 7] = [
    "content_policy",
    "content policy",
    "content_filter",
    "content filter",
    "content management policy",
    "safety",
    "moderation",
];

const OVERLOADED: [&str; 1] = ["overloaded"];

/// The number of characters of an error's text that are looked at.
const ERROR_TEXT_BOUND: usize = 2000;

/// The failure that a backend's status and error body tell. The phrases match without case.
///
/// A status below 400 that is no success, such as a redirect, is a rejection: the client follows none.
#[must_use]
pub fn classify_status(status: u16, body: &str) -> CompletionError {
    let text = Text::new(body);
    let kind = match status {
        400 | 413 if text.names(&OVERFLOW) => Kind::ContextOverflow,
        400 if text.names(&POLICY) => Kind::Refused,
        401 | 403 => Kind::Unavailable,
        429 if text.names(&QUOTA) => Kind::QuotaExhausted,
        429 => Kind::RateLimited,
        503 | 529 => Kind::Overloaded,
        500..=599 if text.names(&OVERLOADED) => Kind::Overloaded,
        500..=599 => Kind::ServerError,
        _ => Kind::Rejected,
    };
    CompletionError::with_status(kind, status)
}

/// The failure that an error inside a reply tells: its text alone decides, and there is no status to report.
#[must_use]
pub fn classify_stream_error(text: &str) -> CompletionError {
    let text = Text::new(&bounded(text));
    CompletionError::new(if text.names(&OVERFLOW) {
        Kind::ContextOverflow
    } else if text.names(&QUOTA) {
        Kind::QuotaExhausted
    } else if text.names(&OVERLOADED) {
        Kind::Overloaded
    } else if text.names(&POLICY) {
        Kind::Refused
    } else {
        Kind::Transport
    })
}

/// A backend's own error text made safe to write to a log: bounded, and without control characters.
pub(crate) fn bounded(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().take(ERROR_TEXT_BOUND) {
        if c.is_control() {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// A text to look for phrases in, without case.
struct Text(String);

impl Text {
    fn new(text: &str) -> Self {
        Self(text.to_ascii_lowercase())
    }

    fn names(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.0.contains(phrase))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(status: u16, body: &str) -> Kind {
        let error = classify_status(status, body);
        assert_eq!(error.status, Some(status));
        error.kind
    }

    #[test]
    fn each_overflow_phrase_counts_on_400_and_413_in_any_case() {
        for phrase in OVERFLOW {
            let body = format!(r#"{{"error":{{"message":"{}!"}}}}"#, phrase.to_uppercase());
            assert_eq!(kind(400, &body), Kind::ContextOverflow, "{phrase}");
            assert_eq!(kind(413, &body), Kind::ContextOverflow, "{phrase}");
            assert_eq!(kind(422, &body), Kind::Rejected, "{phrase}");
            assert_eq!(kind(500, &body), Kind::ServerError, "{phrase}");
        }
        assert_eq!(kind(413, "payload refused"), Kind::Rejected);
    }

    #[test]
    fn a_context_limit_wins_over_a_content_policy_on_400_only() {
        assert_eq!(
            kind(400, "content_filter: the prompt is too long"),
            Kind::ContextOverflow
        );
        assert_eq!(
            kind(400, r#"{"error":{"code":"content_policy_violation"}}"#),
            Kind::Refused
        );
        assert_eq!(kind(400, "Rejected by the SAFETY system"), Kind::Refused);
        assert_eq!(kind(413, "content_filter"), Kind::Rejected);
        assert_eq!(kind(400, "unknown field"), Kind::Rejected);
    }

    #[test]
    fn only_429_tells_a_rate_limit_from_a_spent_quota() {
        assert_eq!(kind(429, "slow down"), Kind::RateLimited);
        for body in ["insufficient_quota", "check your Billing details", "out of credits"] {
            assert_eq!(kind(429, body), Kind::QuotaExhausted);
            assert_eq!(kind(402, body), Kind::Rejected);
        }
    }

    #[test]
    fn server_statuses_are_overloaded_or_faults() {
        for status in [503, 529] {
            assert_eq!(kind(status, ""), Kind::Overloaded);
        }
        assert_eq!(kind(500, "engine OVERLOADED, retry"), Kind::Overloaded);
        assert_eq!(kind(599, "oops"), Kind::ServerError);
        assert_eq!(kind(600, "overloaded"), Kind::Rejected);
    }

    #[test]
    fn credentials_and_everything_else() {
        assert_eq!(kind(401, "context length"), Kind::Unavailable);
        assert_eq!(kind(403, ""), Kind::Unavailable);
        for status in [301, 302, 304, 307, 404, 405, 409, 418] {
            assert_eq!(kind(status, "overloaded quota safety"), Kind::Rejected);
        }
    }

    #[test]
    fn a_stream_error_is_told_by_its_text_in_the_books_order() {
        let kind = |text: &str| {
            let error = classify_stream_error(text);
            assert_eq!((error.status, error.detail), (None, None));
            error.kind
        };
        assert_eq!(kind("quota: prompt is too long"), Kind::ContextOverflow);
        assert_eq!(kind("overloaded, billing stopped"), Kind::QuotaExhausted);
        assert_eq!(kind("overloaded_error: try again (safety)"), Kind::Overloaded);
        assert_eq!(kind("content_filter"), Kind::Refused);
        assert_eq!(kind("rate limit"), Kind::Transport);
        assert_eq!(kind(""), Kind::Transport);
    }

    #[test]
    fn an_error_text_is_bounded_and_its_control_characters_escaped() {
        assert_eq!(bounded("a\nb\u{1b}[0m\u{85}é"), "a\\nb\\u{1b}[0m\\u{85}é");
        let long = format!("{}overloaded", "é".repeat(ERROR_TEXT_BOUND));
        assert_eq!(bounded(&long).chars().count(), ERROR_TEXT_BOUND);
        assert_eq!(classify_stream_error(&long).kind, Kind::Transport);
    }
}
