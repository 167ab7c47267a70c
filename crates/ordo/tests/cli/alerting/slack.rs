//! A Slack on this machine for a daemon in another process, and what people do there: press buttons, mention the app.

use std::io::{Read, Write};
use std::net::TcpStream;

use ordo_adapters::slack::signature::SigningSecret;
use ordo_engine::clock::{Clock, SystemClock};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::double::slack::Slack;

pub(crate) const SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";

/// Serves until it is dropped.
pub(crate) struct SlackServer {
    slack: Slack,
    pub(crate) url: String,
    _serving: Runtime,
}

impl SlackServer {
    pub(crate) fn start() -> SlackServer {
        let serving = Runtime::new().unwrap();
        let (slack, url) = serving.block_on(Slack::start());
        SlackServer { slack, url, _serving: serving }
    }

    /// The cards as they stand now.
    pub(crate) fn cards(&self) -> Vec<Value> {
        self.slack.cards()
    }

    /// What was said in threads, in order.
    pub(crate) fn said(&self) -> Vec<String> {
        let posted = self.slack.calls().into_iter().filter(|(method, _)| method == "chat.postMessage");
        let in_threads = posted.filter(|(_, message)| message["thread_ts"].is_string());
        in_threads.filter_map(|(_, message)| message["text"].as_str().map(str::to_owned)).collect()
    }
}

/// The button of a card with this text, as Slack would send it.
pub(crate) fn button(card: &Value, text: &str) -> Value {
    let blocks = card["blocks"].as_array().into_iter().flatten();
    let mut elements = blocks.flat_map(|block| block["elements"].as_array().into_iter().flatten());
    let found = elements.find(|element| element["text"]["text"] == text);
    found.unwrap_or_else(|| panic!("no button {text:?} on {card:#}")).clone()
}

/// Somebody presses it. The status of the answer.
pub(crate) fn press(daemon: &str, user: &str, button: &Value) -> u16 {
    let payload = json!({ "type": "block_actions", "user": { "id": user }, "actions": [button] }).to_string();
    let form = percent_encoding::percent_encode(payload.as_bytes(), percent_encoding::NON_ALPHANUMERIC);
    post(daemon, "/slack/interaction", &format!("payload={form}"))
}

/// Somebody says something to the app.
pub(crate) fn mention(daemon: &str, event: &str, text: &str) -> u16 {
    let event_body = json!({ "type": "app_mention", "user": "U1", "channel": "C7", "ts": "17.5", "text": text });
    let body = json!({ "type": "event_callback", "event_id": event, "event": event_body });
    post(daemon, "/slack/events", &body.to_string())
}

/// A request as Slack signs it, without any token.
fn post(daemon: &str, path: &str, body: &str) -> u16 {
    let timestamp = (SystemClock.now().ms() / 1_000).to_string();
    let signature = SigningSecret::new(SECRET).sign(&timestamp, body.as_bytes());
    let mut stream = TcpStream::connect(daemon.trim_start_matches("http://")).unwrap();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: ordo.example.com\r\nconnection: close\r\ncontent-length: {}\r\n\
         x-slack-request-timestamp: {timestamp}\r\nx-slack-signature: {signature}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{answer}"))
}
