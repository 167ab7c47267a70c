//! A server in one process, with everything a test needs to ask it things.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use bytes::Bytes;
use http_body_util::BodyExt;
use ordo_api::upkeep::{StoreCheck, StoreCopy, StoreStats};
use ordo_client::{Client, Target};
use ordo_engine::secrets::SecretText;
use ordo_engine::testing::tools::Voice;
use ordo_engine::testing::{self, TICK_RATE};
use ordo_engine::tokens::TokenRequest;
use ordo_engine::{Engine, EngineOptions};
use ordo_model::{Role, RunId};
use ordo_store::Fault;
use serde_json::{Value, json};
use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::contract;
use crate::{
    Adapters, App, Auth, Maintenance, MaintenanceError, NodeIdentity, RateLimits, router, serve_tcp, serve_unix,
};

/// The token of an admin.
pub const TOKEN: &str = "s3cret";

#[derive(Debug)]
pub struct World {
    /// The world of the engine below: its folder, its clock.
    pub below: testing::World,
    pub engine: Engine,
    pub app: App,
    router: Router,
    /// What the tool `talk` says; dropping it ends its run.
    pub voice: Option<Voice>,
    pub shutdown: CancellationToken,
    pub listeners: Vec<JoinHandle<()>>,
}

/// What came back.
#[derive(Debug)]
pub struct TestResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub json: Value,
    pub text: String,
    pub bytes: Bytes,
}

impl TestResponse {
    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.json
    }

    /// A problem with this status and code, in the form of RFC 9457.
    #[track_caller]
    pub fn refused(self, status: u16, code: &str) -> Value {
        assert_eq!((self.status.as_u16(), self.json["code"].as_str()), (status, Some(code)), "{}", self.text);
        assert_eq!(self.headers["content-type"], "application/problem+json");
        assert_eq!(self.json["status"], status);
        assert_eq!(self.json["type"], format!("urn:ordo:error:{code}"));
        assert!(!self.json["title"].as_str().unwrap().is_empty() && !self.json["detail"].as_str().unwrap().is_empty());
        self.json
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", self.headers)).to_str().unwrap()
    }
}

/// Work on the store as tests want it to end.
struct Upkeep;

#[async_trait]
impl Maintenance for Upkeep {
    async fn stats(&self) -> Result<StoreStats, MaintenanceError> {
        let rows = Default::default();
        let (driver, format) = ("test".to_owned(), 1);
        let journal = None;
        Ok(StoreStats { driver, format, bytes_on_disk: 1, entities: 2, events: 7, alarms: 0, chunks: 0, rows, journal })
    }

    async fn backup(&self, to: PathBuf) -> Result<StoreCopy, MaintenanceError> {
        match to.to_str().unwrap_or_default() {
            "/exists" => Err(MaintenanceError::Refused("/exists is there already".into())),
            "/full" => Err(MaintenanceError::Failed("the disk is full".into())),
            "/unavailable" => Err(Fault::unavailable("copying", "no disk").into()),
            "/damaged" => Err(Fault::damaged("nonsense").into()),
            "/misuse" => Err(Fault::misuse("nonsense").into()),
            _ => Ok(StoreCopy { to, bytes: 1 }),
        }
    }

    async fn check(&self) -> Result<StoreCheck, MaintenanceError> {
        Ok(StoreCheck { clean: true, entities: 2, events: 7, rows: 0, differences: 0, shown: Vec::new() })
    }
}

impl World {
    pub async fn new() -> World {
        World::above(testing::World::new().await).await
    }

    /// The engine below with these options.
    pub async fn with(options: EngineOptions) -> World {
        World::above(testing::World::with(options).await).await
    }

    /// Time stands still until the test moves it, by `below`.
    pub async fn standing() -> World {
        World::above(testing::World::standing(testing::options()).await).await
    }

    async fn above(mut below: testing::World) -> World {
        let (engine, voice) = (below.engine.clone(), below.voice.take());
        let (name, by, scope) = ("admin@test".into(), "test".into(), Default::default());
        let admin = TokenRequest { name, role: Role::Admin, expires_at: None, by, scope };
        engine.tokens().replace(admin, &SecretText::new(TOKEN)).await.unwrap();
        let node = NodeIdentity { name: "test".into(), tick_rate: TICK_RATE };
        let app = App::new(engine.clone(), Auth::token(TOKEN), Arc::new(Upkeep), node);
        World {
            below,
            engine,
            router: router(app.clone()),
            app,
            voice,
            shutdown: CancellationToken::new(),
            listeners: Vec::new(),
        }
    }

    /// Other shares of requests from now on.
    pub fn limit(&mut self, limits: RateLimits) {
        self.app = self.app.clone().limited(limits);
        self.router = router(self.app.clone());
    }

