//! `{{ }}` placeholders in prose (book: Substitution).

mod error;
mod path;
pub(crate) mod render;
mod scan;

use serde_json::Value;

pub(crate) use error::{SubstitutionError, SubstitutionKind};

use crate::Failure;
use path::Path;
use scan::{Piece, Scanner};

/// Where a placeholder's value comes from. A render asks for each at most once per placeholder, at the moment that it
/// needs it.
pub(crate) trait Sources {
    /// Whether a text that has come to so many bytes may go on.
    ///
    /// # Errors
    /// The run was cancelled, or the text can no longer fit into the section's memory.
    fn check(&self, length: usize) -> Result<(), Failure>;
    /// The chain's argument string.
    fn args(&self) -> &str;
    /// The chain's parsed arguments, `None` for nil.
    fn argv(&self) -> Option<&Value>;
    /// The seeded item, `None` where none is seeded.
    fn item(&self) -> Option<&Value>;
    /// The section's `var` as JSON.
    fn var(&self) -> &Value;
    /// The fields of `sys` that there are now.
    fn sys(&self) -> Value;
    /// A Lua global by name.
    fn global(&self, name: &str) -> Global;
}

/// What a bare name finds.
pub(crate) enum Global {
    /// Nil.
    Unset,
    /// A value with no JSON form, or a look-up that raised.
    NotJson,
    /// JSON data.
    Data(Value),
}

/// Fills every placeholder of a prose in one pass from left to right. What a placeholder inserts is not scanned again.
pub(crate) fn substitute(prose: &str, sources: &impl Sources) -> Result<String, Failure> {
    let mut text = String::with_capacity(prose.len());
    for piece in Scanner::new(prose) {
        match piece {
            Piece::Text(plain) => text.push_str(plain),
            Piece::Placeholder { path, offset } => text.push_str(&resolve(&Path::new(path), offset, sources)?),
            Piece::Unclosed { offset } => return Err(SubstitutionError::unclosed(offset).into()),
        }
        sources.check(text.len())?;
    }
    Ok(text)
}

/// The text of one placeholder.
fn resolve(path: &Path<'_>, offset: usize, sources: &impl Sources) -> Result<String, Failure> {
    let fail = |kind| Err(SubstitutionError::new(kind, path, offset).into());
    if !path.is_well_formed() {
        return fail(SubstitutionKind::EmptySegment);
    }
    let keys = path.keys();
    let found = match (path.root(), keys) {
        ("args" | "item", [_, ..]) => return fail(SubstitutionKind::NotATable),
        ("args", []) => return Ok(sources.args().to_owned()),
        ("item", []) => match sources.item() {
            Some(item) => return Ok(render::text(item)),
            None => return fail(SubstitutionKind::NilItem),
        },
        ("var" | "sys", []) => return fail(SubstitutionKind::BadPath),
        ("argv", keys) => match sources.argv() {
            Some(argv) => walk(argv, keys).map(render::text),
            None => return fail(SubstitutionKind::NilArgv),
        },
        ("var", keys) => walk(sources.var(), keys).map(render::text),
        ("sys", keys) => walk(&sources.sys(), keys).map(render::text),
        ("prose", _) => return fail(SubstitutionKind::Serialize),
        (name, keys) => match sources.global(name) {
            Global::Unset => return fail(SubstitutionKind::UnknownNamespace),
            Global::NotJson => return fail(SubstitutionKind::Serialize),
            Global::Data(value) => walk(&value, keys).map(render::text),
        },
    };
    found.or_else(fail)
}

