//! `[models."local/NAME"]`: how an embedded model chooses its words.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error, Unexpected, Visitor},
};

use super::overlay;

/// What the name of an embedded model begins with.
const PREFIX: &str = "local/";

/// The most texts that end a reply.
const MAX_STOPS: usize = 16;

/// The settings of embedded models, by what follows `local/` in their names.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct LocalModels(pub(crate) BTreeMap<Name, LocalModel>);

/// The name of an embedded model, without `local/`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name(pub(crate) String);

/// What is set for one model. A request that says it itself counts before it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(
    not(feature = "local"),
    allow(dead_code, reason = "this build has no embedded models to set up")
)]
pub(crate) struct LocalModel {
    #[serde(deserialize_with = "temperature")]
    pub(crate) temperature: Option<f64>,
    #[serde(deserialize_with = "top_k")]
    pub(crate) top_k: Option<u32>,
    #[serde(deserialize_with = "top_p")]
    pub(crate) top_p: Option<f64>,
    #[serde(deserialize_with = "repetition_penalty")]
    pub(crate) repetition_penalty: Option<f64>,
    #[serde(deserialize_with = "seed")]
    pub(crate) seed: Option<u64>,
    #[serde(deserialize_with = "max_tokens")]
    pub(crate) max_tokens: Option<u32>,
    #[serde(deserialize_with = "stop")]
    pub(crate) stop: Option<Vec<String>>,
}

impl LocalModels {
    /// Lays other settings over these, model by model and key by key.
    pub(super) fn add(&mut self, others: Self) {
        for (name, other) in others.0 {
            let model = self.0.entry(name).or_default();
            overlay(&mut model.temperature, other.temperature);
            overlay(&mut model.top_k, other.top_k);
            overlay(&mut model.top_p, other.top_p);
            overlay(&mut model.repetition_penalty, other.repetition_penalty);
            overlay(&mut model.seed, other.seed);
            overlay(&mut model.max_tokens, other.max_tokens);
            overlay(&mut model.stop, other.stop);
        }
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = String::deserialize(deserializer)?;
        match key.strip_prefix(PREFIX) {
            Some(name) if !name.is_empty() => Ok(Self(name.to_owned())),
            _ => Err(D::Error::invalid_value(
                Unexpected::Str(&key),
                &"the name of an embedded model, such as \"local/smollm2\"",
            )),
        }
    }
}

/// A number, as the words say it.
struct Meant<T> {
    words: &'static str,
    /// The setting that a number is, if it may be one. A whole number comes as one, with nothing rounded.
    read: fn(Number) -> Option<T>,
}

/// A number of the file.
#[derive(Clone, Copy)]
enum Number {
    Whole(i64),
    Real(f64),
}

impl Number {
    /// The number, if it is in a range.
    fn within(self, low: f64, high: f64) -> Option<f64> {
        let number = match self {
            Self::Whole(number) => number as f64,
            Self::Real(number) => number,
        };
        (low..=high).contains(&number).then_some(number)
    }

    fn whole<T: TryFrom<i64>>(self) -> Option<T> {
        match self {
            Self::Whole(number) => T::try_from(number).ok(),
            Self::Real(_) => None,
        }
    }
}

impl<T> Visitor<'_> for Meant<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        match (self.read)(Number::Real(number)) {
            None => Err(E::invalid_value(Unexpected::Float(number), &self)),
            setting => Ok(setting),
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        match (self.read)(Number::Whole(number)) {
            None => Err(E::invalid_value(Unexpected::Signed(number), &self)),
            setting => Ok(setting),
        }
    }
}

fn temperature<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    deserializer.deserialize_any(Meant {
        words: "a number from 0 to 5",
        read: |number| number.within(0.0, 5.0),
    })
}

fn top_k<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    deserializer.deserialize_any(Meant {
        words: "a whole number of tokens, 0 for all of them",
        read: Number::whole,
    })
}

fn top_p<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    deserializer.deserialize_any(Meant {
        words: "a number above 0 and up to 1",
        read: |number| number.within(f64::MIN_POSITIVE, 1.0),
    })
}

fn repetition_penalty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    deserializer.deserialize_any(Meant {
        words: "a number from 1 to 2",
        read: |number| number.within(1.0, 2.0),
    })
}

fn seed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    deserializer.deserialize_any(Meant {
        words: "a whole number from 0 on",
        read: Number::whole,
    })
}

fn max_tokens<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    deserializer.deserialize_any(Meant {
        words: "a whole number of tokens, at least 1",
        read: |number| number.whole().filter(|tokens| *tokens > 0),
    })
}

fn stop<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    let stop = Vec::<String>::deserialize(deserializer)?;
    if stop.len() > MAX_STOPS || stop.iter().any(String::is_empty) {
        return Err(D::Error::custom(format_args!(
            "expected a list of up to {MAX_STOPS} texts, none of them empty"
        )));
    }
    Ok(Some(stop))
}
