//! Where a value sits.

/// One step from a table to a value in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step<'a> {
    Name(&'a [u8]),
    Index(i64),
    Number(f64),
    Boolean(bool),
}

/// Renders a path: `.name` for a string key, `[k]` for any other.
pub(crate) fn render(root: &str, steps: &[Step<'_>]) -> String {
    let mut path = root.to_owned();
    for step in steps {
        match step {
            Step::Name(name) => {
                path.push('.');
                path.push_str(&String::from_utf8_lossy(name));
            }
            Step::Index(index) => path.push_str(&format!("[{index}]")),
            Step::Number(number) => path.push_str(&format!("[{number}]")),
            Step::Boolean(value) => path.push_str(&format!("[{value}]")),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn string_keys_follow_a_dot_and_others_stand_in_brackets() {
        let steps = [
            Step::Name(b"items"),
            Step::Index(2),
            Step::Name(b"\xff"),
            Step::Boolean(true),
            Step::Number(1.5),
        ];
        assert_eq!(render("value", &steps), "value.items[2].\u{fffd}[true][1.5]");
        assert_eq!(render("value", &[]), "value");
    }
}
