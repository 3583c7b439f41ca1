//! The wall clock that durations are told by.

use std::time::{SystemTime, UNIX_EPOCH};

/// The present in UTC microseconds since the Unix epoch.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
