//! A range of addresses in CIDR form.
//!
//! Invariant: no bit beyond the prefix is set, and an IPv4 range holds no IPv6 address in disguise.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    base: IpAddr,
    prefix: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotANetwork {
    #[error("not a network: {0:?} (write 10.0.5.0/24, fd00::/8 or a single address)")]
    Form(String),
    #[error("{given:?} has bits beyond its prefix: write {meant}")]
    StrayBits { given: String, meant: Network },
}

impl Network {
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.base, address) {
            (IpAddr::V4(_), IpAddr::V4(_)) | (IpAddr::V6(_), IpAddr::V6(_)) => {
                mask(address, self.prefix) == bits(self.base)
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }

    fn new(address: IpAddr, prefix: u32) -> Network {
        let base = match address {
            IpAddr::V4(_) => IpAddr::V4(u32::try_from(mask(address, prefix)).unwrap_or(0).into()),
            IpAddr::V6(_) => IpAddr::V6(mask(address, prefix).into()),
        };
        Network { base, prefix }
    }
}

fn width(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(u32::from(v4)),
        IpAddr::V6(v6) => v6.into(),
    }
}

fn mask(address: IpAddr, prefix: u32) -> u128 {
    let free = width(address) - prefix;
    bits(address).checked_shr(free).and_then(|kept| kept.checked_shl(free)).unwrap_or(0)
}

impl FromStr for Network {
    type Err = NotANetwork;

    fn from_str(text: &str) -> Result<Network, NotANetwork> {
        let malformed = || NotANetwork::Form(text.to_owned());
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| malformed())?;
        let digits = |prefix: &&str| prefix.bytes().all(|byte| byte.is_ascii_digit());
        let prefix = match prefix {
            Some(prefix) => Some(prefix).filter(digits).and_then(|prefix| prefix.parse().ok()).ok_or_else(malformed)?,
            None => width(address),
        };
        if prefix > width(address) {
            return Err(malformed());
        }
        let network = Network::new(address, prefix);
        if network.base != address {
            return Err(NotANetwork::StrayBits { given: text.to_owned(), meant: network });
        }
        Ok(network)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.prefix)
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_holds_exactly_its_range() {
        let cases = [
            ("10.0.5.0/24", "10.0.5.255", true),
            ("10.0.5.0/24", "10.0.6.0", false),
            ("0.0.0.0/0", "8.8.8.8", true),
            ("0.0.0.0/0", "::", false),
            ("::/0", "1.1.1.1", false),
            ("::/0", "2001::1", true),
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.2", false),
            ("fc00::/7", "fdff::1", true),
            ("fc00::/7", "fe00::1", false),
            ("127.0.0.0/8", "::ffff:127.0.0.1", false),
        ];
        for (network, address, inside) in cases {
            let parsed: Network = network.parse().unwrap();
            assert_eq!(parsed.contains(address.parse().unwrap()), inside, "{address} in {network}");
        }
    }

    #[test]
    fn a_slip_in_a_network_is_refused_not_rounded() {
        for text in ["", "10.0.0.0/33", "::/129", "10.0.0/8", "10.0.0.0/", "10.0.0.0/+8", "x/8", "010.0.0.0/8"] {
            assert!(matches!(text.parse::<Network>(), Err(NotANetwork::Form(_))), "{text}");
        }
        let stray = "10.0.5.7/24".parse::<Network>().unwrap_err();
        assert_eq!(stray.to_string(), r#""10.0.5.7/24" has bits beyond its prefix: write 10.0.5.0/24"#);
    }

    #[test]
    fn a_network_is_written_as_it_is_read() {
        for text in ["10.0.5.0/24", "::1/128", "0.0.0.0/0", "fd00::/8"] {
            assert_eq!(text.parse::<Network>().unwrap().to_string(), text);
        }
    }
}
