//! Which addresses a request may go to.
//!
//! Invariant: only public unicast addresses, unless the configuration allows more by name. What is not known to be
//! public is forbidden: of IPv6, all outside 2000::/3.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Deserializer};

use crate::network::{Network, NotANetwork};

/// One entry of a list in the configuration: a network, an address, or a host name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allowed {
    Network(Network),
    /// Exactly this name, whatever it resolves to.
    Host(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAllowable {
    #[error(transparent)]
    Network(#[from] NotANetwork),
    #[error("not a host name: {0:?} (write a plain name such as build.internal, without scheme, port or *)")]
    Host(String),
}

/// The target is one that may not be reached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{host} is not allowed: {address} is {what}; {key} in the configuration can allow it")]
pub struct Forbidden {
    pub host: String,
    pub address: IpAddr,
    pub what: &'static str,
    pub key: &'static str,
}

/// Who may be reached besides all that is public.
#[derive(Debug, Clone)]
pub struct Guard {
    /// The configuration key that allows more: named in refusals.
    key: &'static str,
    allow: Vec<Allowed>,
}

impl Guard {
    pub fn new(key: &'static str, allow: Vec<Allowed>) -> Guard {
        Guard { key, allow }
    }

    /// All of a host's addresses must be allowed: which one is used is not ours to choose.
    pub fn admit(&self, host: &str, addresses: &[IpAddr]) -> Result<(), Forbidden> {
        if self.allows_host(host) {
            return Ok(());
        }
        let forbidden = addresses.iter().find_map(|address| Some((*address, self.objection(*address)?)));
        match forbidden {
            Some((address, what)) => Err(Forbidden { host: host.to_owned(), address, what, key: self.key }),
            None => Ok(()),
        }
    }

    fn objection(&self, address: IpAddr) -> Option<&'static str> {
        let allowed = self.allow.iter().any(|entry| match entry {
            Allowed::Network(network) => network.contains(address),
            Allowed::Host(_) => false,
        });
        if allowed { None } else { objection(address) }
    }

    fn allows_host(&self, host: &str) -> bool {
        let host = plain(host);
        self.allow.iter().any(|entry| match entry {
            Allowed::Host(name) => *name == host,
            Allowed::Network(_) => false,
        })
    }
}

/// Why an address is not a public one.
fn objection(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(v4) => objection_v4(v4),
        IpAddr::V6(v6) => objection_v6(v6),
    }
}

fn objection_v4(address: Ipv4Addr) -> Option<&'static str> {
    Some(match address.octets() {
        [0, ..] => "unspecified (0.0.0.0/8)",
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => "private",
        [100, 64..=127, ..] => "carrier-grade NAT (100.64.0.0/10)",
        [127, ..] => "loopback",
        [169, 254, ..] => "link-local",
        [192, 0, 0, _] => "reserved for protocols (192.0.0.0/24)",
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => "documentation",
        [192, 88, 99, _] => "6to4 relay",
        [198, 18..=19, ..] => "benchmarking (198.18.0.0/15)",
        [224..=239, ..] => "multicast",
        [240..=255, ..] => "reserved (240.0.0.0/4)",
        _ => return None,
    })
}

fn objection_v6(address: Ipv6Addr) -> Option<&'static str> {
    Some(match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => "unspecified",
        [0, 0, 0, 0, 0, 0, 0, 1] => "loopback",
        [0, 0, 0, 0, 0, 0xffff, ..] => "an IPv4-mapped address",
        [0x64, 0xff9b, ..] => "a NAT64 address",
        [0xfc00..=0xfdff, ..] => "unique local",
        [0xfe80..=0xfebf, ..] => "link-local",
        [0xff00..=0xffff, ..] => "multicast",
        [0x2001, 0..=0x1ff, ..] => "reserved for protocols (2001::/23)",
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => "documentation",
        [0x2002, ..] => "a 6to4 address",
        [0x2000..=0x3fff, ..] => return None,
        _ => "not a public address",
    })
}

/// A host name without case and without the dot of the root.
fn plain(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

impl FromStr for Allowed {
    type Err = NotAllowable;

    fn from_str(text: &str) -> Result<Allowed, NotAllowable> {
        let like_a_network = text.contains(['/', ':']) || text.parse::<IpAddr>().is_ok();
        if like_a_network && !text.contains("://") {
            return Ok(Allowed::Network(text.parse()?));
        }
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
        // A name of digits and dots only is an address with a slip in it.
        let numeric = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        match !numeric && text.bytes().all(fits) {
            true => Ok(Allowed::Host(plain(text))),
            false => Err(NotAllowable::Host(text.to_owned())),
        }
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Allowed::Network(network) => network.fmt(f),
            Allowed::Host(host) => f.write_str(host),
        }
    }
}

impl<'de> Deserialize<'de> for Allowed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(allow: &[&str]) -> Guard {
        Guard::new("tools.http.allow", allow.iter().map(|entry| entry.parse().unwrap()).collect())
    }

    fn admits(guard: &Guard, host: &str, addresses: &[&str]) -> bool {
        let addresses: Vec<IpAddr> = addresses.iter().map(|address| address.parse().unwrap()).collect();
        guard.admit(host, &addresses).is_ok()
    }

    #[test]
    fn public_addresses_pass_up_to_the_edges_of_the_forbidden_ranges() {
        let public = [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:4860::8888",
            "2a00::1",
            "2001:200::1",
            "3ffe::1",
        ];
        for address in public {
            assert!(admits(&guard(&[]), "x", &[address]), "{address}");
        }
    }

    #[test]
    fn one_forbidden_address_among_many_is_enough_to_refuse() {
        assert!(!admits(&guard(&[]), "x", &["1.1.1.1", "10.0.0.1"]));
        assert!(!admits(&guard(&["10.0.0.0/8"]), "x", &["10.0.0.1", "127.0.0.1"]));
        assert!(admits(&guard(&["10.0.0.0/8"]), "x", &["1.1.1.1", "10.0.0.1"]));
    }

    #[test]
    fn an_allowed_host_is_exactly_that_name() {
        let guard = guard(&["Build.Internal"]);
        assert!(admits(&guard, "build.internal", &["10.0.0.1"]));
        assert!(admits(&guard, "BUILD.internal.", &["10.0.0.1"]));
        assert!(!admits(&guard, "x.build.internal", &["10.0.0.1"]));
        assert!(!admits(&guard, "10.0.0.1", &["10.0.0.1"]));
    }

    #[test]
    fn an_entry_that_means_something_else_is_refused() {
        for text in ["", "*.internal", "http://x", "host:8080", "10.0.5.1/24", "10.0.5", "a b"] {
            assert!(text.parse::<Allowed>().is_err(), "{text}");
        }
        assert_eq!("10.0.5.1".parse::<Allowed>().unwrap().to_string(), "10.0.5.1/32");
        assert_eq!("db_1.internal.".parse::<Allowed>().unwrap().to_string(), "db_1.internal");
    }
}
