//! The configuration that a Host passes to a Plugin for its Packs.

use serde_json::{Map, Value};

use crate::name::PackId;
use crate::pack::PackError;

/// The configuration of a Plugin's Packs: one JSON value for each Pack id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Configuration(Map<String, Value>);

impl Configuration {
    /// No configuration for any Pack.
    pub fn new() -> Self {
        Self::default()
    }

    /// The configuration of one Pack; null if the Host passed none.
    pub fn of(&self, pack: &PackId) -> &Value {
        self.0.get(pack.as_str()).unwrap_or(&Value::Null)
    }

    /// Checks that the Host configured nothing for a Pack that takes no configuration: null or `{}`.
    ///
    /// # Errors
    /// [`PackError::TakesNoConfiguration`] for any other value.
    pub fn expect_none(&self, pack: &PackId) -> Result<(), PackError> {
        match self.of(pack) {
            Value::Null => Ok(()),
            Value::Object(fields) if fields.is_empty() => Ok(()),
            _ => Err(PackError::TakesNoConfiguration { pack: pack.clone() }),
        }
    }
}

impl From<Map<String, Value>> for Configuration {
    fn from(values: Map<String, Value>) -> Self {
        Self(values)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pack_without_configuration_takes_null_and_an_empty_object() {
        let web: PackId = "web".parse().expect("valid");
        for (value, fits) in [
            (json!(null), true),
            (json!({}), true),
            (json!({ "a": 1 }), false),
            (json!([]), false),
        ] {
            let values = Map::from_iter([("web".to_owned(), value.clone())]);
            assert_eq!(Configuration::from(values).expect_none(&web).is_ok(), fits, "{value}");
        }
        assert!(Configuration::new().expect_none(&web).is_ok());
    }
}
