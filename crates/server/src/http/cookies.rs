//! Cookies: what a browser sent, and those that carry how somebody wants to see the pages or a message across a redirect.

use axum::http::{HeaderMap, HeaderValue, header};
use cookie::time::Duration;
use cookie::{Cookie, CookieBuilder, SameSite};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What stays as it is in a value.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The value of a cookie as it was sent.
pub(crate) fn sent(headers: &HeaderMap, name: &str) -> Option<String> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies = lines.flat_map(Cookie::split_parse).filter_map(Result::ok);
    cookies.find(|cookie| cookie.name() == name).map(|cookie| cookie.value().to_owned())
}

/// The value of a cookie, decoded.
pub(crate) fn read(headers: &HeaderMap, name: &str) -> Option<String> {
    sent(headers, name).map(|value| decode(&value))
}

/// A cookie for a year, readable by the pages' scripts: nothing in it is secret.
pub(crate) fn lasting(name: &str, value: &str, path: &str) -> HeaderValue {
    made(plain(name, encode(value), path).max_age(Duration::days(365)))
}

/// A cookie for the next page only.
pub(crate) fn passing(name: &str, value: &str, path: &str) -> HeaderValue {
    made(plain(name, encode(value), path).max_age(Duration::seconds(60)).http_only(true))
}

pub(crate) fn gone(name: &str, path: &str) -> HeaderValue {
    made(plain(name, String::new(), path).max_age(Duration::ZERO).http_only(true))
}

fn plain<'a>(name: &'a str, value: String, path: &'a str) -> CookieBuilder<'a> {
    Cookie::build((name, value)).path(path).same_site(SameSite::Lax)
}

fn made(cookie: CookieBuilder<'_>) -> HeaderValue {
    // Encoded values and our own paths are plain characters.
    HeaderValue::try_from(cookie.build().to_string()).unwrap_or(HeaderValue::from_static(""))
}

/// Everything but letters, digits and `-_.~` becomes `%XX`; also fit for a part of a URL's query.
pub(crate) fn encode(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_comes_back_as_it_was_set() {
        for text in ["", "plain", "paused “night”; 5 %", "a=b&c"] {
            let pair = format!("x=1; flash={}; y=2", encode(text));
            let headers = HeaderMap::from_iter([(header::COOKIE, HeaderValue::try_from(pair).unwrap())]);
            assert_eq!(read(&headers, "flash").as_deref(), Some(text));
            assert_eq!(read(&headers, "flas"), None);
        }
    }

    #[test]
    fn what_is_no_code_stays_as_it_is() {
        assert_eq!(decode("100%"), "100%");
        assert_eq!(decode("%zz%2"), "%zz%2");
        assert_eq!(decode("%ff"), "\u{fffd}");
    }
}
