//! Slack as an app sees it: checks the token, keeps messages, knows when one is not there.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, body::Bytes};
use serde_json::{Value, json};

use super::{Mischief, MischiefPlan, cut, serve};

pub(crate) const TOKEN: &str = "xoxb-test";

#[derive(Clone, Default)]
pub(crate) struct Slack(Arc<Mutex<SlackState>>);

#[derive(Default)]
struct SlackState {
    plan: MischiefPlan,
    /// Method and arguments of each call that was understood, in order.
    calls: Vec<(String, Value)>,
    requests: usize,
    /// By channel and time: what stands there now.
    messages: BTreeMap<(String, String), Value>,
}

impl Slack {
    pub(crate) async fn start() -> (Slack, String) {
        let slack = Slack::default();
        let router = Router::new().route("/api/{method}", post(answer)).with_state(slack.clone());
        let url = format!("{}/api", serve(router).await);
        (slack, url)
    }

    pub(crate) fn plan(&self, mischief: &[Mischief]) {
        self.0.lock().unwrap().plan.0.extend(mischief);
    }

    pub(crate) fn requests(&self) -> usize {
        self.0.lock().unwrap().requests
    }

    pub(crate) fn calls(&self) -> Vec<(String, Value)> {
        self.0.lock().unwrap().calls.clone()
    }

    /// What stands in a channel outside threads.
    pub(crate) fn cards(&self) -> Vec<Value> {
        let inside = self.0.lock().unwrap();
        inside.messages.values().filter(|message| message["blocks"].is_array()).cloned().collect()
    }

    /// The texts of a thread, in order.
    pub(crate) fn thread(&self, thread: &str) -> Vec<String> {
        let inside = self.0.lock().unwrap();
        let of_thread = inside.messages.values().filter(|message| message["thread_ts"] == thread);
        of_thread.filter_map(|message| message["text"].as_str().map(str::to_owned)).collect()
    }

    /// Somebody deletes a message.
    pub(crate) fn forget(&self) {
        self.0.lock().unwrap().messages.clear();
    }

    fn call(&self, method: &str, arguments: Value) -> Value {
        let mut inside = self.0.lock().unwrap();
        inside.calls.push((method.to_owned(), arguments.clone()));
        let channel = match arguments["channel"].as_str() {
            Some("#ops") => "C0PS".to_owned(),
            Some(channel) if channel.starts_with('C') => channel.to_owned(),
            _ => return json!({ "ok": false, "error": "channel_not_found" }),
        };
        if !is_valid(&arguments["blocks"]) {
            return json!({ "ok": false, "error": "invalid_blocks" });
        }
        let mut message = arguments;
        message["channel"] = channel.clone().into();
        match method {
            "chat.postMessage" => {
                let ts = format!("1700000000.{:06}", inside.messages.len() + 1);
                message["ts"] = ts.clone().into();
                inside.messages.insert((channel.clone(), ts.clone()), message);
                json!({ "ok": true, "channel": channel, "ts": ts })
            }
            "chat.update" => {
                let ts = message["ts"].as_str().unwrap_or_default().to_owned();
                match inside.messages.get_mut(&(channel, ts)) {
                    Some(there) => {
                        message["thread_ts"] = there["thread_ts"].clone();
                        *there = message;
                        json!({ "ok": true })
                    }
                    None => json!({ "ok": false, "error": "message_not_found" }),
                }
            }
            _ => json!({ "ok": false, "error": "unknown_method" }),
        }
    }
}

/// As long as Slack allows it: it counts the characters it gets, entities and all.
fn is_valid(blocks: &Value) -> bool {
    let fits = |text: &Value, max| text.as_str().is_none_or(|text| text.chars().count() <= max);
    blocks.as_array().into_iter().flatten().all(|block| {
        let fields = block["fields"].as_array().into_iter().flatten();
        let max = if block["type"] == "header" { 150 } else { 3_000 };
        fits(&block["text"]["text"], max) && fields.into_iter().all(|field| fits(&field["text"], 2_000))
    })
}

async fn answer(State(slack): State<Slack>, Path(method): Path<String>, headers: HeaderMap, body: Bytes) -> Response {
    let mischief = {
        let mut inside = slack.0.lock().unwrap();
        inside.requests += 1;
        inside.plan.next()
    };
    if let Some(mischief) = mischief
        && let Some(answer) = mischief.answer().await
    {
        return answer;
    }
    let authorized = headers.get("authorization").is_some_and(|value| value == &format!("Bearer {TOKEN}"));
    if !authorized {
        return Json(json!({ "ok": false, "error": "invalid_auth" })).into_response();
    }
    assert!(headers["content-type"].to_str().unwrap().starts_with("application/json"));
    let answer = slack.call(&method, serde_json::from_slice(&body).unwrap());
    if mischief == Some(Mischief::CutAfter) { cut() } else { Json(answer).into_response() }
}
