//! Turns host names into addresses that may be connected to.
//!
//! Invariant: a connection goes only to addresses that were checked in the same lookup; a lookup that fails or
//! finds nothing lets nothing through.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::guard::Guard;

/// Where addresses come from: the system in production.
#[async_trait]
pub trait Lookup: std::fmt::Debug + Send + Sync + 'static {
    async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

#[derive(Debug, Clone, Copy, Default)]
pub struct SystemLookup;

#[async_trait]
impl Lookup for SystemLookup {
    async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect())
    }
}

#[derive(Debug, Clone)]
pub(crate) struct GuardedResolver {
    pub(crate) guard: Arc<Guard>,
    pub(crate) lookup: Arc<dyn Lookup>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Unresolved {
    #[error("cannot resolve {host}: {source}")]
    Failed { host: String, source: io::Error },
    #[error("cannot resolve {0}: it has no address")]
    Nothing(String),
}

impl GuardedResolver {
    async fn resolve_host(self, host: String) -> Result<Addrs, Box<dyn std::error::Error + Send + Sync>> {
        let found = self.lookup.addresses(&host).await;
        let addresses = found.map_err(|source| Unresolved::Failed { host: host.clone(), source })?;
        if addresses.is_empty() {
            return Err(Unresolved::Nothing(host).into());
        }
        self.guard.admit(&host, &addresses)?;
        // Port 0 stands for the one of the URL.
        Ok(Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0))))
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(self.clone().resolve_host(name.as_str().to_owned()))
    }
}
