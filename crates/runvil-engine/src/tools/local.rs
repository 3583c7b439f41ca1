//! The parameter schema of a local tool (book: Describing parameters).

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// One declared parameter.
pub(crate) struct Parameter {
    pub(crate) kind: String,
    pub(crate) description: Option<String>,
}

/// A parameter that cannot be declared.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ParameterFault {
    #[error(
        "tools.offer_local param {name:?} has unsupported type {kind:?}: expected \"string\", \"integer\", \"number\", or \"boolean\""
    )]
    Kind { name: String, kind: String },
    #[error("tools.offer_local param {0:?} must be a type string or a {{type, description}} array")]
    Spec(String),
    #[error("a parameter's {{type, description}} array must start with a type string, got {0}")]
    First(&'static str),
    #[error("tools.offer_local param names must be strings, got {0}")]
    Name(&'static str),
    #[error("tools.offer_local param {name:?} description must be a string, got {got}")]
    Description { name: String, got: &'static str },
}

/// The schema object that declares these parameters, all of them required, in the order of their names.
pub(crate) fn parameters(declared: &BTreeMap<String, Parameter>) -> Result<Value, ParameterFault> {
    let mut properties = serde_json::Map::new();
    for (name, Parameter { kind, description }) in declared {
        if !["string", "integer", "number", "boolean"].contains(&kind.as_str()) {
            return Err(ParameterFault::Kind {
                name: name.clone(),
                kind: kind.clone(),
            });
        }
        let mut property = json!({ "type": kind });
        if let Some(description) = description {
            property["description"] = json!(description);
        }
        properties.insert(name.clone(), property);
    }
    let required: Vec<_> = declared.keys().collect();
    Ok(json!({ "type": "object", "properties": properties, "required": required }))
}
