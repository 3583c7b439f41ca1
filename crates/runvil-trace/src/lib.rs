//! Runs as `tracing` spans, by the OpenTelemetry conventions for generative AI.
//!
//! [`RunSpans`] is an observer: it hears what a run does and opens and closes spans. Whoever subscribes to `tracing`
//! gets them. With the feature `otlp`, `OtlpExport` sends them to a collector.
//!
//! ```text
//! invoke_workflow greet                  the run
//! └─ section Main                        a walked or called section
//!    ├─ chat qwen3-8b                    a model round
//!    ├─ execute_tool web/search          a call of a Pack's tool
//!    ├─ store read                       a store operation (level debug)
//!    └─ task Worker                      a task or an arm of a fanout, with sections of its own
//! ```
//!
//! Nothing of a prompt, a reply, an argument or a file is in a span: names, counts, times and kinds of errors only.

mod nesting;
#[cfg(feature = "otlp")]
mod otlp;
mod span;
mod spans;

pub use nesting::{Ending, Nesting, Opening};
#[cfg(feature = "otlp")]
pub use otlp::{OtlpError, OtlpExport};
pub use spans::{Beside, RunSpans};

/// The target of every span, by which a subscriber can pick them.
pub const TARGET: &str = "runvil_trace";
