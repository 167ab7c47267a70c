//! A double of Slack on this machine: takes calls, keeps messages, and presses buttons on cards.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use ordo_adapters::slack::signature::SigningSecret;
use ordo_engine::clock::{Clock, SystemClock};
use serde_json::{Value, json};

pub(crate) const TOKEN: &str = "xoxb-double";
pub(crate) const SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";

#[derive(Debug, Clone)]
pub(crate) struct SlackDouble {
    pub(crate) url: String,
    /// By time: what stands in the one channel there is.
    messages: Arc<Mutex<BTreeMap<String, Value>>>,
}

impl SlackDouble {
    pub(crate) fn start() -> SlackDouble {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/api", listener.local_addr().unwrap());
        let slack = SlackDouble { url, messages: Arc::default() };
        let served = slack.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                served.answer(stream);
            }
        });
        slack
    }

    fn answer(&self, mut stream: TcpStream) {
        let Some((head, body)) = read(&mut stream) else { return };
        let arguments: Value = serde_json::from_slice(&body).unwrap_or_default();
        let answer = match head.to_lowercase().contains(&format!("authorization: bearer {TOKEN}")) {
            true => self.call(head.split(' ').nth(1).unwrap_or_default(), arguments),
            false => json!({ "ok": false, "error": "invalid_auth" }),
        };
        let text = answer.to_string();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
        drop(write!(stream, "{head}content-length: {}\r\n\r\n{text}", text.len()));
    }

    fn call(&self, path: &str, arguments: Value) -> Value {
        let mut messages = self.messages.lock().unwrap();
        let ts = match path.rsplit('/').next() {
            Some("chat.postMessage") => format!("1700000000.{:06}", messages.len() + 1),
            Some("chat.update") => arguments["ts"].as_str().unwrap_or_default().to_owned(),
            _ => return json!({ "ok": false, "error": "unknown_method" }),
        };
        messages.insert(ts.clone(), arguments);
        json!({ "ok": true, "channel": "C0PS", "ts": ts })
    }

    /// The cards that stand in the channel, as text.
    pub(crate) fn cards(&self) -> Vec<Value> {
        self.messages.lock().unwrap().values().filter(|message| message["blocks"].is_array()).cloned().collect()
    }

    /// What was said in threads, in order.
    pub(crate) fn said(&self) -> Vec<String> {
        let messages = self.messages.lock().unwrap();
        let lines = messages.values().filter(|message| message["thread_ts"].is_string());
        lines.filter_map(|message| message["text"].as_str().map(str::to_owned)).collect()
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

fn read(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim().is_empty() {
            break;
        }
        if let Some(text) = line.to_lowercase().strip_prefix("content-length:") {
            length = text.trim().parse().ok()?;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}
