//! The run limits (book: Run limits and their defaults).

use serde::{Deserialize, Serialize};

/// The six limits that bound a whole run. The Harness sets them; a prompt replaces only the round cap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Lua heap of each section VM, in bytes.
    pub lua_memory_bytes: u64,
    /// `log` calls of each section VM. The log byte quota is 256 times this.
    pub lua_log_events: u32,
    /// Tasks that run at once.
    pub concurrency: u32,
    /// Bytes of one model reply.
    pub max_response_bytes: u64,
    /// Model rounds of one loop call, for a prompt without `max_tool_iterations`.
    pub max_tool_iterations: u32,
    /// Milliseconds that each wait for the next part of a model reply may last.
    pub request_timeout_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            lua_memory_bytes: 64 * 1024 * 1024,
            lua_log_events: 1024,
            concurrency: 8,
            max_response_bytes: 16 * 1024 * 1024,
            max_tool_iterations: 24,
            request_timeout_ms: 120_000,
        }
    }
}

/// A limit of zero: every count and size limit is at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("limit `{name}` must be at least 1")]
pub struct ZeroLimit {
    /// The limit's name in settings.
    pub name: &'static str,
}

impl Limits {
    /// Refuses a limit of zero.
    ///
    /// # Errors
    /// Names the first limit that is zero.
    pub fn validate(&self) -> Result<(), ZeroLimit> {
        let zero = [
            ("lua_memory_bytes", self.lua_memory_bytes == 0),
            ("lua_log_events", self.lua_log_events == 0),
            ("concurrency", self.concurrency == 0),
            ("max_response_bytes", self.max_response_bytes == 0),
            ("max_tool_iterations", self.max_tool_iterations == 0),
            ("request_timeout_ms", self.request_timeout_ms == 0),
        ];
        match zero.into_iter().find(|(_, is_zero)| *is_zero) {
            Some((name, _)) => Err(ZeroLimit { name }),
            None => Ok(()),
        }
    }
}
