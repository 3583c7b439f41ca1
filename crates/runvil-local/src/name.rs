//! The names of embedded models.

use std::fmt;

use runvil_engine::ModelId;
use serde::{Deserialize, Serialize};

/// The server namespace of embedded models.
pub const LOCAL_SERVER: &str = "local";

/// The most characters of a name.
const MAX_CHARS: usize = 64;

/// The names that Windows keeps for devices, whatever follows them after a dot.
const DEVICES: [&str; 22] = [
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9", "lpt1", "lpt2",
    "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];

/// The name that a model is installed under: `[a-z0-9][a-z0-9._-]{0,63}`, without a dot at its end.
///
/// A name is also a folder's, on every platform; so it has no capital letters, and is none of Windows' devices.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LocalName(String);

/// A text that is not a model's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid model name `{0}`: expected up to 64 lowercase letters, digits, `.`, `_` or `-`, the first a letter or \
     digit, the last no dot, and no name of a Windows device"
)]
pub struct InvalidName(String);

impl LocalName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The model's id, such as `local/smollm2`.
    #[must_use]
    pub fn id(&self) -> ModelId {
        ModelId::new(LOCAL_SERVER, &self.0).expect("the grammar of names holds no control character and no empty name")
    }
}

impl TryFrom<String> for LocalName {
    type Error = InvalidName;

    fn try_from(text: String) -> Result<Self, InvalidName> {
        if is_name(&text) {
            Ok(Self(text))
        } else {
            Err(InvalidName(text.escape_debug().to_string()))
        }
    }
}

impl std::str::FromStr for LocalName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        Self::try_from(text.to_owned())
    }
}

impl From<LocalName> for String {
    fn from(name: LocalName) -> Self {
        name.0
    }
}

impl fmt::Display for LocalName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let stem = text.split('.').next().unwrap_or_default();
    text.len() <= MAX_CHARS
        && text.bytes().next().is_some_and(plain)
        && text
            .bytes()
            .all(|byte| plain(byte) || matches!(byte, b'.' | b'_' | b'-'))
        && !text.ends_with('.')
        && !DEVICES.contains(&stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_lowercase_letters_digits_and_three_signs() {
        for name in ["smollm2", "qwen2.5-0.5b", "a", "7b_chat", &"x".repeat(64)] {
            assert_eq!(
                name.parse::<LocalName>().expect(name).id().to_string(),
                format!("local/{name}")
            );
        }
        for name in [
            "",
            "A",
            "-a",
            ".a",
            "a/b",
            "a b",
            "a.",
            "é",
            "..",
            "con",
            "nul.gguf",
            &"x".repeat(65),
        ] {
            assert!(name.parse::<LocalName>().is_err(), "{name}");
        }
    }

    #[test]
    fn a_refused_name_is_shown_without_its_control_characters() {
        let error = "a\nb".parse::<LocalName>().expect_err("refused").to_string();
        assert!(error.starts_with("invalid model name `a\\nb`: expected"), "{error}");
    }
}
