//! What a collector wants to see before it takes spans, usually a key: from the standard variable alone, so that it
//! stands in no configuration file and in no answer of `ordo config`.

use percent_encoding::percent_decode_str;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::environment;
use crate::error::{Error, Result};

const VARIABLE: &str = "OTEL_EXPORTER_OTLP_HEADERS";

pub(super) fn of_this_process() -> Result<HeaderMap> {
    let written = environment::var(VARIABLE).unwrap_or_default();
    // The value itself may be a secret: it is not repeated.
    parse(&written)
        .ok_or_else(|| Error::misused(format!("{VARIABLE} cannot be read")).hint("write it as name=value,name=value"))
}

/// `name=value,name=value`; values are written as in a URL.
fn parse(written: &str) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for pair in written.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=')?;
        let mut value = HeaderValue::from_bytes(&decoded(value.trim())?).ok()?;
        value.set_sensitive(true);
        headers.insert(HeaderName::try_from(name.trim()).ok()?, value);
    }
    Some(headers)
}

/// None: a percent sign stands for nothing. Each that stands for a byte makes the text two bytes shorter.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let bytes: Vec<u8> = percent_decode_str(text).collect();
    (text.len() - bytes.len() == 2 * text.matches('%').count()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_the_standard_writes_them() {
        let headers = parse("authorization=Basic%20YTpi, x-team = ordo,").unwrap();
        assert_eq!(
            (&headers["authorization"], &headers["x-team"]),
            (&"Basic YTpi".parse().unwrap(), &"ordo".parse().unwrap())
        );
        assert!(parse("").unwrap().is_empty());
        for wrong in ["novalue", "a b=c", "a=%zz", "a=%2"] {
            assert!(parse(wrong).is_none(), "{wrong}");
        }
    }
}
