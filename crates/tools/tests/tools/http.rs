//! Requests against a real server on loopback, which the configuration allows.

use std::net::SocketAddr;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{AppendHeaders, IntoResponse, Redirect};
use axum::routing::{any, get};
use ordo_engine::tool::{Failure, Tool};
use ordo_model::LogStream;
use ordo_tools::{Http, HttpOptions};
use serde_json::{Value, json};

use crate::bench::{attempt, in_time, run, texts};

pub(crate) async fn serve(routes: Router) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, routes).await });
    address
}

/// Says what it was sent.
pub(crate) async fn echo(method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> impl IntoResponse {
    let headers: Value = headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap())).collect();
    let body = String::from_utf8(body.to_vec()).unwrap();
    axum::Json(json!({"method": method.as_str(), "path": uri.path(), "headers": headers, "body": body}))
}

async fn server() -> String {
    let routes = Router::new()
        .route("/echo", any(echo))
        .route("/text", get(async || ([("x-a", "1")], "plain")))
        .route("/cookies", get(async || (AppendHeaders([("set-cookie", "id=secret"), ("x-b", "1"), ("x-b", "2")]), "")))
        .route("/broken-json", get(async || ([("content-type", "application/json")], "{oops")))
        .route("/large", get(async || "x".repeat(200_000)))
        .route("/exact", get(async || "x".repeat(64 * 1024)))
        .route("/fail", any(async || (StatusCode::INTERNAL_SERVER_ERROR, "database\n  is down")))
        .route("/never", get(async || std::future::pending::<&str>().await))
        .route("/see-other", any(async || Redirect::to("/echo")))
        .route("/again", any(async || Redirect::temporary("/echo")))
        .route("/found", any(async || (StatusCode::FOUND, [("location", "/echo")])))
        .route("/hop/1", get(async || Redirect::to("/hop/2")))
        .route("/hop/2", get(async || Redirect::to("/hop/3")))
        .route("/hop/3", get(async || Redirect::to("/text")))
        .route("/hop/0", get(async || Redirect::to("/hop/1")))
        .route("/to-file", get(async || Redirect::to("file:///etc/passwd")));
    format!("http://{}", serve(routes).await)
}

pub(crate) fn http() -> Http {
    Http::new(HttpOptions { allow: vec!["127.0.0.0/8".parse().unwrap()] })
}

async fn send(mut input: Value) -> Result<Value, Failure> {
    input["url"] = format!("{}{}", server().await, input["url"].as_str().unwrap()).into();
    run(&http(), input).await.0
}

async fn reason(input: Value) -> String {
    send(input).await.expect_err("fails").reason
}

#[tokio::test]
async fn a_get_gives_status_headers_and_text() {
    let result = send(json!({"url": "/text"})).await.unwrap();
    assert_eq!(
        (&result["status"], &result["body"], &result["headers"]["x-a"]),
        (&json!(200), &json!("plain"), &json!("1"))
    );
    assert_eq!(result.get("truncated"), None);
}