    /// The same with those who stand between it and other systems.
    pub fn adapted(mut self, adapters: Adapters) -> World {
        self.app = self.app.clone().with_adapters(adapters);
        self.router = router(self.app.clone());
        self
    }

    pub async fn send(&self, request: Request<Body>) -> TestResponse {
        let (method, path) = (request.method().as_str().to_lowercase(), request.uri().path().to_owned());
        let answer = self.router.clone().oneshot(request).await.unwrap();
        contract::check(&method, &path, &answer);
        let (parts, body) = answer.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let json = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        TestResponse { status: parts.status, headers: parts.headers, json, text, bytes }
    }

    pub async fn get(&self, path: &str) -> TestResponse {
        self.send(request("GET", path).body(Body::empty()).unwrap()).await
    }

    pub async fn delete(&self, path: &str) -> TestResponse {
        self.send(request("DELETE", path).body(Body::empty()).unwrap()).await
    }

    pub async fn put(&self, path: &str, body: Value) -> TestResponse {
        self.with_headers("PUT", path, &[], body).await
    }

    pub async fn post(&self, path: &str, body: Value) -> TestResponse {
        self.with_headers("POST", path, &[], body).await
    }

    /// A POST without a body.
    pub async fn order(&self, path: &str) -> TestResponse {
        self.send(request("POST", path).body(Body::empty()).unwrap()).await
    }

    pub async fn patch(&self, path: &str, if_match: Option<&str>, body: Value) -> TestResponse {
        let headers: Vec<(&str, &str)> = if_match.map(|tag| ("if-match", tag)).into_iter().collect();
        self.with_headers("PATCH", path, &headers, body).await
    }

    pub async fn with_headers(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Value) -> TestResponse {
        let mut request = request(method, path).header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(Body::from(body.to_string())).unwrap()).await
    }

    /// A new job; what is not given is a manual noop.
    pub async fn job(&self, fields: Value) -> Value {
        self.post("/v1/jobs", job(fields)).await.expect(201)
    }

    /// Triggers the job and returns the run's id.
    pub async fn trigger(&self, job: &Value) -> String {
        let answer = self.order(&format!("/v1/jobs/{}/trigger", text(&job["id"]))).await.expect(202);
        text(&answer["run_id"])
    }

    /// The run once it has this status.
    pub async fn until(&self, run: &str, status: &str) -> Value {
        let id: RunId = run.parse().unwrap();
        let queries = self.engine.queries();
        self.eventually(async || queries.run(id).await.unwrap().is_some_and(|run| run.status.name() == status)).await;
        self.get(&format!("/v1/runs/{run}")).await.expect(200)
    }

    /// Waits until it holds; looks again whenever something was committed.
    #[track_caller]
    pub fn eventually(&self, holds: impl AsyncFn() -> bool) -> impl Future<Output = ()> {
        self.below.until("it holds", async move || holds().await.then_some(()))
    }

    /// A new token of this role.
    pub async fn token(&self, name: &str, role: Role) -> String {
        text(&self.post("/v1/tokens", json!({ "name": name, "role": role })).await.expect(201)["token"])
    }

    /// Asks with another token than usual.
    pub async fn request_as(&self, token: &str, method: &str, path: &str, body: Option<Value>) -> TestResponse {
        let request = Request::builder().method(method).uri(path).header("authorization", format!("Bearer {token}"));
        let request = request.header("content-type", "application/json");
        self.send(request.body(body.map_or(Body::empty(), |body| Body::from(body.to_string()))).unwrap()).await
    }

    pub fn socket(&mut self) -> Client {
        let path = self.below.folder().join(format!("{}.sock", self.listeners.len()));
        let listener = UnixListener::bind(&path).unwrap();
        self.listeners.push(tokio::spawn(serve_unix(listener, self.app.clone(), self.shutdown.clone())));
        Client::new(Target::Socket(path), None)
    }

    /// The address of a server over TCP.
    pub async fn tcp(&mut self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        self.listeners.push(tokio::spawn(serve_tcp(listener, self.app.clone(), self.shutdown.clone())));
        address
    }
}

pub fn request(method: &str, path: &str) -> axum::http::request::Builder {
    Request::builder().method(method).uri(path).header("authorization", format!("Bearer {TOKEN}"))
}

/// The fields given, over those of a manual noop.
pub fn job(fields: Value) -> Value {
    let mut job = json!({ "label": "j", "tool_name": "noop", "trigger": { "type": "manual" } });
    let Value::Object(fields) = fields else { panic!("fields of a job: {fields}") };
    for (name, value) in fields {
        job[name] = value;
    }
    job
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("not a text: {value}")).to_owned()
}

pub fn texts(items: &Value, name: &str) -> Vec<String> {
    items.as_array().unwrap().iter().map(|item| text(&item[name])).collect()
}
