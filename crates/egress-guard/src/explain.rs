//! Why a request came to nothing, in words for whoever wrote its address.

use std::error::Error;

use reqwest::Url;

use crate::guard::Forbidden;
use crate::resolver::Unresolved;

/// The cause that helps, from below the layers that only say that something failed.
pub fn explain(error: &reqwest::Error, url: &Url) -> String {
    explain_at(error, &shown(url))
}

/// The same, with the address as it may be shown.
pub fn explain_at(error: &reqwest::Error, place: &str) -> String {
    if let Some(forbidden) = causes(error).find_map(|cause| cause.downcast_ref::<Forbidden>()) {
        return forbidden.to_string();
    }
    if let Some(unresolved) = causes(error).find_map(|cause| cause.downcast_ref::<Unresolved>()) {
        return unresolved.to_string();
    }
    let doing = if error.is_connect() { "cannot connect to" } else { "no answer from" };
    let cause = causes(error).last().map(ToString::to_string).unwrap_or_else(|| "unknown cause".to_owned());
    format!("{doing} {place}: {cause}")
}

/// A URL as people may see it: without user, password and query, which may be secrets.
pub fn shown(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |cause| (*cause).source())
}
