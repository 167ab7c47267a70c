//! `http`: one request, judged by the status of its answer.
//!
//! Invariant: a request reaches only public addresses or those the configuration allows, also through names and
//! redirects, and never through a proxy that the environment happens to name.

mod answer;
mod exchange;
mod expect;
mod input;

use std::sync::Arc;

use async_trait::async_trait;
use ordo_egress_guard::{Allowed, Guard, Guarded, Lookup, SystemLookup, explain};
use ordo_engine::tool::{Failure, Tool, Work};
use reqwest::header::HeaderValue;
use serde::Deserialize;
use serde_json::Value;

use self::answer::HttpResponse;
use self::exchange::Exchange;
use self::input::HttpInput;
use crate::trace_context;

/// `[tools.http]` of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpOptions {
    /// Networks, addresses and host names that may be reached although they are not public.
    pub allow: Vec<Allowed>,
}

#[derive(Debug, Clone)]
pub struct Http {
    guarded: Guarded,
}

impl Http {
    pub fn new(options: HttpOptions) -> Http {
        Http::with_lookup(options, Arc::new(SystemLookup))
    }

    pub fn with_lookup(options: HttpOptions, lookup: Arc<dyn Lookup>) -> Http {
        Http { guarded: Guarded::with_lookup(Guard::new("tools.http.allow", options.allow), lookup) }
    }

    fn parse(&self, input: &Value) -> Result<HttpInput, String> {
        let input = HttpInput::parse(input).map_err(|error| error.to_string())?;
        self.guarded.check(&input.url).map_err(|error| format!("url: {error}"))?;
        Ok(input)
    }

    async fn exchange(&self, work: &Work) -> Result<Value, Failure> {
        let mut input = self.parse(&work.input).map_err(Failure::new)?;
        if let Some(payload) = &work.payload {
            input.pass_on(payload, work.input.get("method").is_some());
        }
        if let Ok(value) = HeaderValue::try_from(work.traceparent().to_string()) {
            input.headers.entry(trace_context::HEADER).or_insert(value);
        }
        let (expect, url) = (input.expect.clone(), input.url.clone());
        let response = Exchange { guarded: &self.guarded, log: &work.log }.respond(input).await?;
        let unread = |error| Failure::new(explain(&error, &url));
        HttpResponse::read(response).await.map_err(unread)?.outcome(&expect)
    }
}

#[async_trait]
impl Tool for Http {
    fn check(&self, input: &Value) -> Result<(), String> {
        self.parse(input).map(drop)
    }

    async fn run(&self, work: Work) -> Result<Value, Failure> {
        tokio::select! {
            outcome = self.exchange(&work) => outcome,
            () = work.cancel.cancelled() => Err(Failure::new("stopped: the request was abandoned")),
        }
    }
}
