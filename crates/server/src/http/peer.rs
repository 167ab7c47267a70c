//! How a request came in.

use std::net::IpAddr;

use axum::http::{HeaderMap, header};
use ordo_api::Code;
use tokio_util::sync::CancellationToken;

use crate::http::problem::Problem;

/// The listener a request came through; the listeners put it into the request's extensions.
#[derive(Debug, Clone, Default)]
pub struct Peer {
    way: PeerKind,
    /// Fires when the server goes down: answers without an end end then.
    pub(crate) closing: CancellationToken,
}

/// From which address a connection came; there is none for the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RemoteAddress(pub(crate) IpAddr);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum PeerKind {
    /// The Unix socket: whoever may open it is an administrator.
    Socket,
    /// An address that only this machine reaches.
    Loopback,
    #[default]
    Network,
}

impl Peer {
    pub fn socket(closing: CancellationToken) -> Peer {
        Peer { way: PeerKind::Socket, closing }
    }

    pub fn tcp(is_loopback: bool, closing: CancellationToken) -> Peer {
        Peer { way: if is_loopback { PeerKind::Loopback } else { PeerKind::Network }, closing }
    }

    pub(crate) fn is_local(&self) -> bool {
        self.way == PeerKind::Socket
    }

    /// A page of the web whose name was pointed at this machine sends its own name: it is refused.
    pub(crate) fn check_host(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let Some(host) = headers.get(header::HOST) else { return Ok(()) };
        if self.way != PeerKind::Loopback || host.to_str().is_ok_and(is_this_machine) {
            return Ok(());
        }
        let shown = String::from_utf8_lossy(host.as_bytes());
        Err(Problem::new(Code::HostRefused, format!("this server answers to localhost only, not to {shown:?}")))
    }
}

fn is_this_machine(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, "")) => (address, None),
            Some((address, rest)) if rest.starts_with(':') => (address, Some(&rest[1..])),
            Some(_) | None => return false,
        },
        None => host.rsplit_once(':').map_or((host, None), |(name, port)| (name, Some(port))),
    };
    if !port.unwrap_or_default().bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_of_this_machine_are_known() {
        for host in ["localhost", "LOCALHOST:7070", "127.0.0.1:7070", "127.1.2.3", "[::1]:7070", "ordo.localhost"] {
            assert!(is_this_machine(host), "{host}");
        }
        let others = ["evil.example", "evil.example:7070", "10.0.0.1", "localhost.evil.example", "", "[::2]"];
        let bent =
            ["[::1].evil.example", "[::1]evil:80", "[::1", "[::1]:80x", "localhost:80.evil.example", "localhost:x"];
        for host in others.into_iter().chain(bent) {
            assert!(!is_this_machine(host), "{host}");
        }
    }
}
