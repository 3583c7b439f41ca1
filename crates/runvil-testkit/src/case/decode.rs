//! Helpers for decoding shapes that serde has no attribute for.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};

/// A value that may be written as `null`, kept apart from one that is not written at all.
///
/// For `#[serde(default, deserialize_with = "written")]` on an `Option<Option<T>>`.
pub(super) fn written<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Some)
}

/// A shape that is either one text or a map.
pub(super) trait TextOrMap<'de>: Sized {
    /// The map form.
    type Map: Deserialize<'de>;
    /// What the two forms are, for an error message.
    const EXPECTED: &'static str;

    /// Reads the text form.
    fn from_text(text: &str) -> Option<Self>;

    /// Reads the map form.
    ///
    /// # Errors
    /// Says what is wrong with the map as a whole.
    fn from_map(map: Self::Map) -> Result<Self, String>;
}

/// Decodes either form, keeping the place of an error inside the map. A `#[serde(untagged)]` enum would lose it.
pub(super) fn text_or_map<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TextOrMap<'de>,
{
    struct Either<T>(PhantomData<T>);

    impl<'de, T: TextOrMap<'de>> Visitor<'de> for Either<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(T::EXPECTED)
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
            T::from_text(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &T::EXPECTED))
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            let map = T::Map::deserialize(MapAccessDeserializer::new(map))?;
            T::from_map(map).map_err(de::Error::custom)
        }
    }

    deserializer.deserialize_any(Either(PhantomData))
}

/// Picks the one form that is written among several.
///
/// # Errors
/// Names the forms when none is written, or more than one.
pub(super) fn exactly_one<T>(forms: &str, written: impl IntoIterator<Item = Option<T>>) -> Result<T, String> {
    let mut written = written.into_iter().flatten();
    match (written.next(), written.next()) {
        (Some(form), None) => Ok(form),
        (None, _) => Err(format!("one of {forms} is missing")),
        (Some(_), Some(_)) => Err(format!("only one of {forms} may be given")),
    }
}

/// A flag that only makes sense when it is set.
pub(super) fn only_true<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let flag = bool::deserialize(deserializer)?;
    if flag {
        return Ok(true);
    }
    Err(de::Error::custom("the value must be true; leave the key out instead"))
}
