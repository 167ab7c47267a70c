//! Executors of XXL-JOB over HTTP: who is listened to, who is called, and for whose runs somebody speaks.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::extract::State;
use axum::http::Request;
use axum::routing::post;
use axum::{Json, Router};
use futures_util::FutureExt;
use ordo_model::Role;
use ordo_server::Adapters;
use ordo_server::testing::{World, text};
use ordo_xxl::{Bridge, XxlOptions};
use serde_json::{Value, json};

async fn world() -> World {
    let world = World::new().await;
    let xxl = bridge(&world).await;
    world.adapted(Adapters { xxl, ..Adapters::default() })
}

/// As a server starts it.
async fn bridge(world: &World) -> Option<Bridge> {
    let options: XxlOptions = serde_json::from_value(json!({ "groups": {
        "billing": { "access_token": "billing-token", "allow": ["127.0.0.0/8"] },
        "mail": { "access_token": "mail-token" },
    }}))
    .unwrap();
    Bridge::start(&world.engine, &options).await.unwrap()
}

async fn say(world: &World, path: &str, token: Option<&str>, body: Value) -> Value {
    world.send(saying(path, token, &body)).await.expect(200)
}

fn saying(path: &str, token: Option<&str>, body: &Value) -> Request<Body> {
    let request = Request::builder().method("POST").uri(format!("/xxl-job-admin/api/{path}"));
    let request = token.into_iter().fold(request, |request, token| request.header("XXL-JOB-ACCESS-TOKEN", token));
    request.body(Body::from(body.to_string())).unwrap()
}

fn executor(group: &str, address: &str) -> Value {
    json!({ "registryGroup": "EXECUTOR", "registryKey": group, "registryValue": address })
}

async fn registered(world: &World) -> Vec<Value> {
    let listed = world.get("/v1/executors").await.expect(200);
    listed["items"].as_array().unwrap().iter().filter(|one| one["in_process"] == false).cloned().collect()
}

