//! `http`: one request, judged by the status of its answer.
//!
//! Invariant: a request reaches only public addresses or those the configuration allows, also through names and
//! redirects, and never through a proxy that the environment happens to name.

mod answer;
mod exchange;
mod expect;
pub(crate) mod guard;
mod input;
pub(crate) mod network;
pub(crate) mod resolver;

use std::sync::Arc;

use async_trait::async_trait;
use ordo_engine::tool::{Failure, Tool, Work};
use reqwest::header::HeaderValue;
use reqwest::{Client, redirect};
use serde::Deserialize;
use serde_json::Value;

use self::answer::Answer;
use self::exchange::{Exchange, check_literal, explain};
use self::guard::{Allowed, Guard};
use self::input::HttpInput;
use self::resolver::{GuardedResolver, Lookup, SystemLookup};
use crate::limits::{CONNECT_TIMEOUT, IDLE_CONNECTION_KEPT};
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
    guard: Arc<Guard>,
    /// A machine without root certificates can make no client; that must not stop its other tools.
    client: Result<Client, String>,
}

impl Http {
    pub fn new(options: HttpOptions) -> Http {
        Http::with_lookup(options, Arc::new(SystemLookup))
    }

    pub fn with_lookup(options: HttpOptions, lookup: Arc<dyn Lookup>) -> Http {
        let guard = Arc::new(Guard::new(options.allow));
        let resolver = GuardedResolver { guard: guard.clone(), lookup };
        let client = Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .dns_resolver(resolver)
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE_CONNECTION_KEPT)
            .user_agent(concat!("ordo/", env!("CARGO_PKG_VERSION")))
            .build();
        Http { guard, client: client.map_err(|error| format!("cannot make an HTTP client: {error:?}")) }
    }

    fn parse(&self, input: &Value) -> Result<HttpInput, String> {
        let input = HttpInput::parse(input).map_err(|error| error.to_string())?;
        check_literal(&self.guard, &input.url).map_err(|error| format!("url: {error}"))?;
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
        let client = self.client.as_ref().map_err(Failure::new)?;
        let (expect, url) = (input.expect.clone(), input.url.clone());
        let response = Exchange { client, guard: &self.guard, log: &work.log }.respond(input).await?;
        Answer::read(response).await.map_err(|error| explain(&error, &url))?.outcome(&expect)
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
