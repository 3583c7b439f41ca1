//! What the Harness gives a run when it builds it (book: What a run starts with).

use std::{collections::BTreeMap, sync::Arc};

use runvil_vfs::{Identity, StoreFailure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Limits, ModelInfo, prompt::Prompt};

/// Everything that a run starts from. The same setup and the same answers give the same bytes.
pub struct RunSetup {
    /// The parsed prompt.
    pub prompt: Arc<Prompt>,
    /// What the Host states of the run.
    pub facts: RunFacts,
    /// The Packs of the run, as they stood after all were ready.
    pub packs: PackSnapshot,
    /// The models that the roles were bound to, by role label.
    pub roles: BTreeMap<String, ModelInfo>,
    /// The run's store access, or `None` when the Host declares no store.
    pub store: Option<Box<dyn StoreAccess>>,
}

/// The plain facts of one run, as a record keeps them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunFacts {
    /// The run's name, the `execution` of its events.
    pub name: String,
    /// The seed, 32 bytes from the operating system's random source.
    #[serde(with = "hex_seed")]
    pub seed: [u8; 32],
    /// The start instant in UTC milliseconds since the epoch.
    pub started_at: i64,
    /// The argument string, exactly as given.
    pub args: String,
    /// The limits of the run.
    pub limits: Limits,
    /// The Host's UI snapshot, if it hands one.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::effect::present"
    )]
    pub ui: Option<Value>,
    /// Whether model answers carry raw bodies, and the run reports them.
    pub debug: bool,
}

/// Opening the store and forking identities, which a Host may refuse. Its answers are inputs of the run.
pub trait StoreAccess: Send {
    /// Opens store access for the run's root identity.
    ///
    /// # Errors
    /// The Host refuses, or the backend fails as the run starts.
    fn open(&mut self, root: &Identity) -> Result<(), StoreFailure>;

    /// Opens store access for a task or a tool call that forked off.
    ///
    /// # Errors
    /// The Host refuses access to this child.
    fn fork(&mut self, child: &Identity) -> Result<(), StoreFailure>;
}

/// The Packs of one run (book: Waiting for Packs and taking the snapshot).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PackSnapshot {
    /// The declared Packs in declaration order, then the others sorted by Pack id.
    pub packs: Vec<PackEntry>,
}

/// One Pack of the run's roster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PackEntry {
    /// The Pack id, such as `web`.
    pub id: String,
    /// Whether the prompt declares it.
    pub declared: bool,
    /// Why it cannot serve this run; it then has no tools.
    pub unavailable: Option<String>,
    /// The Lua that a declared Pack adds to every section VM.
    pub prelude: Option<String>,
    /// Its tools in the Pack's own order.
    pub tools: Vec<ToolEntry>,
}

/// One tool of the run's catalog.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolEntry {
    /// The canonical tool id, such as `web/search`.
    pub id: String,
    /// What the tool does, for the model.
    pub description: String,
    /// Its parameter schema; a tool whose schema is not a JSON object is never offered.
    pub parameters: Value,
    /// Whether its output is JSON text.
    pub structured: bool,
    /// Whether its calls keep waiting through a stop.
    pub survives_stop: bool,
}

/// A seed as 64 hex digits.
mod hex_seed {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(seed: &[u8; 32], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&crate::hex::Hex(seed))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u8; 32], D::Error> {
        let text = String::deserialize(deserializer)?;
        crate::hex::decode(&text).ok_or_else(|| D::Error::custom("a seed is 64 hex digits"))
    }
}
