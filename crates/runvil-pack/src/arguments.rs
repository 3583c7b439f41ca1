//! The arguments of a tool call.

/// A tool call's arguments: always one JSON object. A call without arguments has an empty one.
pub type Arguments = serde_json::Map<String, serde_json::Value>;
