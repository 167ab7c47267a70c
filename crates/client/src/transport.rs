//! How a request gets to the server.
//!
//! Invariant: a request goes to its target and nowhere else. No redirect is followed, no proxy that the environment
//! happens to name is used, and a Unix socket is never sent a token: it knows its caller by the user.

use std::fmt::Display;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Method, RequestBuilder, Url, redirect};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::{Error, Target};

/// A server that does not take a connection within this time counts as unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A server closes a connection that is idle for 30 s; one that is used again sooner is not closed under a request.
const IDLE_CONNECTION_KEPT: Duration = Duration::from_secs(15);
const IDLE_CONNECTIONS_MAX: usize = 8;

/// The certificate of an authority that may vouch for a server.
pub(crate) type Authority = CertificateDer<'static>;

/// Connections to one target. Cheap to clone; clones share their connections.
#[derive(Debug, Clone)]
pub(crate) struct Transport {
    http: reqwest::Client,
    base: Url,
}

impl Transport {
    /// Trusts these authorities besides those of the system.
    pub(crate) fn new(target: &Target, token: Option<&str>, authorities: Vec<Authority>) -> Result<Transport, Error> {
        let base = target.base()?;
        let tls = if base.scheme() == "https" { ordo_tls::https(authorities) } else { ordo_tls::plain_http() };
        let builder = reqwest::Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE_CONNECTION_KEPT)
            .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
            .tls_backend_preconfigured(tls.map_err(|error| unbuilt(&error))?)
            .user_agent(concat!("ordo/", env!("CARGO_PKG_VERSION")));
        let builder = match target {
            Target::Socket(path) => builder.unix_socket(path.clone()),
            Target::Http { .. } => builder.default_headers(headers(token)?),
        };
        let http = builder.build().map_err(|error| unbuilt(innermost(&error)))?;
        Ok(Transport { http, base })
    }

    /// A request for a path, which is written as it goes over the wire.
    pub(crate) fn request(&self, method: Method, path_and_query: &str) -> Result<RequestBuilder, Error> {
        let path = path_and_query.split('?').next().unwrap_or_default();
        if path.split('/').any(|segment| matches!(segment.to_lowercase().replace("%2e", ".").as_str(), "." | "..")) {
            // In a URL these are steps, not names: it would mean another path.
            return Err(Error::Unusable(format!("there is no {path:?} on a server")));
        }
        let base = self.base.as_str().trim_end_matches('/');
        let url: Url = format!("{base}{path_and_query}")
            .parse()
            .map_err(|error| Error::Unusable(format!("{path_and_query:?} is not the path of a request: {error}")))?;
        Ok(self.http.request(method, url))
    }
}

/// The certificates of authorities in a PEM text.
pub(crate) fn authorities(pem: &[u8]) -> Result<Vec<Authority>, Error> {
    let refuse = |why: String| Error::Unusable(format!("the authority's certificate cannot be used: {why}"));
    let found: Result<Vec<_>, _> = Authority::pem_slice_iter(pem).collect();
    match found.map_err(|error| refuse(error.to_string()))? {
        found if found.is_empty() => Err(refuse("there is no certificate in it, only PEM is understood".to_owned())),
        found => Ok(found),
    }
}

fn headers(token: Option<&str>) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    if let Some(token) = token.map(str::trim).filter(|token| !token.is_empty()) {
        let value = HeaderValue::from_str(&format!("Bearer {token}"));
        let mut value = value.map_err(|_| Error::Unusable("the token has characters that no token has".to_owned()))?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok(headers)
}

fn unbuilt(why: impl Display) -> Error {
    Error::Unusable(format!("no connection can be prepared: {why}"))
}

/// The cause that helps, from below the layers that only say that something failed.
pub(crate) fn innermost(error: &reqwest::Error) -> String {
    causes(error).last().map_or_else(|| error.to_string(), ToString::to_string)
}

/// What an error was caused by, outermost first; also what an I/O error only carries along.
pub(crate) fn causes<'a>(error: &'a reqwest::Error) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    let below = |error: &'a (dyn std::error::Error + 'static)| match error.downcast_ref::<std::io::Error>() {
        Some(io) => io.get_ref().map(|inner| inner as &(dyn std::error::Error + 'static)),
        None => error.source(),
    };
    std::iter::successors(std::error::Error::source(error), move |cause| below(*cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transport(url: &str, token: &str) -> Result<Transport, Error> {
        Transport::new(&Target::Http { url: url.to_owned() }, Some(token), Vec::new())
    }

    fn url(base: &str, path: &str) -> String {
        let transport = transport(base, "t").unwrap();
        transport.request(Method::GET, path).unwrap().build().unwrap().url().to_string()
    }

    #[test]
    fn paths_follow_the_address_as_they_are_written() {
        assert_eq!(url("http://h:1", "/v1/jobs?label=a%20b"), "http://h:1/v1/jobs?label=a%20b");
        assert_eq!(url("http://h/ordo/", "/v1/secrets/a%2Fb"), "http://h/ordo/v1/secrets/a%2Fb");
    }

    #[test]
    fn a_path_never_means_another_one() {
        let transport = transport("http://h", "t").unwrap();
        for path in ["/v1/secrets/..", "/v1/secrets/%2E.", "/v1/./jobs", "/v1/../x?a=b"] {
            assert!(matches!(transport.request(Method::GET, path), Err(Error::Unusable(_))), "{path}");
        }
        assert!(transport.request(Method::GET, "/v1/jobs?label=../x").is_ok());
    }

    #[test]
    fn a_token_that_cannot_be_sent_is_refused_and_one_that_can_is_not_shown() {
        assert!(matches!(transport("http://h", "a\nb"), Err(Error::Unusable(_))));
        assert!(!format!("{:?}", transport("http://h", "s3cret").unwrap()).contains("s3cret"));
    }

    #[test]
    fn what_is_no_certificate_is_refused() {
        for pem in ["", "hello", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            let refused = authorities(pem.as_bytes())
                .and_then(|found| Transport::new(&Target::Http { url: "https://h".into() }, None, found));
            assert!(matches!(refused, Err(Error::Unusable(_))), "{pem}: {refused:?}");
        }
    }
}
