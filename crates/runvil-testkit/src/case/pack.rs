//! The Packs that a case's Host has.

use indexmap::IndexMap;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::decode::{TextOrMap, exactly_one, only_true, text_or_map};

/// One entry of `host.packs`.
#[derive(Debug, Clone)]
pub enum PackSpec {
    /// The Pack of this name that the project ships.
    Builtin,
    /// A Pack that answers from the case.
    Scripted(ScriptedPackSpec),
}

impl<'de> TextOrMap<'de> for PackSpec {
    type Map = ScriptedPackSpec;
    const EXPECTED: &'static str = "`builtin` or a scripted Pack";

    fn from_text(text: &str) -> Option<Self> {
        (text == "builtin").then_some(Self::Builtin)
    }

    fn from_map(map: ScriptedPackSpec) -> Result<Self, String> {
        Ok(Self::Scripted(map))
    }
}

impl<'de> Deserialize<'de> for PackSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text_or_map(deserializer)
    }
}

/// A scripted Pack.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptedPackSpec {
    /// Lua that defines globals for prompts that declare the Pack.
    pub prelude: Option<String>,
    /// The host services without which the Pack cannot serve.
    pub needs: Vec<String>,
    /// Why the Pack cannot be built.
    pub unavailable: Option<String>,
    /// Why the Pack's readiness check fails.
    pub not_ready: Option<String>,
    /// The tools by what follows the Pack id in their tool ids, in the Pack's own order.
    pub tools: IndexMap<String, ToolSpec>,
}

/// A scripted tool.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "RawTool")]
pub struct ToolSpec {
    /// What the model reads of it.
    pub description: String,
    /// Its parameter schema, any JSON.
    pub parameters: Value,
    /// Whether its output is trusted.
    pub trusted: bool,
    /// Whether its output is JSON text.
    pub structured: bool,
    /// Whether its calls stay open through a stop.
    pub survives_stop: bool,
    /// What its calls are answered with: one entry for all of them, or one for each.
    pub answers: ToolAnswers,
}

/// The answers of a scripted tool.
#[derive(Debug, Clone)]
pub enum ToolAnswers {
    /// Every call gets this one.
    Always(ToolAnswer),
    /// Each call gets the next one.
    Each(Vec<ToolAnswer>),
}

/// The answer to one call of a scripted tool.
#[derive(Debug, Clone)]
pub enum ToolAnswer {
    /// This text.
    Returns(String),
    /// A failure with this message.
    Fails(String),
    /// The call's arguments as compact JSON.
    Echoes,
    /// No answer, ever.
    Hangs,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTool {
    #[serde(default)]
    description: String,
    #[serde(default = "no_parameters")]
    parameters: Value,
    #[serde(default = "yes")]
    trusted: bool,
    #[serde(default)]
    structured: bool,
    #[serde(default)]
    survives_stop: bool,
    #[serde(default)]
    returns: Option<Value>,
    #[serde(default)]
    fails: Option<String>,
    #[serde(default, deserialize_with = "only_true")]
    echoes: bool,
    #[serde(default, deserialize_with = "only_true")]
    hangs: bool,
    #[serde(default)]
    sequence: Option<Vec<RawAnswer>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAnswer {
    #[serde(default)]
    returns: Option<Value>,
    #[serde(default)]
    fails: Option<String>,
    #[serde(default, deserialize_with = "only_true")]
    echoes: bool,
    #[serde(default, deserialize_with = "only_true")]
    hangs: bool,
}

fn yes() -> bool {
    true
}

fn no_parameters() -> Value {
    serde_json::json!({ "type": "object", "properties": {} })
}

impl RawAnswer {
    fn forms(self, structured: bool) -> Result<[Option<ToolAnswer>; 4], String> {
        let returns = self.returns.map(|value| returned_text(value, structured)).transpose()?;
        Ok([
            returns.map(ToolAnswer::Returns),
            self.fails.map(ToolAnswer::Fails),
            self.echoes.then_some(ToolAnswer::Echoes),
            self.hangs.then_some(ToolAnswer::Hangs),
        ])
    }

    fn decode(self, structured: bool) -> Result<ToolAnswer, String> {
        exactly_one("`returns`, `fails`, `echoes`, `hangs`", self.forms(structured)?)
    }
}

/// The text that a tool returns: as written, or for a structured tool the JSON text of a value that is no string.
fn returned_text(value: Value, structured: bool) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        other if structured => Ok(other.to_string()),
        _ => Err("`returns` of a tool that is not structured must be a text".to_owned()),
    }
}

impl TryFrom<RawTool> for ToolSpec {
    type Error = String;

    fn try_from(raw: RawTool) -> Result<Self, String> {
        let single = RawAnswer {
            returns: raw.returns,
            fails: raw.fails,
            echoes: raw.echoes,
            hangs: raw.hangs,
        };
        let each = |answers: Vec<RawAnswer>| {
            answers
                .into_iter()
                .map(|answer| answer.decode(raw.structured))
                .collect()
        };
        let sequence = raw.sequence.map(each).transpose()?.map(ToolAnswers::Each);
        let single = single.forms(raw.structured)?.map(|form| form.map(ToolAnswers::Always));
        let answers = exactly_one(
            "`returns`, `fails`, `echoes`, `hangs`, `sequence`",
            single.into_iter().chain([sequence]),
        )?;
        Ok(Self {
            description: raw.description,
            parameters: raw.parameters,
            trusted: raw.trusted,
            structured: raw.structured,
            survives_stop: raw.survives_stop,
            answers,
        })
    }
}
