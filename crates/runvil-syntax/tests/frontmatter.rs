//! The frontmatter: what each key decodes to, and each message with its place.

use runvil_syntax::{ArgDefault, ArgType, Args, Frontmatter, Keyword, ParseError, ParseErrorKind, parse_structure};

/// A file with `yaml` below a name and a description, so that its first line is line 4 of the file and line 3 of the YAML.
fn file(yaml: &str) -> String {
    format!("---\nname: p\ndescription: d\n{yaml}\n---\n# T\n")
}

fn decoded(yaml: &str) -> Frontmatter {
    parse_structure(file(yaml).as_bytes()).expect(yaml).frontmatter
}

fn error(text: &str) -> ParseError {
    let error = parse_structure(text.as_bytes()).expect_err(text);
    assert_eq!(error.kind(), ParseErrorKind::Frontmatter, "{text:?}");
    assert_eq!((&error.name, error.span), (&None, None), "{text:?}");
    error
}

/// What a file with `yaml` in it says, behind the fixed words, and where.
fn rejected(yaml: &str) -> (String, u32, u32) {
    let error = error(&file(yaml));
    let message = error.message();
    let detail = message.strip_prefix("invalid frontmatter: ").expect("the fixed words");
    let position = error.position.expect("a position");
    (detail.to_owned(), position.line, position.column)
}

fn check(cases: &[(&str, &str, (u32, u32))]) {
    for (yaml, detail, (line, column)) in cases {
        assert_eq!(rejected(yaml), ((*detail).to_owned(), *line, *column), "{yaml:?}");
    }
}

#[test]
fn every_key_reads_back_as_declared() {
    let frontmatter = decoded(
        "runvil: 0\nmax_tool_iterations: 1000\ninput: { path: names.md, description: The names }\noutput:\n  path: a/b.md\n  \
         description: 'The  note'\nuses: [web, acme/kit]\nmodels:\n  writer: {}\n  analyst: { keywords: [no-thinking, fast], min_context: 5, description: deep }",
    );
    assert_eq!(
        (frontmatter.runvil, frontmatter.max_tool_iterations),
        (Some(0), Some(1000))
    );
    let input = frontmatter.input.expect("declared");
    assert_eq!(
        (input.path.as_str(), input.description.as_str()),
        ("names.md", "The names")
    );
    assert_eq!(frontmatter.output.expect("declared").description, "The  note");
    let uses: Vec<String> = frontmatter.uses.iter().map(ToString::to_string).collect();
    assert_eq!(uses, ["web", "acme/kit"]);
    let labels: Vec<&String> = frontmatter.models.keys().collect();
    assert_eq!(labels, ["analyst", "writer"]);
    let analyst = &frontmatter.models["analyst"];
    assert_eq!(analyst.keywords, [Keyword::NoThinking, Keyword::Fast]);
    assert_eq!(analyst.min_context.map(u32::from), Some(5));
    assert_eq!(analyst.description.as_deref(), Some("deep"));
}

#[test]
fn a_key_left_out_takes_its_default() {
    let frontmatter = decoded("");
    assert_eq!((frontmatter.runvil, frontmatter.max_tool_iterations), (None, None));
    assert!(frontmatter.input.is_none() && frontmatter.output.is_none());
    assert!(frontmatter.uses.is_empty() && frontmatter.models.is_empty());
    assert_eq!(frontmatter.args, Args::default());
    let prose = &frontmatter.args.declarations["prose"];
    assert!(!frontmatter.args.structured && prose.optional && prose.default.is_none());
    assert_eq!(prose.description.as_deref(), Some("Freeform input for this prompt"));
}

#[test]
fn an_explicit_args_key_is_never_the_default() {
    let frontmatter = decoded("args: {}");
    assert!(frontmatter.args.structured && frontmatter.args.declarations.is_empty());
}

#[test]
fn arguments_keep_their_declarations_in_name_order() {
    let frontmatter = decoded(
        "args: { times: { default: 3, type: integer, optional: true }, name: { type: string, default: '42' }, \
         on: { type: boolean, default: false }, ratio: { type: number, default: 1.5 }, far: { type: number, default: 18446744073709551616 }, none: { type: integer, default: null, description: null } }",
    );
    let args = &frontmatter.args.declarations;
    let names: Vec<&String> = args.keys().collect();
    assert_eq!(names, ["far", "name", "none", "on", "ratio", "times"]);
    assert_eq!((args["times"].kind, args["times"].optional), (ArgType::Integer, true));
    assert_eq!(args["times"].default, Some(ArgDefault::Integer(3)));
    assert_eq!(args["name"].default, Some(ArgDefault::String("42".to_owned())));
    assert_eq!(args["on"].default, Some(ArgDefault::Boolean(false)));
    assert_eq!(args["ratio"].default, Some(ArgDefault::Number(1.5)));
    assert_eq!(
        args["far"].default,
        Some(ArgDefault::Number(18_446_744_073_709_551_616.0))
    );
    assert_eq!((&args["none"].default, &args["none"].description), (&None, &None));
}

