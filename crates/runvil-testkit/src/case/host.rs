//! What the Host supplies to a case's run.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use runvil_engine::{Limits, ModelId, ModelInfo, ThinkingMode, hex};
use runvil_pack::{PackName, SearchResult};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{
    PackSpec, ReplySpec,
    decode::{TextOrMap, exactly_one, text_or_map},
};

/// The start instant of a case that gives none, in UTC milliseconds.
const DEFAULT_START: i64 = 1_700_000_000_000;

/// The `host` map of a case.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HostSpec {
    /// The argument string.
    pub args: String,
    /// The launch input text.
    pub input: Option<String>,
    /// The run's name.
    pub name: String,
    /// The seed as 64 hex digits.
    seed: Option<String>,
    /// The start instant, UTC milliseconds.
    pub started_at: i64,
    /// The current model; `null` for none.
    #[serde(deserialize_with = "nullable_model")]
    pub model: Option<ModelSpec>,
    /// Whether model access is configured.
    pub model_access: bool,
    /// The UI snapshot.
    pub ui: Option<Value>,
    /// The files seeded into the store.
    pub store: BTreeMap<String, String>,
    /// Seeded files whose bytes are no UTF-8, as base64.
    store_base64: BTreeMap<String, String>,
    /// The kind of store.
    pub store_kind: StoreKind,
    /// Whether the store refuses writes.
    pub store_read_only: bool,
    /// The storage mode.
    pub store_mode: Option<StoreMode>,
    /// The store policy, by exact store path.
    pub store_policy: Vec<PolicyRule>,
    /// The Packs, by fully qualified name.
    pub packs: BTreeMap<String, PackSpec>,
    /// The answers of the input broker; `None` for no broker.
    pub operator: Option<Vec<OperatorAnswer>>,
    /// The answers of the search provider; `None` for no provider.
    pub search: Option<Vec<SearchAnswer>>,
    /// What the web serves, by URL.
    pub http: BTreeMap<String, HttpAnswer>,
    /// The addresses that a name look-up gives.
    pub lookups: BTreeMap<String, Vec<std::net::IpAddr>>,
    /// The model's replies.
    pub replies: Vec<ReplySpec>,
    /// The run limits.
    pub limits: Limits,
    /// What the Host does during the run.
    pub actions: Vec<Action>,
    /// The order in which outstanding work is answered.
    pub answers: AnswerOrder,
    /// Host debug mode.
    pub debug: bool,
}

impl Default for HostSpec {
    fn default() -> Self {
        Self {
            args: String::new(),
            input: None,
            name: "session-1".to_owned(),
            seed: None,
            started_at: DEFAULT_START,
            model: Some(ModelSpec::default()),
            model_access: true,
            ui: None,
            store: BTreeMap::new(),
            store_base64: BTreeMap::new(),
            store_kind: StoreKind::default(),
            store_read_only: false,
            store_mode: None,
            store_policy: Vec::new(),
            packs: BTreeMap::new(),
            operator: None,
            search: None,
            http: BTreeMap::new(),
            lookups: BTreeMap::new(),
            replies: Vec::new(),
            limits: Limits::default(),
            actions: Vec::new(),
            answers: AnswerOrder::default(),
            debug: false,
        }
    }
}

impl HostSpec {
    /// The seed; 32 zero bytes if the case gives none.
    ///
    /// # Errors
    /// The seed is not 64 hex digits.
    pub fn seed(&self) -> Result<[u8; 32], String> {
        match &self.seed {
            None => Ok([0; 32]),
            Some(digits) => hex::decode(digits).ok_or_else(|| "`seed` must be 64 hex digits".to_owned()),
        }
    }

    /// The bytes of every seeded file.
    ///
    /// # Errors
    /// A base64 text does not decode.
    pub fn files(&self) -> Result<BTreeMap<String, Vec<u8>>, String> {
        let mut files = BTreeMap::new();
        for (path, text) in &self.store {
            files.insert(path.clone(), text.clone().into_bytes());
        }
        for (path, encoded) in &self.store_base64 {
            let bytes = BASE64
                .decode(encoded.trim())
                .map_err(|error| format!("`store_base64` of {path} does not decode: {error}"))?;
            files.insert(path.clone(), bytes);
        }
        Ok(files)
    }

    /// Checks what serde cannot.
    ///
    /// # Errors
    /// Names the key whose value cannot be meant.
    pub fn validate(&self) -> Result<(), String> {
        self.seed()?;
        self.files()?;
        self.limits.validate().map_err(|error| error.to_string())?;
        if let Some(model) = &self.model {
            model.info()?;
        }
        for name in self.packs.keys() {
            name.parse::<PackName>()
                .map_err(|error| format!("`{name}` under `packs` is no Pack name: {error}"))?;
        }
        for reply in &self.replies {
            reply.validate()?;
        }
        for answer in self.http.values() {
            answer.body()?;
        }
        Ok(())
    }
}

/// The Host's current model.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelSpec {
    id: String,
    context: u32,
    thinking: ThinkingMode,
    description: String,
    provider: Option<String>,
}

impl Default for ModelSpec {
    fn default() -> Self {
        Self {
            id: "gateway/m".to_owned(),
            context: 32_000,
            thinking: ThinkingMode::Switchable,
            description: String::new(),
            provider: None,
        }
    }
}

