//! From which site a browser sends a request.
//!
//! Invariant: whatever a page of another site makes a browser send is refused, whatever it carries. A change that is
//! asked for with nothing but a cookie must show that it comes from one of this server's own pages.

use axum::http::{HeaderMap, HeaderName, Method, header};
use ordo_api::Code;

use crate::http::problem::Problem;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Site {
    Own,
    Foreign,
    /// A program, or a browser that follows a link.
    Unsaid,
}

/// Refuses what another site asks for.
pub(crate) fn refuse_foreign(method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
    match site(method, headers) {
        Site::Own | Site::Unsaid => Ok(()),
        Site::Foreign => Err(refused("a page of another site asked for this")),
    }
}

/// Refuses what does not show that it comes from a page of this server.
pub(crate) fn require_own(method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
    match site(method, headers) {
        Site::Own => Ok(()),
        Site::Unsaid => Err(refused("with a cookie, a change needs an Origin header; programs send a token instead")),
        Site::Foreign => Err(refused("a page of another site asked for this")),
    }
}

fn refused(text: &str) -> Problem {
    Problem::new(Code::OriginRefused, text)
}

fn site(method: &Method, headers: &HeaderMap) -> Site {
    let text = |name: &HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    match (text(&FETCH_SITE), text(&header::ORIGIN)) {
        // The browser itself compared the two.
        (Some("same-origin"), _) => Site::Own,
        (_, Some(origin)) => match is_own(origin, headers) {
            true => Site::Own,
            false => Site::Foreign,
        },
        // A link from elsewhere may be followed; the cookie does not come along.
        (Some("cross-site" | "same-site"), None) if !method.is_safe() => Site::Foreign,
        (_, None) => Site::Unsaid,
    }
}

/// Whether an origin is the host that was asked. A proxy may have taken TLS away, so the scheme says nothing.
fn is_own(origin: &str, headers: &HeaderMap) -> bool {
    let Some((_, authority)) = origin.split_once("://") else { return false };
    let hosts = [&header::HOST, &FORWARDED_HOST];
    let asked = hosts.into_iter().filter_map(|name| headers.get(name)?.to_str().ok());
    asked.into_iter().any(|host| plain(host) == plain(authority))
}

/// Without the ports that go without saying.
fn plain(authority: &str) -> String {
    let lower = authority.trim().to_ascii_lowercase();
    let bare = lower.strip_suffix(":80").or_else(|| lower.strip_suffix(":443"));
    bare.map_or_else(|| lower.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    #[test]
    fn another_site_is_known_by_what_the_browser_says() {
        let host = ("host", "ordo.example:7070");
        for (more, wanted) in [
            (vec![], Site::Unsaid),
            (vec![("origin", "http://ordo.example:7070")], Site::Own),
            (vec![("origin", "https://ORDO.example:7070")], Site::Own),
            (vec![("origin", "http://evil.example")], Site::Foreign),
            (vec![("origin", "http://ordo.example")], Site::Foreign),
            (vec![("origin", "null")], Site::Foreign),
            (vec![("origin", "")], Site::Foreign),
            (vec![("sec-fetch-site", "same-origin")], Site::Own),
            (vec![("sec-fetch-site", "cross-site")], Site::Foreign),
            (vec![("sec-fetch-site", "same-site")], Site::Foreign),
            (vec![("sec-fetch-site", "none")], Site::Unsaid),
            (vec![("sec-fetch-site", "cross-site"), ("origin", "http://evil.example")], Site::Foreign),
        ] {
            let headers = headers(&[vec![host], more.clone()].concat());
            assert_eq!(site(&Method::POST, &headers), wanted, "{more:?}");
        }
    }

    #[test]
    fn a_link_from_elsewhere_may_be_followed_and_read_by_nobody() {
        let link = headers(&[("host", "a"), ("sec-fetch-site", "cross-site")]);
        assert!(refuse_foreign(&Method::GET, &link).is_ok());
        let read = headers(&[("host", "a"), ("sec-fetch-site", "cross-site"), ("origin", "http://evil")]);
        assert!(refuse_foreign(&Method::GET, &read).is_err());
    }

    #[test]
    fn behind_a_proxy_the_name_that_people_typed_counts() {
        let proxied = |host| {
            headers(&[("host", "127.0.0.1:7070"), ("origin", "https://jobs.example"), ("x-forwarded-host", host)])
        };
        assert_eq!(site(&Method::POST, &proxied("jobs.example")), Site::Own);
        assert_eq!(site(&Method::POST, &proxied("jobs.example:443")), Site::Own);
        assert_eq!(site(&Method::POST, &proxied("other.example")), Site::Foreign);
    }
}
