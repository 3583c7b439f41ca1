//! List sections: which prose is a list, and its items (book: List sections).

use crate::Problem;

/// Reads the items of a section that has no Lua block, from its prose.
///
/// `None` when a line of it is no list marker line, or when there is no line.
///
/// # Errors
/// It is a list, and an item has no text. `name` is the section's.
pub(crate) fn items(prose: &str, name: &str) -> Result<Option<Vec<String>>, Problem> {
    let lines = || prose.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty());
    let Some(items) = lines().map(item).collect::<Option<Vec<&str>>>() else {
        return Ok(None);
    };
    if items.iter().any(|item| item.is_empty()) {
        return Err(Problem::EmptyItem(name.to_owned()));
    }
    let items: Vec<String> = items.into_iter().map(str::to_owned).collect();
    Ok((!items.is_empty()).then_some(items))
}

/// The text behind the list marker that a trimmed line starts with: behind it and one space, or nothing at all.
fn item(line: &str) -> Option<&str> {
    let rest = after_marker(line)?;
    if rest.is_empty() {
        return Some(rest);
    }
    rest.strip_prefix(' ')
}

fn after_marker(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix(['-', '*']) {
        return Some(rest);
    }
    let rest = line.trim_start_matches(|mark: char| mark.is_ascii_digit());
    if rest.len() == line.len() {
        return None;
    }
    rest.strip_prefix(['.', ')'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(prose: &str) -> Option<Vec<String>> {
        items(prose, "L").expect("no empty item")
    }

    #[test]
    fn each_marker_opens_an_item() {
        assert_eq!(
            list("- a\n* b\n  12. c\n\n\t007) d  \n-   e\n- 1. f").expect("a list"),
            ["a", "b", "c", "d", "  e", "1. f"]
        );
    }

    #[test]
    fn one_other_line_makes_it_prose() {
        for line in [
            "x", "+ a", "-a", "-\ta", "1.a", "1.\ta", "2026 was", "a. b", "١. a", "--",
        ] {
            assert_eq!(list(&format!("- a\n{line}")), None, "{line:?}");
        }
        assert_eq!(list(""), None);
        assert_eq!(list(" \n\t\n"), None);
    }

    #[test]
    fn an_item_without_text_is_a_problem() {
        for line in ["-", "*", "1.", "1)", "-  ", "7.\t "] {
            let problem = items(&format!("- a\n{line}\n- b"), "L").expect_err(line);
            assert_eq!(problem.to_string(), "empty bullet item in list section `L`");
        }
        assert_eq!(list("-\nx"), None);
    }
}
