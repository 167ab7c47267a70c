//! The one way to make a client for addresses that others wrote.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, Url, redirect};

use crate::guard::{Forbidden, Guard};
use crate::resolver::{GuardedResolver, Lookup, SystemLookup};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Servers close idle connections after some seconds; one that is used again sooner is not closed under a request.
const IDLE_CONNECTION_KEPT: Duration = Duration::from_secs(1);

/// Why there is no address to connect to.
#[derive(Debug, thiserror::Error)]
pub enum NotReached {
    #[error(transparent)]
    Forbidden(#[from] Forbidden),
    #[error("{0}")]
    Unresolved(String),
}

/// A client together with the guard it obeys.
#[derive(Debug, Clone)]
pub struct Guarded {
    guard: Arc<Guard>,
    lookup: Arc<dyn Lookup>,
    /// A machine without root certificates can make no client; that must not stop everything else.
    client: Result<Client, String>,
}

impl Guarded {
    pub fn new(guard: Guard) -> Guarded {
        Guarded::with_lookup(guard, Arc::new(SystemLookup))
    }

    pub fn with_lookup(guard: Guard, lookup: Arc<dyn Lookup>) -> Guarded {
        let guard = Arc::new(guard);
        let client = client(GuardedResolver { guard: guard.clone(), lookup: lookup.clone() });
        Guarded { guard, lookup, client: client.map_err(|why| format!("cannot make an HTTP client: {why}")) }
    }

    /// For requests to a URL that [`Guarded::check`] has let pass.
    pub fn client(&self) -> Result<&Client, &str> {
        self.client.as_ref().map_err(String::as_str)
    }

    /// The address of a host that may be connected to, for what is no request over HTTP: a mail server.
    pub async fn address(&self, host: &str) -> Result<IpAddr, NotReached> {
        let unresolved = |why: &dyn std::fmt::Display| NotReached::Unresolved(format!("cannot resolve {host}: {why}"));
        let found = self.lookup.addresses(host).await.map_err(|error| unresolved(&error))?;
        self.guard.admit(host, &found)?;
        found.first().copied().ok_or_else(|| unresolved(&"it has no address"))
    }

    /// An address written in a URL is connected to without a lookup, so it is checked here. Names are checked when
    /// they are looked up.
    pub fn check(&self, url: &Url) -> Result<(), Forbidden> {
        let host = url.host_str().unwrap_or_default();
        let bare = host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(host);
        match bare.parse::<IpAddr>() {
            Ok(address) => self.guard.admit(bare, &[address]),
            Err(_) => Ok(()),
        }
    }
}

fn client(resolver: GuardedResolver) -> Result<Client, String> {
    let tls = ordo_tls::https([]).map_err(|error| error.to_string())?;
    let builder = Client::builder()
        .no_proxy()
        .redirect(redirect::Policy::none())
        .dns_resolver(resolver)
        .tls_backend_preconfigured(tls)
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE_CONNECTION_KEPT)
        .user_agent(concat!("ordo/", env!("CARGO_PKG_VERSION")));
    builder.build().map_err(|error| format!("{error:?}"))
}