#[tokio::test]
async fn a_post_sends_its_body_and_headers_as_given() {
    let input = json!({"url": "/echo?q=1", "method": "POST", "body": {"a": [1]}, "headers": {"X-Key": "k"}});
    let sent = send(input).await.unwrap()["body"].clone();
    assert_eq!((&sent["method"], &sent["body"]), (&json!("POST"), &json!(r#"{"a":[1]}"#)));
    assert_eq!(
        (&sent["headers"]["content-type"], &sent["headers"]["x-key"]),
        (&json!("application/json"), &json!("k"))
    );
    assert!(sent["headers"]["user-agent"].as_str().unwrap().starts_with("ordo/"));
}

#[tokio::test]
async fn a_request_says_which_trace_it_belongs_to() {
    let sent = async |headers: Value| {
        let answer = send(json!({"url": "/echo", "headers": headers})).await.unwrap();
        answer["body"]["headers"]["traceparent"].as_str().unwrap().to_owned()
    };
    let trace = sent(json!({})).await;
    let parts: Vec<(usize, bool)> =
        trace.split('-').map(|part| (part.len(), part.bytes().all(|byte| byte.is_ascii_hexdigit()))).collect();
    assert_eq!(parts, [(2, true), (32, true), (16, true), (2, true)], "{trace}");
    assert_eq!(sent(json!({"Traceparent": "mine"})).await, "mine");
}

#[tokio::test]
async fn an_unexpected_status_is_a_failure_with_a_short_body() {
    assert_eq!(reason(json!({"url": "/fail"})).await, "status 500 (expected 200-299): database is down");
    assert_eq!(
        reason(json!({"url": "/text", "expect": [201, "300-399"]})).await,
        "status 200 (expected 201, 300-399): plain"
    );
    assert_eq!(reason(json!({"url": "/nowhere"})).await, "status 404 (expected 200-299)");
    let long = reason(json!({"url": "/large", "expect": 204})).await;
    assert!(long.ends_with("xx…") && long.len() < 400);
}

#[tokio::test]
async fn an_expected_status_is_done_whatever_it_is() {
    assert_eq!(send(json!({"url": "/fail", "expect": 500})).await.unwrap()["status"], 500);
    let redirect = send(json!({"url": "/see-other", "expect": "300-399"})).await.unwrap();
    assert_eq!((&redirect["status"], &redirect["headers"]["location"]), (&json!(303), &json!("/echo")));
}

#[tokio::test]
async fn a_large_body_is_cut_and_says_so() {
    let large = send(json!({"url": "/large"})).await.unwrap();
    assert_eq!((large["body"].as_str().unwrap().len(), &large["truncated"]), (64 * 1024, &json!(true)));
    let exact = send(json!({"url": "/exact"})).await.unwrap();
    assert_eq!((exact["body"].as_str().unwrap().len(), exact.get("truncated")), (64 * 1024, None));
}

#[tokio::test]
async fn what_claims_to_be_json_and_is_not_stays_text_and_cookies_are_not_kept() {
    assert_eq!(send(json!({"url": "/broken-json"})).await.unwrap()["body"], "{oops");
    let result = send(json!({"url": "/cookies"})).await.unwrap();
    assert_eq!((result["headers"].get("set-cookie"), &result["headers"]["x-b"]), (None, &json!("1, 2")));
}

#[tokio::test]
async fn redirects_keep_or_change_the_method_as_their_status_says() {
    let sent = |path: &'static str| async move {
        let input = json!({"url": path, "method": "POST", "body": {"a": 1}, "headers": {"Authorization": "Bearer t"}});
        let sent = send(input).await.unwrap()["body"].clone();
        assert_eq!(sent["headers"]["authorization"], "Bearer t", "the origin is the same");
        (sent["method"].as_str().unwrap().to_owned(), sent["body"].as_str().unwrap().to_owned())
    };
    assert_eq!(sent("/see-other").await, ("GET".into(), String::new()));
    assert_eq!(sent("/found").await, ("GET".into(), String::new()));
    assert_eq!(sent("/again").await, ("POST".into(), r#"{"a":1}"#.into()));
}

#[tokio::test]
async fn three_redirects_are_followed_and_four_are_not() {
    assert_eq!(send(json!({"url": "/hop/1"})).await.unwrap()["body"], "plain");
    assert!(reason(json!({"url": "/hop/0"})).await.starts_with("more than 3 redirects, the last one to http://127"));
    assert!(reason(json!({"url": "/to-file"})).await.contains("only http and https"));
}

#[tokio::test]
async fn another_origin_gets_no_secrets() {
    let other = format!("http://{}/echo", serve(Router::new().route("/echo", any(echo))).await);
    let first = serve(Router::new().route("/go", any(async move || Redirect::temporary(&other)))).await;
    let headers = json!({"Authorization": "Bearer t", "Cookie": "c=1", "X-Api-Key": "k", "Accept": "text/plain"});
    let input = json!({"url": format!("http://user:pass@{first}/go"), "headers": headers});
    let (outcome, log) = run(&http(), input).await;
    let sent = outcome.unwrap()["body"]["headers"].clone();
    assert_eq!(sent["accept"], "text/plain");
    for secret in ["authorization", "cookie", "x-api-key"] {
        assert_eq!(sent.get(secret), None, "{secret}");
    }
    let said = texts(&log, LogStream::System);
    assert_eq!(said.len(), 2);
    assert!(!said.concat().contains("pass"), "{said:?}");
}

#[tokio::test]
async fn a_body_does_not_go_to_another_origin() {
    let other = format!("http://{}/echo", serve(Router::new().route("/echo", any(echo))).await);
    let to = other.clone();
    let first = serve(Router::new().route("/go", any(async move || Redirect::temporary(&to)))).await;
    let input = json!({"url": format!("http://{first}/go"), "method": "POST", "body": "s3cret"});
    let (outcome, _) = run(&http(), input).await;
    let reason = outcome.unwrap_err().reason;
    assert!(reason.contains(&other) && reason.contains("not sent to another origin"), "{reason}");
    assert!(!reason.contains("s3cret"), "{reason}");
    let bare = json!({"url": format!("http://{first}/go"), "method": "POST"});
    assert_eq!(run(&http(), bare).await.0.unwrap()["body"]["method"], "POST", "without a body it is followed");
}

#[tokio::test]
async fn nobody_there_is_said_plainly() {
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let (outcome, _) = run(&http(), json!({"url": format!("http://{gone}/x?key=secret")})).await;
    let reason = outcome.unwrap_err().reason;
    assert!(reason.starts_with(&format!("cannot connect to http://{gone}/x: Connection refused")), "{reason}");
}

#[tokio::test]
async fn a_request_ends_when_it_is_cancelled() {
    let (work, _log) = attempt(json!({"url": format!("{}/never", server().await)}));
    let cancel = work.cancel.clone();
    let running = tokio::spawn(async move { http().run(work).await });
    cancel.cancel();
    assert_eq!(in_time(running).await.unwrap().unwrap_err().reason, "stopped: the request was abandoned");
}
