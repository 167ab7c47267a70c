use ordo_client::{Client, Error, Target};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use ordo_server::testing::{TOKEN, World, job, text};

#[tokio::test]
async fn the_socket_needs_no_token() {
    let mut world = World::new().await;
    let client = world.socket();
    let made = client.post::<Value, _>("/v1/jobs", &job(json!({ "label": "local" }))).await.unwrap();
    let path = format!("/v1/jobs/{}", text(&made["id"]));
    assert_eq!(client.get::<Value>("/v1/jobs?label=local").await.unwrap()["items"][0]["id"], made["id"]);
    assert_eq!(client.patch::<Value, _>(&path, &json!({ "label": "new" }), Some(1)).await.unwrap()["label"], "new");
    let error = client.patch::<Value, _>(&path, &json!({ "label": "late" }), Some(1)).await.unwrap_err();
    assert!(matches!(&error, Error::Problem { status: 412, code, .. } if code == "revision_moved"), "{error:?}");
    let first = client.post_with_key::<Value, _>("/v1/jobs", &job(json!({})), "k").await.unwrap();
    assert_eq!(client.post_with_key::<Value, _>("/v1/jobs", &job(json!({})), "k").await.unwrap()["id"], first["id"]);
    assert_eq!(client.post_empty::<Value>(&format!("{path}/pause")).await.unwrap()["state"], "paused");
    assert_eq!(client.delete::<Value>(&path).await.unwrap()["state"], "cancelled");
}

#[tokio::test]
async fn tcp_needs_the_token() {
    let mut world = World::new().await;
    let url = format!("http://{}", world.tcp().await);
    let target = || Target::Http { url: url.clone() };
    let known = Client::new(target(), Some(TOKEN));
    assert_eq!(known.get::<Value>("/v1/jobs").await.unwrap()["items"], json!([]));
    for token in [None, Some("wrong"), Some("")] {
        let error = Client::new(target(), token).get::<Value>("/v1/jobs").await.unwrap_err();
        assert!(matches!(&error, Error::Problem { status: 401, code, .. } if code == "unauthorized"), "{error:?}");
    }
    let error = Client::new(target(), None).follow("/v1/runs/x/logs", None).await.unwrap_err();
    assert_eq!(error.code(), Some("unauthorized"));
}

#[tokio::test]
async fn a_client_goes_on_after_the_server_was_restarted() {
    let mut world = World::new().await;
    let client = world.socket();
    client.get::<Value>("/v1/jobs").await.unwrap();
    world.shutdown.cancel();
    world.listeners.pop().unwrap().await.unwrap();
    let error = client.get::<Value>("/v1/jobs").await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    let Target::Socket(path) = client.target() else { panic!("a socket") };
    std::fs::remove_file(path).unwrap();
    world.shutdown = tokio_util::sync::CancellationToken::new();
    assert_eq!(world.socket().target(), client.target());
    client.get::<Value>("/v1/jobs").await.unwrap();
}

#[tokio::test]
async fn nobody_at_the_address_is_unreachable() {
    let nowhere = Target::Socket("/nonexistent/ordo.sock".into());
    let error = Client::new(nowhere, None).get::<Value>("/v1/jobs").await.unwrap_err();
    let Error::Unreachable { target, source } = error else { panic!("{error:?}") };
    assert_eq!((target.as_str(), source.kind()), ("/nonexistent/ordo.sock", std::io::ErrorKind::NotFound));
}

/// What a server on a loopback address answers to a request written by hand.
async fn raw(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_page_of_the_web_that_points_its_name_here_is_refused() {
    let mut world = World::new().await;
    let address = world.tcp().await;
    let send_request = |host: &str| format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    assert!(raw(&address, &send_request("localhost:7070")).await.starts_with("HTTP/1.1 200"));
    let refused = raw(&address, &send_request("evil.example")).await;
    assert!(refused.starts_with("HTTP/1.1 403") && refused.contains("host_refused"), "{refused}");
}

#[tokio::test]
async fn what_is_no_http_is_refused_and_the_next_one_is_served() {
    let mut world = World::new().await;
    let address = world.tcp().await;
    assert!(raw(&address, "hello\r\n\r\n").await.starts_with("HTTP/1.1 400"));
    let client = Client::new(Target::Http { url: format!("http://{address}") }, Some(TOKEN));
    client.get::<Value>("/v1/status").await.unwrap();
}

/// Half-sent heads and half-sent bodies wait for their time to run out; nobody waits with them.
#[tokio::test]
async fn clients_that_never_finish_their_requests_hold_up_nobody() {
    let mut world = World::new().await;
    let address = world.tcp().await;
    let head = format!("POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n");
    let mut stuck = Vec::new();
    for n in 0..200 {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let body = "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{";
        let sent = if n % 2 == 0 { head.clone() } else { format!("{head}{body}") };
        stream.write_all(sent.as_bytes()).await.unwrap();
        stuck.push(stream);
    }
    let client = Client::new(Target::Http { url: format!("http://{address}") }, Some(TOKEN));
    for _ in 0..20 {
        client.post::<Value, _>("/v1/jobs", &job(json!({}))).await.unwrap();
    }
    assert_eq!(client.get::<Value>("/v1/jobs").await.unwrap()["items"].as_array().unwrap().len(), 20);
    drop(stuck);
}
