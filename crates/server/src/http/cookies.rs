//! Cookies that carry how somebody wants to see the pages, and a message across a redirect.

use axum::http::{HeaderMap, HeaderValue, header};

/// The value of a cookie, decoded.
pub(crate) fn read(headers: &HeaderMap, name: &str) -> Option<String> {
    let given = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = given.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(|(key, _)| *key == name).map(|(_, value)| decode(value)).next()
}

/// A cookie for a year, readable by the pages' scripts: nothing in it is secret.
pub(crate) fn lasting(name: &str, value: &str, path: &str) -> HeaderValue {
    made(format!("{name}={}; Path={path}; Max-Age=31536000; SameSite=Lax", encode(value)))
}

/// A cookie for the next page only.
pub(crate) fn passing(name: &str, value: &str, path: &str) -> HeaderValue {
    made(format!("{name}={}; Path={path}; Max-Age=60; HttpOnly; SameSite=Lax", encode(value)))
}

pub(crate) fn gone(name: &str, path: &str) -> HeaderValue {
    made(format!("{name}=; Path={path}; Max-Age=0; HttpOnly; SameSite=Lax"))
}

fn made(text: String) -> HeaderValue {
    // Encoded values and our own paths are plain notifications.
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}

/// Everything but plain notifications becomes `%XX`; also fit for a part of a URL's query.
pub(crate) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let hex = (*byte == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(value) => {
                decoded.push(value);
                at += 3;
            }
            None => {
                decoded.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
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
