//! The arguments of a fetch call (book: Fetch argument errors).

use runvil_pack::Arguments;
use serde_json::Value;
use url::Url;

use super::failure::Failure;
use crate::admission;
use crate::policy::CHARACTER_CEILING;

/// A call that passed every check that needs no network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FetchCall {
    /// The admitted URL, without its fragment.
    pub(super) url: Url,
    /// The most characters that the call returns.
    pub(super) max_chars: usize,
    /// Whether the whole page is rendered.
    pub(super) raw: bool,
}

impl FetchCall {
    /// Checks `url`, then `max_chars`, then `raw`, and then admits the URL. Other keys are ignored.
    pub(super) fn parse(arguments: &Arguments) -> Result<Self, Failure> {
        let url = arguments
            .get("url")
            .and_then(Value::as_str)
            .ok_or(Failure::MissingUrl)?;
        let max_chars = max_chars(arguments.get("max_chars"))?;
        let raw = match arguments.get("raw") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(raw)) => *raw,
            Some(_) => return Err(Failure::Raw),
        };
        let url = admission::admit_text(url)?;
        Ok(Self { url, max_chars, raw })
    }
}

/// A whole number of 1 or more, lowered to the ceiling.
fn max_chars(value: Option<&Value>) -> Result<usize, Failure> {
    let number = match value {
        None | Some(Value::Null) => return Ok(CHARACTER_CEILING),
        Some(Value::Number(number)) => number,
        Some(_) => return Err(Failure::MaxChars),
    };
    // Lua writes a whole number that it computed as a float, as in `n / 2`.
    let number = number
        .as_f64()
        .filter(|number| number.fract() == 0.0 && *number >= 1.0)
        .ok_or(Failure::MaxChars)?;
    Ok(number.min(CHARACTER_CEILING as f64) as usize)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(arguments: &Value) -> Result<FetchCall, String> {
        let arguments = arguments.as_object().expect("an object");
        FetchCall::parse(arguments).map_err(|failure| failure.to_string())
    }

    fn refusal(arguments: &Value) -> String {
        parse(arguments).expect_err("a refusal")
    }

    #[test]
    fn url_alone_is_a_complete_call() {
        let call = parse(&json!({ "url": "https://site.example/a#b", "other": 1 })).expect("a call");
        assert_eq!(
            (call.url.as_str(), call.max_chars, call.raw),
            ("https://site.example/a", 40_000, false)
        );
    }

    #[test]
    fn null_means_the_default() {
        let call = parse(&json!({ "url": "https://site.example/", "max_chars": null, "raw": null })).expect("a call");
        assert_eq!((call.max_chars, call.raw), (40_000, false));
    }

    #[test]
    fn max_chars_is_a_whole_number_of_one_or_more_lowered_to_the_ceiling() {
        let max =
            |value: Value| parse(&json!({ "url": "https://site.example/", "max_chars": value })).map(|c| c.max_chars);
        for (value, chars) in [
            (json!(1), 1),
            (json!(7.0), 7),
            (json!(40_001), 40_000),
            (json!(u64::MAX), 40_000),
            (json!(1e300), 40_000),
        ] {
            assert_eq!(max(value), Ok(chars));
        }
        for value in [
            json!(0),
            json!(-3),
            json!(1.5),
            json!(0.0),
            json!("5"),
            json!(true),
            json!([1]),
        ] {
            assert_eq!(
                max(value),
                Err("web_fetch: max_chars must be a positive integer".to_owned())
            );
        }
    }

    #[test]
    fn the_arguments_are_checked_in_order_and_before_the_url_rules() {
        for (arguments, message) in [
            (json!({ "max_chars": 0, "raw": 1 }), "web_fetch: missing url argument"),
            (json!({ "url": 5 }), "web_fetch: missing url argument"),
            (json!({ "url": null }), "web_fetch: missing url argument"),
            (json!({ "url": ["x"] }), "web_fetch: missing url argument"),
            (
                json!({ "url": "x", "max_chars": 0, "raw": 1 }),
                "web_fetch: max_chars must be a positive integer",
            ),
            (json!({ "url": "x", "raw": 1 }), "web_fetch: raw must be a boolean"),
            (json!({ "url": "x" }), "invalid url"),
        ] {
            assert_eq!(refusal(&arguments), message);
        }
    }
}
