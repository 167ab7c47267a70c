//! One request and the redirects it leads to.
//!
//! Invariant: every hop is checked like the first; to another origin go only headers that carry no secret and no body, and
//! a request never falls from https to http.

use ordo_egress_guard::{Guarded, explain, shown};
use ordo_engine::logs::LogSink;
use ordo_engine::tool::Failure;
use ordo_model::LogStream;
use reqwest::header::{ACCEPT, ACCEPT_LANGUAGE, CONTENT_TYPE, LOCATION, USER_AGENT};
use reqwest::{Method, Response, StatusCode};

use super::input::{HttpInput, check_scheme};
use crate::limits::REDIRECTS_MAX;

pub(crate) struct Exchange<'a> {
    pub(crate) guarded: &'a Guarded,
    pub(crate) log: &'a LogSink,
}

impl Exchange<'_> {
    /// The last response: the one that is no redirect, or one that was expected.
    pub(crate) async fn respond(&self, mut input: HttpInput) -> Result<Response, Failure> {
        for _ in 0..=REDIRECTS_MAX {
            let response = self.send(&input).await?;
            let status = response.status();
            self.log.line(LogStream::System, &format!("{} {} answered {status}", input.method, shown(&input.url)));
            match redirect_target(&response) {
                Some(location) if !input.expect.contains(status.as_u16()) => {
                    input = redirected(input, status, &location).map_err(Failure::new)?;
                }
                Some(_) | None => return Ok(response),
            }
        }
        Err(Failure::new(format!("more than {REDIRECTS_MAX} redirects, the last one to {}", shown(&input.url))))
    }

    async fn send(&self, input: &HttpInput) -> Result<Response, Failure> {
        self.guarded.check(&input.url).map_err(|error| Failure::new(error.to_string()))?;
        let client = self.guarded.client().map_err(Failure::new)?;
        let mut request = client.request(input.method.clone(), input.url.clone()).headers(input.headers.clone());
        if let Some(body) = &input.body {
            request = request.body(body.clone());
        }
        request.send().await.map_err(|error| Failure::new(explain(&error, &input.url)))
    }
}

fn redirect_target(response: &Response) -> Option<String> {
    match response.status() {
        StatusCode::MOVED_PERMANENTLY
        | StatusCode::FOUND
        | StatusCode::SEE_OTHER
        | StatusCode::TEMPORARY_REDIRECT
        | StatusCode::PERMANENT_REDIRECT => Some(response.headers().get(LOCATION)?.to_str().ok()?.to_owned()),
        _ => None,
    }
}

fn redirected(mut input: HttpInput, status: StatusCode, location: &str) -> Result<HttpInput, String> {
    let next = input.url.join(location).map_err(|error| format!("redirected to {location:?}: {error}"))?;
    check_scheme(&next).map_err(|why| format!("redirected to {}: {why}", shown(&next)))?;
    if input.url.scheme() == "https" && next.scheme() == "http" {
        return Err(format!("redirected from https to {}: not followed", shown(&next)));
    }
    let is_elsewhere = next.origin() != input.url.origin();
    if is_elsewhere {
        keep_harmless_headers(&mut input);
    }
    if becomes_get(status, &input.method) {
        input.method = Method::GET;
        input.body = None;
        input.headers.remove(CONTENT_TYPE);
    }
    if is_elsewhere && input.body.is_some() {
        let why = "the body is not sent to another origin, give the address that it leads to";
        return Err(format!("redirected with {status} to {}: {why}", shown(&next)));
    }
    input.url = next;
    Ok(input)
}

/// As browsers and curl do: 303 always, 301 and 302 only after POST; 307 and 308 repeat the request.
fn becomes_get(status: StatusCode, method: &Method) -> bool {
    match status {
        StatusCode::SEE_OTHER => *method != Method::HEAD,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => *method == Method::POST,
        _ => false,
    }
}

/// Any other header may be a key of some service, by whatever name.
fn keep_harmless_headers(input: &mut HttpInput) {
    let harmless = [ACCEPT, ACCEPT_LANGUAGE, CONTENT_TYPE, USER_AGENT];
    let kept = input.headers.iter().filter(|(name, _)| harmless.contains(name));
    input.headers = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
}
