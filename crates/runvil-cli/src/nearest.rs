//! What a misspelt name may have been meant to be.

/// The most letters that the meant key may be away, as a part of the key that was written: one in three.
const LETTERS_PER_MISTAKE: usize = 3;

/// Adds the nearest known key to the message of a key that is unknown.
///
/// The parser lists the known keys in its message, each in backticks behind the unknown one, so that this follows the
/// settings by itself. Any other message has nothing to add to.
pub(crate) fn suggestion(message: &str) -> Option<String> {
    let names = message.strip_prefix("unknown field ")?;
    let mut names = names.split('`').skip(1).step_by(2);
    let written = names.next()?;
    nearest(written, names).map(|known| format!("did you mean `{known}`?"))
}

/// The known name that one that was written may have been meant to be.
pub(crate) fn nearest<'a>(written: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let written = written.to_lowercase().replace('-', "_");
    let allowed = written.chars().count().div_ceil(LETTERS_PER_MISTAKE);
    known
        .map(|name| (strsim::damerau_levenshtein(&written, name), name))
        .filter(|(distance, name)| *distance <= allowed || name.split('_').any(|word| word == written))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_known_key_is_suggested() {
        let message = "unknown field `concurency`, expected one of `lua_log_events`, `concurrency`";
        assert_eq!(suggestion(message).as_deref(), Some("did you mean `concurrency`?"));
        assert_eq!(
            nearest("Max-Tool-Iterations", ["max_tool_iterations"].into_iter()),
            Some("max_tool_iterations")
        );
        assert_eq!(
            nearest("dialect", ["url", "thinking_dialect"].into_iter()),
            Some("thinking_dialect")
        );
        assert_eq!(
            nearest("models", ["endpoint", "model", "limits"].into_iter()),
            Some("model")
        );
    }

    #[test]
    fn a_key_that_resembles_none_gets_no_suggestion() {
        assert_eq!(suggestion("unknown field `colour`, expected `url` or `id`"), None);
        assert_eq!(suggestion("invalid type: integer `3`, expected a string"), None);
        assert_eq!(suggestion("unknown field"), None);
    }
}
