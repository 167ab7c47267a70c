//! The client: one method per HTTP method, JSON in and out.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, IF_MATCH};
use hyper::http::HeaderValue;
use hyper::http::request::Builder;
use hyper::{Method, Request};
use serde_json::Value;

use crate::connection::Connections;
use crate::error::parse;
use crate::follow::EventStream;
use crate::target::Address;
use crate::{Error, Target};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// A client of one server. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Client {
    target: Target,
    /// An address that cannot be understood is told with the first request.
    connections: Result<Arc<Connections>, String>,
    authorization: Option<HeaderValue>,
    traceparent: Option<HeaderValue>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("target", &self.target).finish_non_exhaustive()
    }
}

impl Client {
    /// A client that sends `token` with every request. A daemon's own socket needs none.
    pub fn new(target: Target, token: Option<String>) -> Client {
        let address = Address::of(&target).map_err(|error| error.to_string());
        let connections = address.map(|address| Arc::new(Connections::new(address, target.to_string())));
        let authorization = token.and_then(|token| bearer(&token));
        Client { target, connections, authorization, traceparent: None }
    }

    /// Every request belongs to this trace (W3C Trace Context); what it triggers goes on with it.
    #[must_use]
    pub fn in_trace(mut self, traceparent: &str) -> Client {
        self.traceparent = HeaderValue::from_str(traceparent.trim()).ok();
        self
    }

    /// Where the client sends its requests.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Reads: `client.get("/v1/jobs?label=hello")`.
    pub async fn get(&self, path_and_query: &str) -> Result<Value, Error> {
        self.call(self.request(Method::GET, path_and_query)?, None).await
    }

    /// Reads a text that is not JSON.
    pub async fn get_text(&self, path_and_query: &str) -> Result<String, Error> {
        let body = self.exchange(finish(self.request(Method::GET, path_and_query)?, None)?).await?;
        String::from_utf8(body.to_vec()).map_err(|e| Error::protocol("the answer is no text", e))
    }

    /// Sends a text as it is.
    pub async fn post_text(&self, path: &str, text: &str) -> Result<Value, Error> {
        let request = self.request(Method::POST, path)?.header(CONTENT_TYPE, "text/plain; charset=utf-8");
        let unsendable = |e: hyper::http::Error| Error::protocol("the request cannot be sent", e);
        let request = request.body(Full::new(Bytes::copy_from_slice(text.as_bytes()))).map_err(unsendable)?;
        parse(&self.exchange(request).await?)
    }

    /// Creates or orders something; with or without a body.
    pub async fn post(&self, path: &str, body: Option<&Value>) -> Result<Value, Error> {
        self.call(self.request(Method::POST, path)?, body).await
    }

    /// Creates something once, however often this is repeated with the same key.
    ///
    /// ```no_run
    /// # async fn example(client: ordo_client::Client, job: serde_json::Value) -> Result<(), ordo_client::Error> {
    /// let first = client.post_with_key("/v1/jobs", &job, "order-4711").await?;
    /// let again = client.post_with_key("/v1/jobs", &job, "order-4711").await?;
    /// assert_eq!(first["id"], again["id"]);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn post_with_key(&self, path: &str, body: &Value, idempotency_key: &str) -> Result<Value, Error> {
        self.call(self.request(Method::POST, path)?.header(IDEMPOTENCY_KEY, idempotency_key), Some(body)).await
    }

    /// Puts something in its place, whether or not there was something before.
    pub async fn put(&self, path: &str, body: &Value) -> Result<Value, Error> {
        self.call(self.request(Method::PUT, path)?, Some(body)).await
    }

    /// Lays a merge patch over something, if it is still at the revision `if_match` (when given).
    pub async fn patch(&self, path: &str, body: &Value, if_match: Option<u64>) -> Result<Value, Error> {
        let mut request = self.request(Method::PATCH, path)?;
        if let Some(revision) = if_match {
            request = request.header(IF_MATCH, format!("\"{revision}\""));
        }
        self.call(request, Some(body)).await
    }

    /// Ends something.
    pub async fn delete(&self, path: &str) -> Result<Value, Error> {
        self.call(self.request(Method::DELETE, path)?, None).await
    }

    /// Follows a stream of events, from the one after `last_event_id` on.
    ///
    /// ```no_run
    /// # async fn example(client: ordo_client::Client, run: &str) -> Result<(), ordo_client::Error> {
    /// let mut lines = client.follow(&format!("/v1/runs/{run}/logs"), None).await?;
    /// while let Some(event) = lines.next().await {
    ///     println!("{}", event?.data);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn follow(&self, path: &str, last_event_id: Option<String>) -> Result<EventStream, Error> {
        let mut request = self.request(Method::GET, path)?.header(ACCEPT, "text/event-stream");
        if let Some(id) = last_event_id {
            request = request.header(LAST_EVENT_ID, id);
        }
        let (answer, sender) = self.connections()?.send(finish(request, None)?).await?;
        let status = answer.status();
        if status.is_success() {
            return Ok(EventStream::new(answer.into_body(), sender));
        }
        Err(Error::from_answer(status.as_u16(), &collect(answer.into_body()).await?))
    }

    async fn call(&self, request: Builder, body: Option<&Value>) -> Result<Value, Error> {
        parse(&self.exchange(finish(request, body)?).await?)
    }

    /// Sends a request; answers the body of a success.
    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<Bytes, Error> {
        let connections = self.connections()?;
        let (answer, sender) = connections.send(request).await?;
        let status = answer.status();
        let body = collect(answer.into_body()).await?;
        connections.keep(sender);
        if status.is_success() { Ok(body) } else { Err(Error::from_answer(status.as_u16(), &body)) }
    }

    fn connections(&self) -> Result<&Arc<Connections>, Error> {
        self.connections.as_ref().map_err(|text| Error::Protocol(text.clone()))
    }

    fn request(&self, method: Method, path: &str) -> Result<Builder, Error> {
        let address = &self.connections()?.address;
        let uri = format!("{}{path}", address.prefix);
        let request = Request::builder().method(method).uri(uri).header(HOST, &address.host);
        let said = [(AUTHORIZATION, &self.authorization), (TRACEPARENT, &self.traceparent)];
        let said = said.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        Ok(said.fold(request, |request, (name, value)| request.header(name, value)))
    }
}

fn bearer(token: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", token.trim())).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn finish(request: Builder, body: Option<&Value>) -> Result<Request<Full<Bytes>>, Error> {
    let unsendable = |e: hyper::http::Error| Error::protocol("the request cannot be sent", e);
    let Some(body) = body else { return request.body(Full::default()).map_err(unsendable) };
    let bytes = serde_json::to_vec(body).map_err(|e| Error::protocol("the request cannot be written", e))?;
    request.header(CONTENT_TYPE, "application/json").body(Full::new(bytes.into())).map_err(unsendable)
}

async fn collect(body: hyper::body::Incoming) -> Result<Bytes, Error> {
    let collected = body.collect().await.map_err(|e| Error::protocol("the answer was cut off", e))?;
    Ok(collected.to_bytes())
}