#[test]
fn free_text_needs_no_quotes() {
    let text = "---\nname: 2024\ndescription: |\n  first\n  ---\n  last\n---\n# T\n";
    let frontmatter = parse_structure(text.as_bytes()).expect("parses").frontmatter;
    assert_eq!(frontmatter.name, "2024");
    assert_eq!(frontmatter.description, "first\n---\nlast\n");
}

#[test]
fn a_missing_key_is_named_without_a_place_when_the_map_opens_the_yaml() {
    for (yaml, field) in [
        ("name: p", "description"),
        ("description: d", "name"),
        ("", "name"),
        ("# c", "name"),
    ] {
        let error = error(&format!("---\n{yaml}\n---\n# T\n"));
        assert_eq!(error.message(), format!("invalid frontmatter: missing field `{field}`"));
        assert_eq!((error.line(), error.column()), (Some(2), Some(1)));
    }
}

#[test]
fn a_top_level_key_is_checked() {
    const FIELDS: &str =
        "one of `name`, `description`, `runvil`, `max_tool_iterations`, `input`, `output`, `uses`, `args`, `models`";
    let unknown = |key: &str| format!("unknown field `{key}`, expected {FIELDS} at line 3 column 1");
    check(&[
        ("usse: [web]", &unknown("usse"), (4, 1)),
        ("Uses: []", &unknown("Uses"), (4, 1)),
        ("<<: { runvil: 0 }", &unknown("<<"), (4, 1)),
        ("1: x", &unknown("1"), (4, 1)),
        ("name: q", "duplicate field `name` at line 3 column 1", (4, 1)),
        (
            "? [a]\n: b",
            "invalid type: sequence, expected a string key at line 3 column 3",
            (4, 3),
        ),
    ]);
}

#[test]
fn a_value_of_the_wrong_type_is_described() {
    const U32: &str = "a whole number from 0 to 4294967295";
    let runvil = |found: &str| format!("runvil: {found}, expected {U32} at line 3 column 9");
    check(&[
        ("runvil: -1", &runvil("invalid value: integer `-1`"), (4, 9)),
        (
            "runvil: 4294967296",
            &runvil("invalid value: integer `4294967296`"),
            (4, 9),
        ),
        ("runvil: 0.5", &runvil("invalid type: floating point `0.5`"), (4, 9)),
        ("runvil: '0'", &runvil("invalid type: string \"0\""), (4, 9)),
        ("runvil: [0]", &runvil("invalid type: sequence"), (4, 9)),
        ("runvil: true", &runvil("invalid type: boolean `true`"), (4, 9)),
        ("runvil: null", &runvil("invalid type: unit value"), (4, 9)),
        (
            "runvil: !x 0",
            "runvil: invalid type: tagged value, expected a whole number from 0 to 4294967295 at line 3 column 12",
            (4, 12),
        ),
        (
            "input: a.md",
            "input: invalid type: string \"a.md\", expected a map of `path` and `description` at line 3 column 8",
            (4, 8),
        ),
        (
            "input: { path: a, kind: b }",
            "input: unknown field `kind`, expected `path` or `description` at line 3 column 19",
            (4, 19),
        ),
        (
            "output: { path: a }",
            "output: missing field `description` at line 3 column 9",
            (4, 9),
        ),
        (
            "output: { description: a }",
            "output: missing field `path` at line 3 column 9",
            (4, 9),
        ),
        (
            "output: { description: a, path: [b] }",
            "output.path: invalid type: sequence, expected a string at line 3 column 33",
            (4, 33),
        ),
    ]);
}

