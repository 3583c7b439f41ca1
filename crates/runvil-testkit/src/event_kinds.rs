//! The names of the event kinds, so that a misspelt one in a case is an error and not a check that always passes.

use runvil_engine::EventKind;
use serde::Deserialize as _;
use serde_json::json;

/// Checks that `kind` names an event kind.
///
/// # Errors
/// Lists the kinds.
pub(crate) fn check(kind: &str) -> Result<(), String> {
    // The Engine's own decoder knows the names. A kind with fields fails for the lack of them, which is fine here.
    match EventKind::deserialize(json!({ "kind": kind })) {
        Err(error) if error.to_string().starts_with("unknown variant") => {
            Err(format!("`{kind}` is no event kind: {error}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn a_kind_is_known_with_and_without_fields() {
        assert_eq!(check("run_started"), Ok(()));
        assert_eq!(check("tool_result"), Ok(()));
        assert!(check("run_begun").is_err());
    }
}