/// Follows the keys into nested tables. It never indexes into an array.
fn walk<'a>(mut value: &'a Value, keys: &[&str]) -> Result<&'a Value, SubstitutionKind> {
    for key in keys {
        value = match value {
            Value::Object(fields) => fields.get(*key).ok_or(SubstitutionKind::MissingKey)?,
            Value::Null => return Err(SubstitutionKind::NullValue),
            _ => return Err(SubstitutionKind::MissingKey),
        };
    }
    if value.is_null() {
        Err(SubstitutionKind::NullValue)
    } else {
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Fixed {
        var: Value,
    }

    impl Sources for Fixed {
        fn check(&self, _: usize) -> Result<(), Failure> {
            Ok(())
        }

        fn args(&self) -> &'static str {
            "Acme {{ args }}"
        }

        fn argv(&self) -> Option<&Value> {
            None
        }

        fn item(&self) -> Option<&Value> {
            Some(&Value::Null)
        }

        fn var(&self) -> &Value {
            &self.var
        }

        fn sys(&self) -> Value {
            json!({ "id": "0.1" })
        }

        fn global(&self, name: &str) -> Global {
            match name {
                "data" => Global::Data(json!({ "z": 1, "a": "x" })),
                "f" => Global::NotJson,
                _ => Global::Unset,
            }
        }
    }

    fn rendered(prose: &str) -> String {
        let var = json!({ "row": { "a": 1, "none": null }, "first name": "Ada", "list": [1], "half": 1.5, "zip": {} });
        substitute(prose, &Fixed { var }).unwrap_or_else(|failure| failure.to_string())
    }

    #[test]
    fn each_source_renders_in_place_and_once() {
        assert_eq!(
            rendered("[{{args}}|{{\nsys.id }}|{{ item }}]"),
            "[Acme {{ args }}|0.1|null]"
        );
        assert_eq!(
            rendered("{{ var.row.a }} {{ var.first name }} {{ var.half }}"),
            "1 Ada 1.5"
        );
        assert_eq!(
            rendered("{{ data }} {{ data.a }} {{ var.list }} {{ var.zip }}"),
            r#"{"a":"x","z":1} x [1] {}"#
        );
    }

    #[test]
    fn escapes_make_one_character_literal() {
        assert_eq!(
            rendered(r"\{{ args }} \}} \\ \{ \} C:\temp \"),
            r"{{ args }} }} \ { } C:\temp \"
        );
        assert_eq!(rendered(r"\{{x}}{{ sys.id }} {x} }}"), "{{x}}0.1 {x} }}");
        assert_eq!(rendered(r"C:\\{{ sys.id }}"), r"C:\0.1");
    }

    #[test]
    fn each_kind_has_its_message_and_the_offset_of_its_braces() {
        for (prose, message) in [
            ("öpen {{ args", "unclosed '{{' in prose [Unclosed at byte 6]"),
            (
                "{{ }}",
                "empty or padded path segment in {{  }} [EmptySegment at byte 0]",
            ),
            (
                "{{ var. .x }}",
                "empty or padded path segment in {{ var. .x }} [EmptySegment at byte 0]",
            ),
            ("{{var}}", "bad path: {{ var }} [BadPath at byte 0]"),
            (
                " {{ ghost.x }}",
                "unknown namespace or global 'ghost' in {{ ghost.x }} [UnknownNamespace at byte 1]",
            ),
            ("{{ args.x }}", "args is a string, not a table [NotATable at byte 0]"),
            ("{{ item.x }}", "item is a string, not a table [NotATable at byte 0]"),
            ("{{ sys.bogus }}", "missing {{ sys.bogus }} [MissingKey at byte 0]"),
            ("{{ var.half.x }}", "missing {{ var.half.x }} [MissingKey at byte 0]"),
            ("{{ var.list.1 }}", "missing {{ var.list.1 }} [MissingKey at byte 0]"),
            ("{{ var.row.none }}", "missing {{ var.row.none }} [NullValue at byte 0]"),
            (
                "{{ var.row.none.x }}",
                "missing {{ var.row.none.x }} [NullValue at byte 0]",
            ),
            (
                "{{ argv.q }}",
                "{{ argv.q }} is nil (the args string is not JSON) [NilArgv at byte 0]",
            ),
            (
                "{{ f }}",
                "global 'f' in {{ f }} is not JSON data [Serialize at byte 0]",
            ),
            (
                "{{ prose }}",
                "global 'prose' in {{ prose }} is not JSON data [Serialize at byte 0]",
            ),
        ] {
            assert_eq!(rendered(prose), message, "{prose}");
        }
    }

    #[test]
    fn a_quoted_path_is_cut_then_escaped() {
        let long = "x".repeat(81);
        assert_eq!(
            rendered(&format!("{{{{ sys.{long} }}}}")),
            format!("missing {{{{ sys.{}... }}}} [MissingKey at byte 0]", "x".repeat(76))
        );
        assert_eq!(
            rendered("{{ sys.a\tb\u{1b} }}"),
            r"missing {{ sys.a\tb\u{001b} }} [MissingKey at byte 0]"
        );
    }
}
