//! `[xxl.groups.NAME]` of the configuration: who of XXL-JOB may register, with which token, and where it may be called.

use std::collections::BTreeMap;

use ordo_egress_guard::Allowed;
use ordo_model::limits::EXECUTOR_CAPACITY_MAX;
use serde::Deserialize;

/// Groups by name: that of the executors, `appname`. None: no executor of XXL-JOB is served.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct XxlOptions {
    pub groups: BTreeMap<String, XxlGroup>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct XxlGroup {
    /// What executors and the server prove themselves with to each other.
    pub access_token: String,
    /// Networks, addresses and host names of executors that are not public.
    #[serde(default)]
    pub allow: Vec<Allowed>,
    /// How many runs one executor takes at once.
    #[serde(default = "capacity_default")]
    pub capacity: u32,
}

const fn capacity_default() -> u32 {
    100
}

impl std::fmt::Debug for XxlGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("XxlGroup").field("allow", &self.allow).field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

/// The token that XXL-JOB is delivered with: everybody knows it.
const PUBLISHED_TOKEN: &str = "default_token";
const TOKEN_MIN_BYTES: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnusableGroup {
    #[error("xxl.groups.{0}.access_token is shorter than {TOKEN_MIN_BYTES} characters: whoever guesses it runs jobs")]
    ShortToken(String),
    #[error("xxl.groups.{0}.access_token is the one that XXL-JOB is delivered with: everybody knows it")]
    PublishedToken(String),
    #[error("xxl.groups.{0}.capacity must be between 1 and {EXECUTOR_CAPACITY_MAX}")]
    Capacity(String),
}

impl XxlOptions {
    pub fn check(&self) -> Result<(), UnusableGroup> {
        for (name, group) in &self.groups {
            if group.access_token == PUBLISHED_TOKEN {
                return Err(UnusableGroup::PublishedToken(name.clone()));
            }
            if group.access_token.len() < TOKEN_MIN_BYTES {
                return Err(UnusableGroup::ShortToken(name.clone()));
            }
            if !(1..=EXECUTOR_CAPACITY_MAX).contains(&group.capacity) {
                return Err(UnusableGroup::Capacity(name.clone()));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(token: &str, capacity: u32) -> XxlOptions {
        let group = XxlGroup { access_token: token.to_owned(), allow: Vec::new(), capacity };
        XxlOptions { groups: BTreeMap::from([("billing".to_owned(), group)]) }
    }

    #[test]
    fn a_token_that_others_know_or_guess_is_refused() {
        assert_eq!(options("default_token", 1).check(), Err(UnusableGroup::PublishedToken("billing".into())));
        assert_eq!(options("", 1).check(), Err(UnusableGroup::ShortToken("billing".into())));
        assert_eq!(options("0123456789", 0).check(), Err(UnusableGroup::Capacity("billing".into())));
        assert_eq!(options("0123456789", 1).check(), Ok(()));
        assert!(!format!("{:?}", options("0123456789", 1)).contains("0123456789"));
    }
}
