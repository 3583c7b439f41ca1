//! The `log` function (book: Logging and lifecycle reports).

use mlua::{Function, Lua, Value, Variadic};

use crate::failure::{Failure, Origin};

/// The most characters of a message.
const MAX_CHARS: usize = 256;

/// How many bytes of messages each allowed call adds to the byte quota.
const BYTES_PER_EVENT: u64 = 256;

/// A call that a log quota refuses. The texts are those that an author catches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogRefusal {
    /// The calls are spent.
    #[error("lua log event budget exceeded")]
    Events,
    /// The message does not fit in the bytes that are left.
    #[error("lua log cumulative byte budget exceeded")]
    Bytes,
}

/// A call that breaks a message rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum BrokenRule {
    #[error("log expects exactly one argument")]
    ArgumentCount,
    #[error("log message must be a UTF-8 string")]
    NotText,
    #[error("log message must be at most 256 characters")]
    TooLong,
    #[error("log message must not contain newline or control characters")]
    Control,
}

/// What is left of the two log quotas of a VM.
#[derive(Debug)]
struct Quota {
    events: u32,
    bytes: u64,
}

/// Makes the function `log(message)`: it checks the message and the quotas of `events` calls and 256 bytes for each,
/// and hands what passes to `sink`. A refusal is raised as a failure of kind `lua` with the origin that `origin`
/// gives, so that the driver knows it when it leaves its block.
///
/// # Errors
///
/// A Lua memory error.
pub fn log_function(
    lua: &Lua,
    events: u32,
    mut sink: impl FnMut(&str) + Send + 'static,
    origin: impl Fn(LogRefusal) -> Origin + Send + 'static,
) -> mlua::Result<Function> {
    let mut quota = Quota {
        events,
        bytes: u64::from(events) * BYTES_PER_EVENT,
    };
    lua.create_function_mut(move |_, arguments: Variadic<Value>| {
        let [message] = arguments.as_slice() else {
            return Err(broken(BrokenRule::ArgumentCount));
        };
        let refuse =
            |refusal: LogRefusal| mlua::Error::from(Failure::lua(refusal.to_string()).with_origin(origin(refusal)));
        quota.spend_event().map_err(refuse)?;
        let text = message.as_string().and_then(|text| text.to_str().ok());
        let text = text.ok_or_else(|| broken(BrokenRule::NotText))?;
        check(&text).map_err(broken)?;
        quota.spend_bytes(&text).map_err(refuse)?;
        sink(&text);
        Ok(())
    })
}

impl Quota {
    fn spend_event(&mut self) -> Result<(), LogRefusal> {
        self.events = self.events.checked_sub(1).ok_or(LogRefusal::Events)?;
        Ok(())
    }

    /// A refused message leaves the bytes as they were.
    fn spend_bytes(&mut self, text: &str) -> Result<(), LogRefusal> {
        let left = u64::try_from(text.len())
            .ok()
            .and_then(|length| self.bytes.checked_sub(length));
        self.bytes = left.ok_or(LogRefusal::Bytes)?;
        Ok(())
    }
}

fn check(text: &str) -> Result<(), BrokenRule> {
    if text.chars().nth(MAX_CHARS).is_some() {
        return Err(BrokenRule::TooLong);
    }
    let breaks_line = |character: char| character.is_control() || matches!(character, '\u{2028}' | '\u{2029}');
    if text.chars().any(breaks_line) {
        return Err(BrokenRule::Control);
    }
    Ok(())
}

fn broken(rule: BrokenRule) -> mlua::Error {
    Failure::lua(rule.to_string()).into()
}
