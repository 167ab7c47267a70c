//! The cookie of a browser: a sealed note that says which token was shown, and until when that counts.
//!
//! Invariant: the cookie does not hold the token. It is worth nothing once the token is revoked, replaced or expired, or
//! the session was ended; and it survives a restart, because it is sealed with the key file. The server keeps nothing but
//! which sessions were ended, with their token.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use cookie::time::Duration;
use cookie::{Cookie, SameSite};
use ordo_engine::Versioned;
use ordo_engine::clock::new_id;
use ordo_engine::secrets::{SealingKey, SecretsError, open};
use ordo_model::api_token::{ApiToken, BrowserSession};
use ordo_model::{Millis, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::http::cookies;

pub(crate) const COOKIE: &str = "ordo_session";
const LIFE: Millis = Millis::from_days(14);
const PURPOSE: &str = "ordo-session";
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    pub(crate) token: Uuid,
    /// Of the token that was shown: another one of the same name is not meant.
    hash: String,
    #[serde(flatten)]
    pub(crate) browser: BrowserSession,
    pub(crate) until: Timestamp,
}

impl Session {
    pub(crate) fn of(token: &Versioned<ApiToken>, now: Timestamp) -> Session {
        let until = now.plus(LIFE);
        let until = token.expires_at.map_or(until, |end| until.min(end));
        let browser = BrowserSession { id: new_id(), begun_at: now };
        Session { token: token.id, hash: token.hash.clone(), browser, until }
    }

    pub(crate) fn sealed(&self, key: &SealingKey) -> Result<String, SecretsError> {
        let clear = serde_json::to_vec(self).expect("a session is plain data");
        Ok(hex::encode(key.seal(PURPOSE, &clear)?))
    }

    /// The session in a cookie, if it still counts.
    pub(crate) fn opened(cookie: &str, keys: &[SealingKey], now: Timestamp) -> Option<Session> {
        let clear = open(keys, PURPOSE, &hex::decode(cookie).ok()?).ok()?;
        let session: Session = serde_json::from_slice(&clear).ok()?;
        (now < session.until).then_some(session)
    }

    /// Whether it is a session of this token, and was not ended.
    pub(crate) fn is_of(&self, token: &ApiToken) -> bool {
        self.hash == token.hash && !token.is_session_over(self.browser)
    }

    /// The header with which the browser keeps it.
    pub(crate) fn cookie(&self, sealed: &str, headers: &HeaderMap, now: Timestamp) -> Option<HeaderValue> {
        set(sealed, self.until.since(now).ms() / 1_000, headers)
    }
}

/// The header with which the browser forgets it.
pub(crate) fn forgotten(headers: &HeaderMap) -> Option<HeaderValue> {
    set("", 0, headers)
}

/// What the browser sent.
pub(crate) fn sent(headers: &HeaderMap) -> Option<String> {
    cookies::sent(headers, COOKIE)
}

fn set(value: &str, seconds: u64, headers: &HeaderMap) -> Option<HeaderValue> {
    let cookie = Cookie::build((COOKIE, value))
        .http_only(true)
        .same_site(SameSite::Strict)
        .secure(is_https(headers))
        .path("/")
        .max_age(Duration::seconds(i64::try_from(seconds).unwrap_or(i64::MAX)));
    let mut value = HeaderValue::try_from(cookie.build().to_string()).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Whether the browser came over TLS, as far as the proxy before the server says.
fn is_https(headers: &HeaderMap) -> bool {
    let says = |name: &HeaderName, wanted: &str| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|text| text.to_ascii_lowercase().contains(wanted))
    };
    says(&FORWARDED_PROTO, "https") || says(&header::FORWARDED, "proto=https") || says(&header::ORIGIN, "https://")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ms(ms).unwrap()
    }

    fn session(until: i64) -> Session {
        let browser = BrowserSession { id: Uuid::from_u128(1), begun_at: at(0) };
        Session { token: Uuid::from_u128(7), hash: "abc".into(), browser, until: at(until) }
    }

    #[test]
    fn a_session_counts_until_its_end_and_under_its_key_only() {
        let (key, other) = (SealingKey::of([1; 32]), SealingKey::of([2; 32]));
        let sealed = session(10).sealed(&key).unwrap();
        assert_eq!(Session::opened(&sealed, &[other.clone(), key.clone()], at(9)), Some(session(10)));
        assert_eq!(Session::opened(&sealed, std::slice::from_ref(&key), at(10)), None);
        assert_eq!(Session::opened(&sealed, &[other], at(9)), None);
        assert_eq!(Session::opened("nonsense", std::slice::from_ref(&key), at(9)), None);
        assert_eq!(Session::opened(&sealed[..sealed.len() - 2], &[key], at(9)), None);
    }

    #[test]
    fn the_cookie_is_for_this_server_alone() {
        let plain = session(61_000).cookie("x", &HeaderMap::new(), at(1_000)).unwrap();
        assert_eq!(plain, "ordo_session=x; HttpOnly; SameSite=Strict; Path=/; Max-Age=60");
        let tls = HeaderMap::from_iter([(FORWARDED_PROTO, HeaderValue::from_static("https"))]);
        assert!(session(61_000).cookie("x", &tls, at(1_000)).unwrap().to_str().unwrap().contains("; Secure; "));
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        let sent_as =
            |text: &'static str| sent(&HeaderMap::from_iter([(header::COOKIE, HeaderValue::from_static(text))]));
        assert_eq!(sent_as("a=b; ordo_session=xyz; c=d").as_deref(), Some("xyz"));
        assert_eq!(sent_as("my_ordo_session=xyz"), None);
    }
}
