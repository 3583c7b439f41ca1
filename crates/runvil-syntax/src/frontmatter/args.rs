//! The `args:` declaration (book: Declaring arguments in frontmatter).

use super::decode::{contract_map, missing};
use super::document::Content;
use super::scalar::{Kind, Scalar};
use super::value::{Decoded, Value};
use super::{ArgDeclaration, ArgDefault, ArgType, Args};

/// Decodes the value of an `args:` key.
pub(super) fn decode(value: &Value<'_>) -> Decoded<Args> {
    Ok(Args {
        structured: true,
        declarations: contract_map(value, "arg name", declaration)?,
    })
}

fn declaration(value: &Value<'_>) -> Decoded<ArgDeclaration> {
    let types = ArgType::ALL.map(|kind| (kind.name(), kind));
    let (mut kind, mut optional, mut default, mut description) = (None, None, None, None);
    for entry in value.entries("a map of arg declaration keys")? {
        match entry.name()? {
            "type" => entry.fill(&mut kind, |value| value.variant(&types))?,
            "optional" => entry.fill(&mut optional, Value::boolean)?,
            "default" => entry.fill(&mut default, |value| Ok(value.clone()))?,
            "description" => entry.fill(&mut description, Value::optional_text)?,
            key => {
                let fields = ["type", "optional", "default", "description"];
                return Err(entry.unknown_field(key, &fields));
            }
        }
    }
    let kind = kind.ok_or_else(|| value.reject(&missing("type")))?;
    // The type may stand below the default, so that the default waits for it.
    let default = default.map(|value| default_of(&value, kind)).transpose()?;
    Ok(ArgDeclaration {
        kind,
        optional: optional.unwrap_or(false),
        default: default.flatten(),
        description: description.flatten(),
    })
}

fn default_of(value: &Value<'_>, kind: ArgType) -> Decoded<Option<ArgDefault>> {
    if value.is_null()? {
        return Ok(None);
    }
    let content = value.content()?;
    if let Content::Scalar(scalar) = content
        && let Some(default) = scalar_default(scalar, kind)
    {
        return Ok(Some(default));
    }
    let found = type_name(content);
    let declared = kind.name();
    Err(value.reject(&format!(
        "the default has type `{found}`, which does not match the declared type `{declared}`"
    )))
}

fn scalar_default(scalar: &Scalar<'_>, kind: ArgType) -> Option<ArgDefault> {
    match (kind, scalar.kind) {
        (ArgType::String, Kind::String) => Some(ArgDefault::String(scalar.text.clone().into_owned())),
        (ArgType::Boolean, Kind::Boolean(boolean)) => Some(ArgDefault::Boolean(boolean)),
        (ArgType::Integer | ArgType::Number, Kind::Integer(integer)) => match i64::try_from(integer) {
            Ok(integer) => Some(ArgDefault::Integer(integer)),
            Err(_) if kind == ArgType::Integer => None,
            Err(_) => scalar.text.parse().ok().map(ArgDefault::Number),
        },
        (ArgType::Number, Kind::Number(number)) => Some(ArgDefault::Number(number)),
        _ => None,
    }
}

/// What messages call the type of a default.
fn type_name(content: &Content<'_>) -> &'static str {
    match content {
        Content::Scalar(scalar) => match scalar.kind {
            Kind::Null => "null",
            Kind::Boolean(_) => "boolean",
            Kind::Integer(integer) if i64::try_from(integer).is_ok() => "integer",
            // An integer argument takes 64 bits: a longer number is no integer of its kind.
            Kind::Integer(_) | Kind::Number(_) => "number",
            Kind::String => "string",
        },
        Content::Sequence(_) => "sequence",
        Content::Mapping(_) => "mapping",
        Content::Tagged | Content::Broken(_) => "tagged value",
    }
}
