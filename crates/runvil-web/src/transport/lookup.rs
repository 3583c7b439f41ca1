//! Name look-ups.

use std::io;
use std::net::SocketAddr;

use async_trait::async_trait;

/// Finds the addresses of a host name.
#[async_trait]
pub trait Lookup: Send + Sync {
    /// Every address of `host`. A port of 0 stands for the port of the URL.
    async fn addresses(&self, host: &str) -> io::Result<Vec<SocketAddr>>;
}

/// The operating system's look-up, asked anew each time.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemLookup;

#[async_trait]
impl Lookup for SystemLookup {
    async fn addresses(&self, host: &str) -> io::Result<Vec<SocketAddr>> {
        Ok(tokio::net::lookup_host((host, 0)).await?.collect())
    }
}
