//! Names of Packs and tools (book: Pack ids, tool ids, and wire names).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The vendor of the Packs that a bare `uses:` entry means.
pub const RUNVIL_VENDOR: &str = "runvil";

/// Why a text is not a valid name. Its `Display` is the reason that the book fixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// A segment holds nothing: an empty name, or a leading, trailing or doubled `/`.
    #[error("segments must not be empty")]
    EmptySegment,
    /// A segment holds a byte below 0x20 or the byte 0x7F.
    #[error("segments must not contain a control character")]
    ControlCharacter,
    /// A segment holds any other character outside the allowed set.
    #[error("segments may contain only lowercase ASCII letters, digits, '-', '_', '.'")]
    CharacterSet,
    /// A Pack id has more than one segment.
    #[error("a Pack id is one segment, such as `web`, with no '/'")]
    PackIdSegments,
    /// A `uses:` entry has more than two segments.
    #[error("a uses entry is a Pack id, such as `web`, or vendor/name, such as `acme/web`")]
    UsesEntrySegments,
    /// A fully qualified name has one segment, or more than two.
    #[error("a fully qualified name is vendor/name, such as `acme/web`")]
    PackNameSegments,
    /// A tool id has one segment.
    #[error("a tool id is its Pack's id and the tool's own name, such as `web/fetch`")]
    ToolIdSegments,
}

/// Checks every segment of `text`, left to right, and returns how many there are.
pub(crate) fn segments(text: &str) -> Result<usize, NameError> {
    let mut count = 0;
    for segment in text.split('/') {
        check_segment(segment)?;
        count += 1;
    }
    Ok(count)
}

fn check_segment(segment: &str) -> Result<(), NameError> {
    if segment.is_empty() {
        return Err(NameError::EmptySegment);
    }
    for character in segment.chars() {
        match character {
            'a'..='z' | '0'..='9' | '-' | '_' | '.' => {}
            '\0'..='\x1f' | '\x7f' => return Err(NameError::ControlCharacter),
            _ => return Err(NameError::CharacterSet),
        }
    }
    Ok(())
}

macro_rules! name_type {
    ($name:ident, $check:expr) => {
        impl $name {
            /// The name as written; it parses back to the same name.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                let check: fn(usize) -> Result<(), NameError> = $check;
                check(segments(text)?)?;
                Ok(Self(text.to_owned()))
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }
    };
}

/// A Pack id: one segment, such as `web`. It names a Pack within a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PackId(String);

name_type!(PackId, |count| if count == 1 {
    Ok(())
} else {
    Err(NameError::PackIdSegments)
});

impl PackId {
    /// The id of this Pack's tool `name`, which may have several segments.
    ///
    /// # Errors
    /// A segment of `name` breaks the segment rules.
    pub fn tool(&self, name: &str) -> Result<ToolId, NameError> {
        format!("{self}/{name}").parse()
    }
}

/// A Pack's fully qualified name, vendor and Pack id, such as `runvil/web`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PackName(String);

name_type!(PackName, |count| if count == 2 {
    Ok(())
} else {
    Err(NameError::PackNameSegments)
});

impl PackName {
    /// The name of the runvil Pack with the Pack id `id`.
    pub fn runvil(id: &PackId) -> Self {
        Self(format!("{RUNVIL_VENDOR}/{id}"))
    }

    /// The first segment, such as `runvil`.
    pub fn vendor(&self) -> &str {
        self.halves().0
    }

    /// The second segment, which no Host can change.
    pub fn id(&self) -> PackId {
        PackId(self.halves().1.to_owned())
    }

    /// Whether a run holds this Pack also when its prompt does not declare it.
    pub fn is_runvil(&self) -> bool {
        self.vendor() == RUNVIL_VENDOR
    }

    fn halves(&self) -> (&str, &str) {
        self.0.split_once('/').expect("a fully qualified name has two segments")
    }
}

/// A tool id: the Pack id and then the Pack's own name for the tool, such as `web/fetch`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolId(String);

name_type!(ToolId, |count| if count >= 2 {
    Ok(())
} else {
    Err(NameError::ToolIdSegments)
});

impl ToolId {
    /// The id of the Pack that owns the tool: the first segment.
    pub fn pack(&self) -> PackId {
        PackId(self.halves().0.to_owned())
    }

    /// Whether `pack` owns the tool. Ownership matches the whole first segment.
    pub fn belongs_to(&self, pack: &PackId) -> bool {
        self.halves().0 == pack.as_str()
    }