impl ModelSpec {
    /// The model as the Engine takes it.
    ///
    /// # Errors
    /// The id is no `server/name`, or the context window is zero.
    pub fn info(&self) -> Result<ModelInfo, String> {
        if self.context == 0 {
            return Err("`model.context` must be at least 1".to_owned());
        }
        Ok(ModelInfo {
            id: ModelId::try_from(self.id.clone()).map_err(|error| format!("`model.id`: {error}"))?,
            context: self.context,
            thinking: self.thinking,
            description: self.description.clone(),
            provider: self.provider.clone(),
        })
    }
}

fn nullable_model<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ModelSpec>, D::Error> {
    Option::deserialize(deserializer)
}

/// What kind of store the Host supplies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoreKind {
    /// A store in memory.
    #[default]
    Memory,
    /// A store in a directory of the machine.
    Directory,
    /// No store at all.
    None,
    /// A store that refuses every session.
    Refusing,
}

/// A storage mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoreMode {
    /// Every call is allowed.
    Agent,
    /// Changes need approval.
    Ask,
    /// Changes go to Markdown files only.
    Plan,
}

/// What the policy says of one store path.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "RawRule")]
pub struct PolicyRule {
    /// The exact store path.
    pub path: String,
    /// What happens to a call on it.
    pub verdict: Verdict,
}

/// A refusal of the policy, with its reason.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// The call is denied.
    Deny(String),
    /// The call needs approval.
    Ask(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    path: String,
    #[serde(default)]
    deny: Option<String>,
    #[serde(default)]
    ask: Option<String>,
}

impl TryFrom<RawRule> for PolicyRule {
    type Error = String;

    fn try_from(raw: RawRule) -> Result<Self, String> {
        let forms = [raw.deny.map(Verdict::Deny), raw.ask.map(Verdict::Ask)];
        Ok(Self {
            path: raw.path,
            verdict: exactly_one("`deny`, `ask`", forms)?,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fails {
    fails: String,
}

/// One answer of the operator.
#[derive(Debug, Clone)]
pub enum OperatorAnswer {
    /// A message.
    Says(String),
    /// The broker fails the wait with this text.
    Fails(String),
}

impl<'de> TextOrMap<'de> for OperatorAnswer {
    type Map = Fails;
    const EXPECTED: &'static str = "a text or `{fails: text}`";

    fn from_text(text: &str) -> Option<Self> {
        Some(Self::Says(text.to_owned()))
    }

    fn from_map(map: Fails) -> Result<Self, String> {
        Ok(Self::Fails(map.fails))
    }
}

impl<'de> Deserialize<'de> for OperatorAnswer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text_or_map(deserializer)
    }
}

/// One answer of the search provider.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "RawSearch")]
pub enum SearchAnswer {
    /// A list of results.
    Results(Vec<SearchResult>),
    /// A failure with this message.
    Fails(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSearch {
    #[serde(default)]
    results: Option<Vec<SearchResult>>,
    #[serde(default)]
    fails: Option<String>,
}

impl TryFrom<RawSearch> for SearchAnswer {
    type Error = String;

    fn try_from(raw: RawSearch) -> Result<Self, String> {
        exactly_one(
            "`results`, `fails`",
            [raw.results.map(Self::Results), raw.fails.map(Self::Fails)],
        )
    }
}

/// What one URL serves.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HttpAnswer {
    /// The status; 200 if left out.
    pub status: Option<u16>,
    /// The response headers, exactly these; a `content-type` of UTF-8 text if left out.
    pub headers: Option<BTreeMap<String, String>>,
    body: Option<String>,
    body_base64: Option<String>,
    /// The address that the response redirects to.
    pub redirect: Option<String>,
    /// A network error instead of a response.
    pub fails: Option<String>,
}

impl HttpAnswer {
    /// The bytes of the body.
    ///
    /// # Errors
    /// There are two bodies, or the base64 text does not decode.
    pub fn body(&self) -> Result<Vec<u8>, String> {
        match (&self.body, &self.body_base64) {
            (Some(_), Some(_)) => Err("give `body` or `body_base64`, not both of them".to_owned()),
            (Some(text), None) => Ok(text.clone().into_bytes()),
            (None, Some(encoded)) => BASE64
                .decode(encoded.trim())
                .map_err(|error| format!("`body_base64` does not decode: {error}")),
            (None, None) => Ok(Vec::new()),
        }
    }
}

/// What the Host does at a moment of the run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// The kind of moment. A YAML 1.1 writer may have spelled the key `true`.
    #[serde(alias = "true")]
    pub on: ActionMoment,
    /// Which of these moments, counted from 1.
    #[serde(default = "first")]
    pub nth: u64,
    /// What is done.
    pub r#do: ActionKind,
}

fn first() -> u64 {
    1
}

/// The kinds of moments at which the Host can act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionMoment {
    /// Before the first step.
    Start,
    /// The nth model round is outstanding.
    ModelRound,
    /// The nth tool call is outstanding.
    ToolCall,
    /// The nth store call is outstanding.
    StoreCall,
    /// The nth timer is outstanding.
    Timer,
    /// The nth `log` checkpoint is reached.
    Log,
}

/// What the Host can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActionKind {
    /// Cancel the run.
    Cancel,
    /// Stop the calls in flight.
    Stop,
}

/// In which order outstanding work is answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerOrder {
    /// One at a time, in the order in which the work was issued.
    #[default]
    Issued,
    /// One at a time, the newest first.
    Newest,
    /// All that can be answered at once, in the order in which the work was issued.
    Together,
    /// One at a time, in an order drawn from this number.
    Shuffled(u64),
}