/// An executor that says yes to everything, and what it was asked to run.
async fn agreeable() -> (SocketAddr, Arc<Mutex<Vec<Value>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let yes = || async { Json(json!({ "code": 200, "msg": null })) };
    let run = |State(asked): State<Arc<Mutex<Vec<Value>>>>, Json(body): Json<Value>| async move {
        asked.lock().unwrap().push(body);
        Json(json!({ "code": 200, "msg": null }))
    };
    let busy = || async { Json(json!({ "code": 500, "msg": "busy" })) };
    let router = Router::new().route("/run", post(run)).route("/idleBeat", post(busy)).fallback(yes);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = router.with_state(asked.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (address, asked)
}

/// Begins a run of a job for the executors of `billing`.
async fn settle(world: &World) -> String {
    let job = json!({
        "label": "settle", "group": "billing", "trigger": { "type": "manual" },
        "tool_name": "xxl", "tool_input": { "handler": "settle", "params": "east", "job_id": 12 }, "timeout": "90s"
    });
    let job = text(&world.post("/v1/jobs", job).await.expect(201)["id"]);
    text(&world.post(&format!("/v1/jobs/{job}/trigger"), json!({})).await.expect(202)["run_id"])
}

#[tokio::test]
async fn without_a_group_in_the_configuration_there_is_no_admin() {
    let world = World::new().await;
    for path in ["registry", "registryRemove", "callback"] {
        let path = format!("/xxl-job-admin/api/{path}");
        world.post(&path, json!({})).await.refused(404, "xxl_not_configured");
    }
}

#[tokio::test]
async fn without_the_token_of_its_group_nobody_is_listened_to() {
    let world = world().await;
    let body = executor("billing", "http://127.0.0.1:9");
    for token in [None, Some(""), Some("billing"), Some("mail-token"), Some("billing-token-and-more")] {
        assert_eq!(say(&world, "registry", token, body.clone()).await["code"], 500, "{token:?}");
        assert_eq!(say(&world, "registryRemove", token, body.clone()).await["code"], 500, "{token:?}");
    }
    assert_eq!(say(&world, "registry", Some("billing-token"), executor("other", "http://1.1.1.1")).await["code"], 500);
    assert_eq!(say(&world, "callback", Some("x"), json!([{ "logId": 1, "handleCode": 200 }])).await["code"], 500);
    assert!(registered(&world).await.is_empty());
    assert_eq!(say(&world, "registry", Some("billing-token"), json!({ "registryKey": 7 })).await["code"], 500);
}

#[tokio::test]
async fn an_address_inside_is_not_called_unless_the_group_allows_it() {
    let world = world().await;
    for address in ["http://169.254.169.254/", "http://10.0.0.7:9999", "file:///etc/passwd", "http://a:b@127.0.0.1:9"] {
        let answer = say(&world, "registry", Some("billing-token"), executor("billing", address)).await;
        assert_eq!(answer["code"], 500, "{address}: {answer}");
    }
    let answer = say(&world, "registry", Some("mail-token"), executor("mail", "http://127.0.0.1:9")).await;
    assert!(text(&answer["msg"]).contains("xxl.groups.NAME.allow"), "{answer}");
    assert!(registered(&world).await.is_empty());
}

#[tokio::test]
async fn a_group_does_not_speak_for_the_runs_of_another() {
    let world = world().await;
    let (address, asked) = agreeable().await;
    let registration = executor("billing", &format!("http://{address}/"));
    assert_eq!(say(&world, "registry", Some("billing-token"), registration.clone()).await["code"], 200);
    assert_eq!(say(&world, "registry", Some("billing-token"), registration.clone()).await["code"], 200);
    assert_eq!(registered(&world).await.len(), 1, "it says so again and again");
    let run = settle(&world).await;
    world.eventually(async || !asked.lock().unwrap().is_empty()).await;
    let param = asked.lock().unwrap()[0].clone();
    let said = (&param["jobId"], &param["executorHandler"], &param["executorParams"], &param["executorTimeout"]);
    assert_eq!(said, (&json!(12), &json!("settle"), &json!("east"), &json!(90)));
    assert_eq!((&param["glueType"], &param["glueSource"]), (&json!("BEAN"), &json!("")));

    let ended = json!([{ "logId": param["logId"], "handleCode": 200, "handleMsg": "settled" }]);
    say(&world, "callback", Some("mail-token"), ended.clone()).await;
    let status = async || world.get(&format!("/v1/runs/{run}")).await.expect(200)["status"].clone();
    assert_eq!(status().await["type"], "running");
    assert_eq!(say(&world, "callback", Some("billing-token"), ended.clone()).await["code"], 200);
    assert_eq!((&status().await["type"], &status().await["result"]), (&json!("completed"), &json!("settled")));
    assert_eq!(say(&world, "callback", Some("billing-token"), ended).await["code"], 200, "said twice, heard once");
    assert_eq!(say(&world, "registryRemove", Some("billing-token"), registration).await["code"], 200);
    world.eventually(async || registered(&world).await.is_empty()).await;
}

#[tokio::test]
async fn an_executor_that_hung_up_while_it_registered_is_served_all_the_same() {
    let world = world().await;
    let (address, asked) = agreeable().await;
    let registration = executor("billing", &format!("http://{address}/"));
    let hung_up = world.send(saying("registry", Some("billing-token"), &registration)).now_or_never();
    assert!(hung_up.is_none(), "it has to wait for the store");
    assert_eq!(say(&world, "registry", Some("billing-token"), registration).await["code"], 200);
    settle(&world).await;
    world.eventually(async || !asked.lock().unwrap().is_empty()).await;
}

/// What an executor says of itself does not make it one of the bridge, to be called with the token of a group.
#[tokio::test]
async fn an_executor_of_a_token_is_not_taken_for_one_of_xxl_job_after_a_restart() {
    let world = world().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let token = world.token("builder", Role::Executor).await;
    let offer = json!({
        "name": format!("http://{address}"), "group": "billing", "tools": ["xxl"], "capacity": 1, "version": "xxl-job"
    });
    let id = text(&world.request_as(&token, "POST", "/v1/executors", Some(offer)).await.expect(201)["id"]);
    let restarted = bridge(&world).await;
    settle(&world).await;
    let poll = format!("/v1/executors/{id}/poll");
    let handed = world.request_as(&token, "POST", &poll, Some(json!({ "wait_ms": 30_000 }))).await.expect(200);
    assert_eq!(handed["runs"].as_array().unwrap().len(), 1, "its work is its own: {handed}");
    assert!(listener.accept().now_or_never().is_none(), "it was called with the token of the group");
    drop(restarted);
}
