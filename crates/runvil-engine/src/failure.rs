//! Failures on their way into Lua, and back out of a block (book: Error values).

use std::{any::Any, sync::Arc};

use runvil_lua::{BlockFailure, FieldValue, mlua};

use crate::{ErrorKind, Failure, RunErrorKind};

impl From<Failure> for runvil_lua::Failure {
    fn from(failure: Failure) -> Self {
        Self {
            kind: failure.kind().as_str().into(),
            message: failure.to_string(),
            fields: failure.fields(),
            origin: Some(Arc::new(failure) as Arc<dyn Any + Send + Sync>),
        }
    }
}

impl From<Failure> for mlua::Error {
    fn from(failure: Failure) -> Self {
        runvil_lua::Failure::from(failure).into()
    }
}

impl Failure {
    /// What a block failed with.
    ///
    /// A failure of kind `lua` ends its block as a runtime error with the place in the prompt, except for a spent
    /// quota, the depth cap and a prelude, which stay what they are.
    pub(crate) fn from_block(raised: BlockFailure) -> Self {
        match raised {
            BlockFailure::Interrupted => Self::Interrupted,
            BlockFailure::Runtime { message } => Self::Runtime(message),
            BlockFailure::Raised { failure, located } => {
                match failure.origin.as_ref().and_then(|origin| origin.downcast_ref::<Self>()) {
                    None | Some(Self::Lua(_) | Self::Heading(_) | Self::Runtime(_)) => Self::Runtime(located),
                    Some(origin) => origin.clone(),
                }
            }
            BlockFailure::Rebuilt { failure, located } => Self::rebuild(failure, located),
        }
    }

    /// What an error value becomes that was raised again after another suspending call (book: Raising an error
    /// value after another suspending call).
    fn rebuild(failure: runvil_lua::Failure, located: String) -> Self {
        let has = |name: &str| {
            let is_text = |value: &FieldValue| matches!(value, FieldValue::Str(_));
            failure
                .fields
                .iter()
                .any(|(field, value)| field == name && is_text(value))
        };
        let (kind, run_kind) = match &*failure.kind {
            "cancelled" => return Self::Interrupted,
            "context_exhausted" if has("reason") => (ErrorKind::ContextExhausted, RunErrorKind::ContextExhausted),
            "tool_loop_exhausted" => (ErrorKind::ToolLoopExhausted, RunErrorKind::Tool),
            "empty_model_reply" => (ErrorKind::EmptyModelReply, RunErrorKind::Completion),
            "tool" => (ErrorKind::Tool, RunErrorKind::Tool),
            "store" => (ErrorKind::Store, RunErrorKind::Vfs),
            "task_not_owned" if has("task") => (ErrorKind::TaskNotOwned, RunErrorKind::Lua),
            "task_consumed" if has("task") => (ErrorKind::TaskConsumed, RunErrorKind::Lua),
            _ => return Self::Runtime(located),
        };
        Self::Rebuilt {
            run_kind,
            kind,
            message: failure.message,
            fields: failure.fields,
        }
    }
}
