//! Credentials that stand in what is shown of an entity: whoever knows them may use them, so only those see them who may.
//!
//! Invariant: what is covered for somebody in the view of an entity is covered for him in its events too.

use serde_json::Value;

use crate::access::role::Right;
use crate::id::Kind;

/// What it takes to see the stream of an entity.
pub const fn to_see(kind: Kind) -> Right {
    match kind {
        Kind::Job
        | Kind::Incident
        | Kind::Hook
        | Kind::Delivery
        | Kind::Executor
        | Kind::Monitor
        | Kind::Subscription
        | Kind::Notification
        | Kind::Silence
        | Kind::EscalationChain
        | Kind::Channel => Right::Read,
        Kind::ApiToken | Kind::Secret | Kind::Login => Right::Administer,
    }
}

/// Whether the log of all events contains those of an entity. Secrets and tokens are only in their own streams.
pub const fn is_published(kind: Kind) -> bool {
    match to_see(kind) {
        Right::Read => true,
        Right::Operate | Right::ManageHooks | Right::Execute | Right::Administer => false,
    }
}

const COVER: &str = "***";

/// What it takes to see the credentials of such an entity; None: it has none.
pub const fn to_use(kind: Kind) -> Option<Right> {
    match kind {
        // Whoever knows the path of a monitor may ping it.
        Kind::Monitor => Some(Right::Operate),
        // The address of a receiver is often all that it takes to write to it.
        Kind::Subscription | Kind::Channel => Some(Right::Administer),
        Kind::Job
        | Kind::Incident
        | Kind::Hook
        | Kind::Delivery
        | Kind::ApiToken
        | Kind::Secret
        | Kind::Executor
        | Kind::Notification
        | Kind::Silence
        | Kind::Login
        | Kind::EscalationChain => None,
    }
}

/// The data of an event as somebody sees it who may not use the credentials in it.
pub fn covered(kind: Kind, mut data: Value) -> Value {
    match kind {
        Kind::Monitor => {
            if let Some(token) = data.get_mut("token") {
                *token = COVER.into();
            }
        }
        Kind::Subscription => {
            if let Some(Value::String(url)) = data.pointer_mut("/terms/url") {
                *url = covered_address(url);
            }
        }
        Kind::Channel => {
            for address in ["/settings/target/url", "/settings/target/server"] {
                if let Some(Value::String(url)) = data.pointer_mut(address) {
                    *url = covered_address(url);
                }
            }
        }
        Kind::Job
        | Kind::Incident
        | Kind::Hook
        | Kind::Delivery
        | Kind::ApiToken
        | Kind::Secret
        | Kind::Executor
        | Kind::Notification
        | Kind::Silence
        | Kind::Login
        | Kind::EscalationChain => {}
    }
    data
}

/// An address as far as it says who is meant: without user and password, path and query.
pub fn covered_address(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return COVER.to_owned() };
    let (authority, rest) = rest.split_at(rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    let rest = if rest.trim_matches('/').is_empty() { "" } else { "/***" };
    format!("{scheme}://{host}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn of_an_address_only_the_host_is_shown() {
        for (url, shown) in [
            ("https://hooks.example.com/services/T0/B0/xyz", "https://hooks.example.com/***"),
            ("https://me:s3cret@example.com:8443/?key=1", "https://example.com:8443/***"),
            ("https://me:p@ss@example.com", "https://example.com"),
            ("https://example.com/", "https://example.com"),
            ("nonsense", "***"),
        ] {
            assert_eq!(covered_address(url), shown, "{url}");
        }
    }

    #[test]
    fn an_event_is_told_without_its_credentials() {
        let monitor = covered(Kind::Monitor, json!({ "token": "abc", "settings": { "name": "m" } }));
        assert_eq!(monitor, json!({ "token": "***", "settings": { "name": "m" } }));
        let subscription = covered(Kind::Subscription, json!({ "terms": { "url": "https://u:p@h/x", "events": [] } }));
        assert_eq!(subscription, json!({ "terms": { "url": "https://h/***", "events": [] } }));
        let channel = json!({ "settings": { "target": { "type": "webhook", "url": "https://h/key", "secret": "s" } } });
        assert_eq!(covered(Kind::Channel, channel)["settings"]["target"]["url"], "https://h/***");
        let job = json!({ "token": 7 });
        assert_eq!(covered(Kind::Job, job.clone()), job);
    }
}
