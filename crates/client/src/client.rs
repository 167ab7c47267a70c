//! The client: one method per HTTP method, JSON in and out.
//!
//! Invariant: whatever is sent goes to the one target; an answer that points elsewhere is an error.

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, IF_MATCH, LOCATION};
use reqwest::{Method, RequestBuilder, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::parse;
use crate::follow::EventStream;
use crate::transport::{Transport, authorities};
use crate::{Error, Target};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const ORDO_CLIENT: HeaderName = HeaderName::from_static("ordo-client");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// A client of one server. Cheap to clone; clones share their connections.
#[derive(Debug, Clone)]
pub struct Client {
    target: Target,
    /// What cannot work is said with the first request.
    transport: Result<Transport, String>,
    traceparent: Option<HeaderValue>,
    /// How it calls itself.
    name: Option<HeaderValue>,
}

impl Client {
    /// A client that sends `token` with every request to an `http://` or `https://` address. A Unix socket needs none
    /// and is sent none.
    pub fn new(target: Target, token: Option<&str>) -> Client {
        let transport = Transport::new(&target, token, Vec::new());
        Client { transport: transport.map_err(|error| error.to_string()), target, traceparent: None, name: None }
    }

    /// The same for a server whose certificate was issued by an authority of its own: those in this PEM text are trusted
    /// besides the system's.
    pub fn trusting(target: Target, token: Option<&str>, authorities_pem: &[u8]) -> Result<Client, Error> {
        let transport = Transport::new(&target, token, authorities(authorities_pem)?)?;
        Ok(Client { transport: Ok(transport), target, traceparent: None, name: None })
    }

    /// Every request belongs to this trace (W3C Trace Context); what it triggers goes on with it.
    #[must_use]
    pub fn in_trace(mut self, traceparent: &str) -> Client {
        self.traceparent = HeaderValue::from_str(traceparent.trim()).ok();
        self
    }

    /// Every request is one of the command line, and so are the events that come of it: their source is `cli` instead of
    /// `api`. Who gave the command is the token all the same.
    #[must_use]
    pub fn of_command_line(mut self) -> Client {
        self.name = Some(HeaderValue::from_static("cli"));
        self
    }

    /// Where the client sends its requests.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Reads: `client.get::<Value>("/v1/jobs?label=hello")`.
    pub async fn get<T: DeserializeOwned>(&self, path_and_query: &str) -> Result<T, Error> {
        self.call(self.request(Method::GET, path_and_query)?).await
    }

    /// Reads a text that is not JSON.
    pub async fn get_text(&self, path_and_query: &str) -> Result<String, Error> {
        let body = self.exchange(self.request(Method::GET, path_and_query)?).await?;
        String::from_utf8(body).map_err(|e| Error::protocol("the answer is no text", e))
    }

    /// Creates something, or gives a command.
    pub async fn post<T: DeserializeOwned, B: Serialize + ?Sized>(&self, path: &str, body: &B) -> Result<T, Error> {
        self.call(self.request(Method::POST, path)?.json(body)).await
    }

    /// Gives a command that needs no body.
    pub async fn post_empty<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.call(self.request(Method::POST, path)?).await
    }

    /// Creates something once, however often this is repeated with the same key.
    ///
    /// ```no_run
    /// # async fn example(client: ordo_client::Client, job: serde_json::Value) -> Result<(), ordo_client::Error> {
    /// # use serde_json::Value;
    /// let first: Value = client.post_with_key("/v1/jobs", &job, "order-4711").await?;
    /// let again: Value = client.post_with_key("/v1/jobs", &job, "order-4711").await?;
    /// assert_eq!(first["id"], again["id"]);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn post_with_key<T: DeserializeOwned, B: Serialize + ?Sized>(
        &self,
        path: &str,
        body: &B,
        idempotency_key: &str,
    ) -> Result<T, Error> {
        self.call(self.request(Method::POST, path)?.header(IDEMPOTENCY_KEY, idempotency_key).json(body)).await
    }

    /// Sends a text as it is.
    pub async fn post_text(&self, path: &str, text: &str) -> Result<(), Error> {
        let request = self.request(Method::POST, path)?.header(CONTENT_TYPE, "text/plain; charset=utf-8");
        self.exchange(request.body(text.to_owned())).await.map(drop)
    }

    /// Puts something in its place, whether or not there was something before.
    pub async fn put<T: DeserializeOwned, B: Serialize + ?Sized>(&self, path: &str, body: &B) -> Result<T, Error> {
        self.call(self.request(Method::PUT, path)?.json(body)).await
    }

    /// Lays a merge patch over something, if it is still at the revision `if_match` (when given).
    pub async fn patch<T: DeserializeOwned, B: Serialize + ?Sized>(
        &self,
        path: &str,
        body: &B,
        if_match: Option<u64>,
    ) -> Result<T, Error> {
        let mut request = self.request(Method::PATCH, path)?;
        if let Some(revision) = if_match {
            request = request.header(IF_MATCH, format!("\"{revision}\""));
        }
        self.call(request.json(body)).await
    }

    /// Posts a change of something, if it is still at the revision `if_match` (when given).
    pub async fn post_if<T: DeserializeOwned, B: Serialize + ?Sized>(
        &self,
        path: &str,
        body: &B,
        if_match: Option<u64>,
    ) -> Result<T, Error> {
        let mut request = self.request(Method::POST, path)?;
        if let Some(revision) = if_match {
            request = request.header(IF_MATCH, format!("\"{revision}\""));
        }
        self.call(request.json(body)).await
    }

    /// Ends something.
    pub async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.call(self.request(Method::DELETE, path)?).await
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
        Ok(EventStream::new(self.send(request).await?))
    }

    fn request(&self, method: Method, path: &str) -> Result<RequestBuilder, Error> {
        let transport = self.transport.as_ref().map_err(|text| Error::Unusable(text.clone()))?;
        let headers = [(TRACEPARENT, &self.traceparent), (ORDO_CLIENT, &self.name)];
        let given = headers.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        Ok(given.fold(transport.request(method, path)?, |request, (name, value)| request.header(name, value)))
    }

    async fn call<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, Error> {
        parse(&self.exchange(request).await?)
    }

    /// Sends a request; returns the body of a success.
    async fn exchange(&self, request: RequestBuilder) -> Result<Vec<u8>, Error> {
        self.read(self.send(request).await?).await
    }

    /// Sends a request; returns the answer if it is a success.
    async fn send(&self, request: RequestBuilder) -> Result<Response, Error> {
        let answer = request.send().await.map_err(|error| Error::unsent(&self.target, &error))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        if let Some(to) = answer.headers().get(LOCATION).filter(|_| status.is_redirection()) {
            let location = String::from_utf8_lossy(to.as_bytes()).into_owned();
            return Err(Error::Redirected { target: self.target.to_string(), location });
        }
        Err(Error::from_answer(&self.target, status.as_u16(), &self.read(answer).await?))
    }

    async fn read(&self, answer: Response) -> Result<Vec<u8>, Error> {
        let cut_off = |error| Error::cut_off(&format!("the answer of {} was cut off", self.target), &error);
        answer.bytes().await.map(Vec::from).map_err(cut_off)
    }
}