#[test]
fn the_round_cap_message_stands_alone() {
    for raw in ["0", "-1", "-99999999999999999999999999999999999999999"] {
        let detail = format!("max_tool_iterations must be a positive integer (>= 1), got {raw}");
        check(&[(&format!("max_tool_iterations: {raw}"), &detail, (4, 22))]);
    }
    for raw in ["1001", "100000000000", "99999999999999999999999999999999999999999"] {
        let detail = format!("max_tool_iterations must be <= 1000, got {raw}");
        check(&[(&format!("max_tool_iterations: {raw}"), &detail, (4, 22))]);
    }
    check(&[(
        "max_tool_iterations: 5.0",
        "max_tool_iterations: invalid type: floating point `5.0`, expected a whole number from 1 to 1000 at line 3 column 22",
        (4, 22),
    )]);
}

#[test]
fn a_uses_entry_message_stands_alone() {
    const ENTRY: &str = "a uses entry is a Pack id, such as `web`, or vendor/name, such as `acme/web`";
    const CHARACTERS: &str = "segments may contain only lowercase ASCII letters, digits, '-', '_', '.'";
    let invalid = |text: &str, reason: &str| format!("invalid uses entry `{text}`: {reason}");
    check(&[
        ("uses:\n  - web\n  - a/b/c", &invalid("a/b/c", ENTRY), (6, 5)),
        ("uses: [Web]", &invalid("Web", CHARACTERS), (4, 8)),
        ("uses: [web/]", &invalid("web/", "segments must not be empty"), (4, 8)),
        (
            "uses: [\"a\\tb\"]",
            &invalid("a\tb", "segments must not contain a control character"),
            (4, 8),
        ),
    ]);
}

#[test]
fn a_uses_entry_is_a_string() {
    const EXPECTED: &str = "expected a Pack id, such as `web`, or vendor/name, such as `acme/web`";
    let item = |found: &str| format!("uses[0]: invalid type: {found}, {EXPECTED} at line 3 column 8");
    check(&[
        ("uses: [5]", &item("integer `5`"), (4, 8)),
        ("uses: [{ web: 1 }]", &item("map"), (4, 8)),
        ("uses: [~]", &item("unit value"), (4, 8)),
        (
            "uses: web",
            "uses: invalid type: string \"web\", expected a list of Pack ids at line 3 column 7",
            (4, 7),
        ),
    ]);
}

#[test]
fn a_pack_id_declared_twice_has_no_place() {
    for (uses, id) in [("[web, runvil/web]", "web"), ("[acme/a, acme/b, zen/b, zen/a]", "b")] {
        let error = error(&file(&format!("uses: {uses}")));
        assert_eq!(
            error.message(),
            format!("invalid frontmatter: Pack id {id} is declared more than once under uses")
        );
        assert_eq!(error.position, None);
    }
}

#[test]
fn a_contract_map_checks_its_keys_before_their_values() {
    const GRAMMAR: &str = "expected [A-Za-z][A-Za-z0-9_-]{0,63}";
    check(&[
        (
            "args: { z: { type: string }, 9b: 5, 1a: 6 }",
            &format!("args: invalid arg name `9b`: {GRAMMAR} at line 3 column 30"),
            (4, 30),
        ),
        (
            "args: { '': {} }",
            &format!("args: invalid arg name ``: {GRAMMAR} at line 3 column 9"),
            (4, 9),
        ),
        (
            "models:\n  a.b: 5",
            &format!("models: invalid model role label `a.b`: {GRAMMAR} at line 4 column 3"),
            (5, 3),
        ),
        (
            "models: { w: {}, w: 5 }",
            "models: duplicate model role label `w`: contract map keys must be unique at line 3 column 18",
            (4, 18),
        ),
        (
            "args:\n  a: { type: string }\n  a: 5",
            "args: duplicate arg name `a`: contract map keys must be unique at line 5 column 3",
            (6, 3),
        ),
        (
            "args: [a]",
            "args: invalid type: sequence, expected a map of arg name keys to declarations at line 3 column 7",
            (4, 7),
        ),
        (
            "models: 5",
            "models: invalid type: integer `5`, expected a map of model role label keys to declarations at line 3 column 9",
            (4, 9),
        ),
    ]);
}

