//! What a sender says beside its payload: headers, and how it names the delivery.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::verify::Scheme;

/// The headers of a delivery, in the order they came.
#[derive(Debug, Clone, Copy)]
pub struct Headers<'a>(pub &'a [(String, String)]);

impl<'a> Headers<'a> {
    /// The first of that name; case does not matter.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// Headers by which senders that follow no scheme of ours name a delivery.
const GENERIC: [&str; 4] = ["idempotency-key", "x-delivery-id", "webhook-id", "x-github-delivery"];

/// How the sender names this delivery: the same name again is the same delivery.
pub fn delivery_id(scheme: Option<&Scheme>, headers: Headers<'_>, payload: &[u8]) -> Option<String> {
    let found = match scheme {
        Some(Scheme::Github) => header(headers, &["x-github-delivery"]),
        Some(Scheme::Standard) => header(headers, &["webhook-id"]),
        Some(Scheme::Stripe) => field(payload, "id"),
        Some(Scheme::Slack) => field(payload, "event_id"),
        Some(Scheme::Hmac { .. } | Scheme::Bearer) | None => header(headers, &GENERIC),
    };
    found.filter(|id| !id.is_empty())
}

/// What two calls have in common of which one is a copy of the other, where the delivery id could be made up: what their
/// signature covers. None: nothing is signed, or the id is.
pub fn replay_mark(scheme: Option<&Scheme>, headers: Headers<'_>, payload: &[u8]) -> Option<String> {
    let signed_with = match scheme? {
        Scheme::Github | Scheme::Hmac { .. } => "",
        Scheme::Slack => headers.get("x-slack-request-timestamp")?,
        Scheme::Stripe => {
            headers.get("stripe-signature")?.split(',').find_map(|part| part.trim().strip_prefix("t="))?
        }
        Scheme::Standard | Scheme::Bearer => return None,
    };
    let mut hash = Sha256::new();
    hash.update(signed_with.as_bytes());
    hash.update([0]);
    hash.update(payload);
    Some(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn header(headers: Headers<'_>, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| headers.get(name)).map(|value| value.trim().to_owned())
}

fn field(payload: &[u8], name: &str) -> Option<String> {
    match serde_json::from_slice::<Value>(payload).ok()?.get_mut(name)?.take() {
        Value::String(id) => Some(id),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_known_by_what_its_signature_covers() {
        let mark = |scheme: Scheme, headers: &[(&str, &str)], payload: &[u8]| {
            let headers: Vec<_> = headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
            replay_mark(Some(&scheme), Headers(&headers), payload)
        };
        for scheme in [Scheme::Github, Scheme::Hmac { header: None }] {
            let first = mark(scheme.clone(), &[("x-github-delivery", "1")], b"a");
            assert!(first.is_some());
            assert_eq!(first, mark(scheme.clone(), &[("x-github-delivery", "2")], b"a"));
            assert_ne!(first, mark(scheme, &[("x-github-delivery", "1")], b"b"));
        }
        let slack = |time: &str| mark(Scheme::Slack, &[("X-Slack-Request-Timestamp", time)], b"a");
        assert!(slack("1").is_some() && slack("1") == slack("1") && slack("1") != slack("2"));
        let stripe = |signature: &str| mark(Scheme::Stripe, &[("Stripe-Signature", signature)], b"a");
        assert!(stripe("t=1,v1=x").is_some() && stripe("t=1,v1=x") == stripe("v1=y, t=1"));
        assert_eq!(mark(Scheme::Standard, &[], b"a"), None, "the id itself is signed");
        assert_eq!(mark(Scheme::Bearer, &[], b"a"), None);
        assert_eq!(replay_mark(None, Headers(&[]), b"a"), None);
    }

    #[test]
    fn each_sender_names_its_deliveries_in_its_own_way() {
        let headers =
            [("X-GitHub-Delivery".to_owned(), "g-1".to_owned()), ("webhook-id".to_owned(), "msg_1".to_owned())];
        let headers = Headers(&headers);
        let payload = br#"{"id": "evt_1", "event_id": "Ev01"}"#;
        let id = |scheme: Option<Scheme>| delivery_id(scheme.as_ref(), headers, payload);
        assert_eq!(id(Some(Scheme::Github)).as_deref(), Some("g-1"));
        assert_eq!(id(Some(Scheme::Standard)).as_deref(), Some("msg_1"));
        assert_eq!(id(Some(Scheme::Stripe)).as_deref(), Some("evt_1"));
        assert_eq!(id(Some(Scheme::Slack)).as_deref(), Some("Ev01"));
        assert_eq!(id(None).as_deref(), Some("msg_1"));
        assert_eq!(delivery_id(Some(&Scheme::Stripe), headers, b"no json"), None);
        assert_eq!(delivery_id(None, Headers(&[]), payload), None);
    }
}
