//! What parsing must give.

use serde_json::{Map, Value, json};

use super::{contains, equal, field};
use crate::{case::ParseProblemWant, mismatch::Mismatch, observed::Observed};

pub(super) fn succeeds(seen: &Observed, found: &mut Vec<Mismatch>) {
    if let Some(error) = &seen.parse_error {
        found.push(Mismatch::differs("parse", "ok", format!("{:?}: {error}", error.kind())));
    }
}

pub(super) fn fails(want: &ParseProblemWant, seen: &Observed, found: &mut Vec<Mismatch>) {
    let Some(error) = &seen.parse_error else {
        let want = want.message.clone().unwrap_or_else(|| format!("{:?}", want.kind));
        return found.push(Mismatch::differs("parse", want, "the file parses"));
    };
    field("parse.kind", Some(&want.kind), &error.kind(), found);
    field(
        "parse.fence_rule",
        want.fence_rule.map(Some).as_ref(),
        &error.fence_rule(),
        found,
    );
    let message = error.message();
    field("parse.message", want.message.as_ref(), &message, found);
    contains("parse.message", &want.contains, &want.not_contains, &message, found);
    field("parse.line", want.line.as_ref(), &error.line(), found);
    field("parse.column", want.column.as_ref(), &error.column(), found);
    field("parse.name", want.name.as_ref(), &error.name, found);
    let span = error.span.as_ref().map(|span| (span.start, span.end));
    field("parse.span", want.span.as_ref(), &span, found);
}

pub(super) fn frontmatter(want: &Map<String, Value>, seen: &Observed, found: &mut Vec<Mismatch>) {
    for (key, want) in want {
        let actual = seen.frontmatter.get(key).unwrap_or(&Value::Null);
        if !equal(want, actual) {
            found.push(Mismatch::differs(
                format!("frontmatter.{key}"),
                json!(want),
                actual.clone(),
            ));
        }
    }
}