#[test]
fn a_declaration_checks_its_keys() {
    check(&[
        (
            "args:\n  lamp:\n    typ: boolean",
            "args.lamp: unknown field `typ`, expected one of `type`, `optional`, `default`, `description` at line 5 column 5",
            (6, 5),
        ),
        (
            "args: { a: {} }",
            "args.a: missing field `type` at line 3 column 12",
            (4, 12),
        ),
        (
            "args: { a: string }",
            "args.a: invalid type: string \"string\", expected a map of arg declaration keys at line 3 column 12",
            (4, 12),
        ),
        (
            "args: { a: { type: int } }",
            "args.a.type: unknown variant `int`, expected one of `string`, `boolean`, `integer`, `number` at line 3 column 20",
            (4, 20),
        ),
        (
            "args: { a: { type: string, optional: 'true' } }",
            "args.a.optional: invalid type: string \"true\", expected a boolean at line 3 column 38",
            (4, 38),
        ),
        (
            "models: { w: { model: x } }",
            "models.w: unknown field `model`, expected one of `keywords`, `min_context`, `description` at line 3 column 16",
            (4, 16),
        ),
        (
            "models: { w: { keywords: fast } }",
            "models.w.keywords: invalid type: string \"fast\", expected a list of keywords at line 3 column 26",
            (4, 26),
        ),
        (
            "models: { w: { keywords: [fast, quick] } }",
            "models.w.keywords[1]: unknown variant `quick`, expected one of `thinking`, `no-thinking`, `frontier`, `fast`, `small`, `creative`, `chat` at line 3 column 33",
            (4, 33),
        ),
        (
            "models: { w: { min_context: 0 } }",
            "models.w.min_context: invalid value: integer `0`, expected a whole number from 1 to 4294967295 at line 3 column 29",
            (4, 29),
        ),
    ]);
}

#[test]
fn a_default_has_the_declared_type() {
    let cases = [
        ("string", "42", "integer"),
        ("string", "true", "boolean"),
        ("boolean", "'true'", "string"),
        ("boolean", "{ a: 1 }", "mapping"),
        ("integer", "3.0", "number"),
        ("integer", "9223372036854775808", "number"),
        ("integer", "!custom 3", "tagged value"),
        ("number", "[1]", "sequence"),
        ("number", "true", "boolean"),
    ];
    for (declared, default, found) in cases {
        let (detail, line, _) = rejected(&format!("args: {{ a: {{ type: {declared}, default: {default} }} }}"));
        let expected = format!(
            "args.a.default: the default has type `{found}`, which does not match the declared type `{declared}` at line 3 column "
        );
        assert!(detail.starts_with(&expected), "{detail}");
        assert_eq!(line, 4);
    }
}

#[test]
fn a_yaml_slip_is_placed_in_the_file() {
    for (yaml, place) in [
        (": : :", (4, 1)),
        ("runvil: 0: 1", (4, 10)),
        ("uses: [web", (4, 7)),
        ("x: 'y", (4, 1)),
    ] {
        let (_, line, column) = rejected(yaml);
        assert_eq!((line, column), place, "{yaml:?}");
    }
}

#[test]
fn what_stands_above_a_yaml_slip_is_judged_first() {
    let (detail, line, _) = rejected("runvil: x\nuses: [");
    assert!(detail.starts_with("runvil: invalid type"), "{detail}");
    assert_eq!(line, 4);
}

#[test]
fn yaml_counts_the_lines_of_the_file_past_unicode_line_breaks() {
    let error = error("---\nname: a\u{2028}b\u{85}c\u{2029}\nfoo: b\n---\n# T\n");
    assert_eq!(error.line(), Some(3));
}

#[test]
fn a_second_yaml_document_is_refused() {
    let (detail, line, column) = rejected("...\nrunvil: 0");
    assert_eq!(
        detail,
        "the frontmatter is more than one YAML document at line 4 column 1"
    );
    assert_eq!((line, column), (5, 1));
}

#[test]
fn an_alias_stands_for_what_it_names() {
    let frontmatter = decoded("models: { a: { keywords: &k [fast] }, b: { keywords: *k } }");
    assert_eq!(frontmatter.models["b"].keywords, [Keyword::Fast]);
}

#[test]
fn aliases_cannot_multiply_a_text_without_bound() {
    let list = "fast, ".repeat(1000);
    let roles: String = (0..1000)
        .map(|role| format!("  r{role}: {{ keywords: *k }}\n"))
        .collect();
    let (detail, ..) = rejected(&format!("models:\n  first: {{ keywords: &k [{list}] }}\n{roles}"));
    assert!(detail.contains("repetition limit exceeded"), "{detail}");
}

#[test]
fn deep_nesting_is_one_clear_error() {
    for deep in ["[".repeat(100_000), "{a: ".repeat(100_000), "- ".repeat(100_000)] {
        let (detail, line, _) = rejected(&format!("args:\n a: {{ type: string, default: {deep}"));
        assert!(detail.len() < 200, "{detail}");
        assert_eq!(line, 5);
        let (detail, ..) = rejected(&deep);
        assert!(detail.len() < 200, "{detail}");
    }
}
