//! What the record of a run holds, and who keeps it (book: What a run's record holds, Repeating a run exactly).
//!
//! A run's course hangs on nothing but its setup, what each step is handed, and where a cancel strikes. A record that
//! keeps these repeats the run, byte for byte.

use runvil_vfs::{Identity, StoreFailure, StoreOp, StoreReply};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Answer, Effect, EffectId, Event, ModelInfo, Outcome, PackSnapshot, RunFacts, RunOutcome};

/// Why a record cannot be kept or read. It names the place and the remedy.
pub type RecordFault = Box<dyn std::error::Error + Send + Sync>;

/// What is known of a run before its prompt is parsed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStart {
    /// Name, seed, start instant, argument string, limits, UI snapshot, debug mode.
    pub facts: RunFacts,
    /// The hash of the prompt file.
    pub prompt_hash: String,
    /// The text for the declared input file.
    pub input: Option<String>,
    /// The current model, to which every role is bound.
    pub model: Option<ModelInfo>,
    /// Whether the Host declares a store.
    pub has_store: bool,
}

/// What preparing the run found, of which the run is built.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunPrepared {
    /// The run's Packs and their tools.
    pub packs: PackSnapshot,
    /// The roster, as the Harness words it.
    pub roster: Value,
}

/// One answer that a step was handed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handed {
    /// The effect.
    pub effect: EffectId,
    /// Whether it was answered as dropped, whatever performing it brought.
    pub dropped: bool,
}

/// Where in a step the run's cancel took effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelPlace {
    /// How many looks at the cancel flag, events and effects the step had come to.
    pub at: u64,
    /// Whether it struck running Lua, and not one of the Engine's own looks at the flag.
    pub in_lua: bool,
}

/// One step of a run: what it was handed, and what came out of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// The answers that it was handed, in order; none for the first step, and for one that only sees a cancel.
    pub handed: Vec<Handed>,
    /// Each time the run opened or forked its store access: `None` where it was granted.
    pub openings: Vec<Option<StoreFailure>>,
    /// New work, in issue order.
    pub effects: Vec<Effect>,
    /// Effects that nothing waits for any more.
    pub drops: Vec<EffectId>,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// Where the run's cancel took effect, in the step that it did.
    pub cancelled: Option<CancelPlace>,
    /// How the run ended, in its last step.
    pub outcome: Option<RunOutcome>,
}

/// Which access to the store: the run's own, or one that a tool call makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AccessId {
    /// The store effect, or the tool call.
    pub effect: EffectId,
    /// For a tool call, the number of its access, counted from 1; for the run's own it is 0.
    pub nth: u64,
}

/// A file's contents, told by length and hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileState {
    /// The length in bytes.
    pub length: u64,
    /// The SHA-256 of the bytes, as `sha256:` and hex digits.
    pub hash: String,
}

/// A change that must not be made twice: what its file is before it and after it. `None` stands for no file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Before the change.
    pub before: Option<FileState>,
    /// After the change.
    pub after: Option<FileState>,
}

/// An access to the store that landed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Landed {
    /// Which access it was.
    pub access: AccessId,
    /// Who made it.
    pub identity: Identity,
    /// What it was.
    pub op: StoreOp,
    /// What it came to.
    pub reply: Outcome<StoreReply, StoreFailure>,
}

/// Keeps the record of one run. Each call returns once what it is told is kept, so that it survives the end of the
/// process; one that fails ends the run.
///
/// In order: the start, the parse, what preparing found, then for each step what it gave, before any of it is performed;
/// each answer before the run sees it; the outcome.
pub trait Recorder: Send + Sync {
    /// The run starts. `source` is the prompt file.
    ///
    /// # Errors
    /// The record cannot be kept.
    fn started(&self, start: &RunStart, source: &[u8]) -> Result<(), RecordFault>;

    /// The prompt was parsed. `name` is the name that its frontmatter gives it; a file that does not parse has none.
    ///
    /// # Errors
    /// The record cannot be kept.
    fn parsed(&self, name: Option<&str>, events: &[Event]) -> Result<(), RecordFault>;

    /// The run is built of this.
    ///
    /// # Errors
    /// The record cannot be kept.
    fn prepared(&self, prepared: &RunPrepared) -> Result<(), RecordFault>;

    /// A step was made. Nothing that it asks for is performed yet.
    ///
    /// # Errors
    /// The record cannot be kept.
    fn stepped(&self, step: &StepRecord) -> Result<(), RecordFault>;

    /// Performing an effect brought this. The run has not seen it yet, and never will if it dropped the effect.
    ///
    /// # Errors
    /// The record cannot be kept.
    fn answered(&self, effect: EffectId, answer: &Answer) -> Result<(), RecordFault>;

    /// A tool call is about to access the store.
    ///
    /// # Errors
    /// The record cannot be kept; the access is not to be made.
    fn accessing(&self, access: AccessId, op: &StoreOp) -> Result<(), RecordFault>;

    /// A file of a real directory is about to be changed.
    ///
    /// # Errors
    /// The record cannot be kept; the change is not to be made.
    fn changing(&self, access: AccessId, change: &FileChange) -> Result<(), RecordFault>;

    /// A tool call's access has landed.
    ///
    /// # Errors
    /// The record cannot be kept.
    fn accessed(&self, access: AccessId, reply: &Outcome<StoreReply, StoreFailure>) -> Result<(), RecordFault>;

    /// The Host stopped the calls that waited, which dropped these.
    ///
    /// # Errors
    /// The record cannot be kept.
    fn stopped(&self, dropped: &[EffectId]) -> Result<(), RecordFault>;

    /// The run has ended. `lost` are events that the Engine could not report itself.
    ///
    /// # Errors
    /// The record cannot be kept.
    fn ended(&self, outcome: &RunOutcome, lost: &[Event]) -> Result<(), RecordFault>;
}

/// Reads the course of a recorded run back, in order.
pub trait History: Send {
    /// The next step; `None` after the last that was recorded.
    ///
    /// # Errors
    /// The record cannot be read.
    fn next_step(&mut self) -> Result<Option<StepRecord>, RecordFault>;

    /// What performing an effect brought, if it was recorded.
    ///
    /// # Errors
    /// The record cannot be read.
    fn answer(&mut self, effect: EffectId) -> Result<Option<Answer>, RecordFault>;

    /// The effects that the Host's stops dropped.
    ///
    /// # Errors
    /// The record cannot be read.
    fn stopped(&mut self) -> Result<Vec<EffectId>, RecordFault>;

    /// Every access to the store that landed, in the order in which they did: the run's own, and its tool calls'.
    ///
    /// # Errors
    /// The record cannot be read.
    fn landed(&mut self) -> Result<Vec<Landed>, RecordFault>;

    /// The change that an access was about to make to a file of a real directory, if it was recorded.
    ///
    /// # Errors
    /// The record cannot be read.
    fn change(&mut self, access: AccessId) -> Result<Option<FileChange>, RecordFault>;
}
