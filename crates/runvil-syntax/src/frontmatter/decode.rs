//! The frontmatter's YAML, decoded and checked in source order (book: Writing YAML in the frontmatter).

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use super::args;
use super::document::Document;
use super::value::{self, Decoded, Entry, Rejection, Value};
use super::{FileDeclaration, Frontmatter, Keyword, RoleDeclaration};
use crate::{ParseError, Position, Problem, UsesEntry, alias, uses};

const FIELDS: [&str; 9] = [
    "name",
    "description",
    "runvil",
    "max_tool_iterations",
    "input",
    "output",
    "uses",
    "args",
    "models",
];

const MAX_TOOL_ITERATIONS: i128 = 1000;

/// Decodes the YAML between the delimiters.
///
/// # Errors
/// The first mistake in source order, or a Pack id that two entries name.
pub(crate) fn decode(yaml: &str) -> Result<Frontmatter, ParseError> {
    let frontmatter = decode_yaml(yaml).map_err(|rejection| ParseError {
        // The YAML's first line is the second of the file.
        position: Some(Position {
            line: rejection.position.line.saturating_add(1),
            ..rejection.position
        }),
        ..Problem::InvalidFrontmatter(rejection.detail).into()
    })?;
    let mut ids = BTreeSet::new();
    match frontmatter.uses.iter().find(|entry| !ids.insert(entry.id())) {
        Some(entry) => Err(Problem::DuplicatePack(entry.id().into()).into()),
        None => Ok(frontmatter),
    }
}

fn decode_yaml(yaml: &str) -> Decoded<Frontmatter> {
    let document = Document::read(yaml);
    let Some(root) = document.root else {
        return Err(value::reject(yaml, "", &missing("name"), 0));
    };
    let frontmatter = frontmatter(&Value::root(&document, root))?;
    match &document.tail {
        Some(broken) => Err(value::reject(yaml, "", &broken.message, broken.at)),
        None => Ok(frontmatter),
    }
}

pub(super) fn missing(field: &str) -> String {
    format!("missing field `{field}`")
}

fn frontmatter(value: &Value<'_>) -> Decoded<Frontmatter> {
    let (mut name, mut description, mut runvil, mut max_tool_iterations) = (None, None, None, None);
    let (mut input, mut output, mut uses, mut args, mut models) = (None, None, None, None, None);
    for entry in value.entries("a map of frontmatter keys")? {
        match entry.name()? {
            "name" => entry.fill(&mut name, Value::text)?,
            "description" => entry.fill(&mut description, Value::text)?,
            "runvil" => entry.fill(&mut runvil, |value| value.whole_number(0))?,
            "max_tool_iterations" => entry.fill(&mut max_tool_iterations, round_cap)?,
            "input" => entry.fill(&mut input, file)?,
            "output" => entry.fill(&mut output, file)?,
            "uses" => entry.fill(&mut uses, uses_entries)?,
            "args" => entry.fill(&mut args, args::decode)?,
            "models" => entry.fill(&mut models, |value| contract_map(value, "model role label", role))?,
            key => return Err(entry.unknown_field(key, &FIELDS)),
        }
    }
    Ok(Frontmatter {
        name: name.ok_or_else(|| value.reject(&missing("name")))?,
        description: description.ok_or_else(|| value.reject(&missing("description")))?,
        runvil,
        max_tool_iterations,
        input,
        output,
        uses: uses.unwrap_or_default(),
        args: args.unwrap_or_default(),
        models: models.unwrap_or_default(),
    })
}

/// The round cap (book: Valid `max_tool_iterations` values).
fn round_cap(value: &Value<'_>) -> Decoded<u16> {
    const KEY: &str = "max_tool_iterations";
    let (raw, cap) = value.integer("a whole number from 1 to 1000")?;
    if cap < 1 {
        let message = format!("{KEY} must be a positive integer (>= 1), got {raw}");
        return Err(value.reject_plainly(message));
    }
    match u16::try_from(cap) {
        Ok(cap) if i128::from(cap) <= MAX_TOOL_ITERATIONS => Ok(cap),
        _ => {
            let message = format!("{KEY} must be <= {MAX_TOOL_ITERATIONS}, got {raw}");
            Err(value.reject_plainly(message))
        }
    }
}