    /// The tool's name: the last segment, such as `fetch`.
    pub fn tool_name(&self) -> &str {
        self.0.rsplit('/').next().expect("splitting yields a first part")
    }

    /// The name under which a model sees the tool: the id with every `/` and `.` replaced by `_`.
    pub fn wire_name(&self) -> String {
        self.0.replace(['/', '.'], "_")
    }

    fn halves(&self) -> (&str, &str) {
        self.0.split_once('/').expect("a tool id has two segments or more")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pack_id(text: &str) -> Result<PackId, NameError> {
        text.parse()
    }

    #[test]
    fn a_segment_may_be_any_of_its_characters() {
        for text in ["1", "-x", "_", ".", "..", "a1-b_c.d", "user-input"] {
            assert_eq!(pack_id(text).expect(text).as_str(), text);
        }
        assert!(pack_id(&"kit".repeat(1000)).is_ok());
    }

    #[test]
    fn a_broken_segment_gets_its_reason() {
        for text in ["", "/web", "web/", "a//b"] {
            assert_eq!(pack_id(text), Err(NameError::EmptySegment), "{text:?}");
        }
        for text in ["k\tit", "k\nit", "k\u{7f}it", "\0"] {
            assert_eq!(pack_id(text), Err(NameError::ControlCharacter), "{text:?}");
        }
        for text in ["Web", "web@1.0", "my web", " web", "web:x", "kité", "k\u{85}it"] {
            assert_eq!(pack_id(text), Err(NameError::CharacterSet), "{text:?}");
        }
    }

    #[test]
    fn the_first_failure_from_the_left_is_reported() {
        assert_eq!(pack_id("Web/"), Err(NameError::CharacterSet));
        assert_eq!(pack_id("/Web"), Err(NameError::EmptySegment));
        assert_eq!(pack_id("a\tB"), Err(NameError::ControlCharacter));
        assert_eq!(pack_id("aB\t"), Err(NameError::CharacterSet));
    }

    #[test]
    fn segments_are_checked_before_their_count() {
        assert_eq!(pack_id("web/"), Err(NameError::EmptySegment));
        assert_eq!(pack_id("web/fetch"), Err(NameError::PackIdSegments));
        assert_eq!("web".parse::<PackName>(), Err(NameError::PackNameSegments));
        assert_eq!("a/b/c".parse::<PackName>(), Err(NameError::PackNameSegments));
        assert_eq!("fetch".parse::<ToolId>(), Err(NameError::ToolIdSegments));
        assert_eq!("a/B".parse::<ToolId>(), Err(NameError::CharacterSet));
    }

    #[test]
    fn a_fully_qualified_name_fixes_the_pack_id() {
        let name: PackName = "acme/kit".parse().expect("valid");
        assert_eq!(
            (name.vendor(), name.id().as_str(), name.is_runvil()),
            ("acme", "kit", false)
        );
        assert_eq!(PackName::runvil(&name.id()).to_string(), "runvil/kit");
    }

    #[test]
    fn only_the_first_segment_names_the_pack_and_only_the_last_the_tool() {
        let id: ToolId = "kit/group/v1.press".parse().expect("valid");
        assert_eq!(id.pack().as_str(), "kit");
        assert_eq!(id.tool_name(), "v1.press");
        assert!(id.belongs_to(&"kit".parse().expect("valid")));
        assert!(!id.belongs_to(&"group".parse().expect("valid")));
        assert!(!id.belongs_to(&"ki".parse().expect("valid")));
    }

    #[test]
    fn a_wire_name_turns_slashes_and_dots_into_underscores() {
        for (id, wire) in [
            ("web/fetch", "web_fetch"),
            ("user-input/ask", "user-input_ask"),
            ("a.b/c.d/e", "a_b_c_d_e"),
        ] {
            assert_eq!(id.parse::<ToolId>().expect("valid").wire_name(), wire);
        }
    }

    #[test]
    fn a_name_is_written_out_as_one_string_and_read_back_checked() {
        let id: ToolId = "web/fetch".parse().expect("valid");
        assert_eq!(serde_json::to_string(&id).expect("a string"), "\"web/fetch\"");
        assert_eq!(serde_json::from_str::<ToolId>("\"web/fetch\"").expect("valid"), id);
        assert!(serde_json::from_str::<ToolId>("\"fetch\"").is_err());
    }
}
