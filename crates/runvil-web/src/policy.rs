//! The fetch policy: the limits that every `web/fetch` call runs under (book: The default fetch policy).

use std::time::Duration;

/// The only scheme that a fetch uses.
pub(crate) const SCHEME: &str = "https";

/// The ports that a fetch connects to.
pub(crate) const PORTS: [u16; 2] = [80, 443];

/// How many redirect hops one fetch follows.
pub(crate) const MAX_REDIRECTS: usize = 5;

/// The largest response body, in bytes after decompression.
pub(crate) const BYTE_CAP: usize = 8 * 1024 * 1024;

/// The largest text that a call returns, in characters.
pub(crate) const CHARACTER_CEILING: usize = 40_000;

/// The `User-Agent` header of every request.
pub(crate) const USER_AGENT: &str = "harness-webfetch/0.0";

/// How long one hop may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeLimits {
    /// Until its connection is open.
    pub(crate) connect: Duration,
    /// From its start to the last byte of its body.
    pub(crate) request: Duration,
}

impl Default for TimeLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            request: Duration::from_secs(20),
        }
    }
}