fn file(value: &Value<'_>) -> Decoded<FileDeclaration> {
    let (mut path, mut description) = (None, None);
    for entry in value.entries("a map of `path` and `description`")? {
        match entry.name()? {
            "path" => entry.fill(&mut path, Value::text)?,
            "description" => entry.fill(&mut description, Value::text)?,
            key => return Err(entry.unknown_field(key, &["path", "description"])),
        }
    }
    Ok(FileDeclaration {
        path: path.ok_or_else(|| value.reject(&missing("path")))?,
        description: description.ok_or_else(|| value.reject(&missing("description")))?,
    })
}

fn uses_entries(value: &Value<'_>) -> Decoded<Vec<UsesEntry>> {
    let items = value.items("a list of Pack ids")?;
    items.iter().map(uses_entry).collect()
}

fn uses_entry(value: &Value<'_>) -> Decoded<UsesEntry> {
    let text = value.string("a Pack id, such as `web`, or vendor/name, such as `acme/web`")?;
    uses::parse(text).map_err(|error| value.reject_plainly(error.to_string()))
}

/// Decodes a contract map: a map from names of the alias grammar, each written once (book: Contract maps and duplicate keys).
/// `key_kind` is what messages call its keys.
pub(super) fn contract_map<'a, T>(
    value: &Value<'a>,
    key_kind: &str,
    decode: impl Fn(&Value<'a>) -> Decoded<T>,
) -> Decoded<BTreeMap<String, T>> {
    let mut map = BTreeMap::new();
    for entry in value.entries(&format!("a map of {key_kind} keys to declarations"))? {
        let name = contract_key(&entry, key_kind)?;
        if map.contains_key(name) {
            let message = format!("duplicate {key_kind} `{name}`: contract map keys must be unique");
            return Err(entry.key.reject(&message));
        }
        map.insert(name.to_owned(), decode(&entry.value)?);
    }
    Ok(map)
}

fn contract_key<'a>(entry: &Entry<'a>, key_kind: &str) -> Result<&'a str, Rejection> {
    let name = entry.name()?;
    if alias::is_alias(name) {
        return Ok(name);
    }
    let message = format!("invalid {key_kind} `{name}`: expected {}", alias::GRAMMAR);
    Err(entry.key.reject(&message))
}

fn role(value: &Value<'_>) -> Decoded<RoleDeclaration> {
    let (mut keywords, mut min_context, mut description) = (None, None, None);
    for entry in value.entries("a map of role declaration keys")? {
        match entry.name()? {
            "keywords" => entry.fill(&mut keywords, role_keywords)?,
            "min_context" => entry.fill(&mut min_context, min_tokens)?,
            "description" => entry.fill(&mut description, Value::optional_text)?,
            key => {
                let fields = ["keywords", "min_context", "description"];
                return Err(entry.unknown_field(key, &fields));
            }
        }
    }
    Ok(RoleDeclaration {
        keywords: keywords.unwrap_or_default(),
        min_context: min_context.flatten(),
        description: description.flatten(),
    })
}

fn role_keywords(value: &Value<'_>) -> Decoded<Vec<Keyword>> {
    let keywords = Keyword::ALL.map(|keyword| (keyword.name(), keyword));
    let items = value.items("a list of keywords")?;
    items.iter().map(|item| item.variant(&keywords)).collect()
}

fn min_tokens(value: &Value<'_>) -> Decoded<Option<NonZeroU32>> {
    if value.is_null()? {
        Ok(None)
    } else {
        value.whole_number(1).map(NonZeroU32::new)
    }
}
