//! Tools that tests can steer.

use std::sync::Arc;

use async_trait::async_trait;
use ordo_engine::Tools;
use ordo_engine::tool::{Failure, Tool, Work};
use ordo_model::LogStream;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Returns its input, at once. Takes any input but `{"refuse": …}`.
struct Noop;
/// Runs until it is cancelled.
struct Hang;
/// Fails.
struct Fail;
/// Takes nothing, and says what it was given.
struct Fussy;
/// Returns as many bytes as its input says.
struct Big;
/// Logs what the test sends it, line by line, until the test has no more to send.
struct Talk(Mutex<UnboundedReceiver<String>>);

#[async_trait]
impl Tool for Noop {
    fn check(&self, input: &Value) -> Result<(), String> {
        if input.get("refuse").is_some() { Err("noop does not take refuse".into()) } else { Ok(()) }
    }

    async fn run(&self, work: Work) -> Result<Value, Failure> {
        Ok(work.input)
    }
}

#[async_trait]
impl Tool for Hang {
    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }

    async fn run(&self, work: Work) -> Result<Value, Failure> {
        work.cancel.cancelled().await;
        Err(Failure::new("cancelled"))
    }
}

#[async_trait]
impl Tool for Fail {
    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }

    async fn run(&self, _: Work) -> Result<Value, Failure> {
        Err(Failure::new("it broke"))
    }
}

#[async_trait]
impl Tool for Fussy {
    fn check(&self, input: &Value) -> Result<(), String> {
        Err(format!("fussy does not take {input}"))
    }

    async fn run(&self, _: Work) -> Result<Value, Failure> {
        Ok(Value::Null)
    }
}

#[async_trait]
impl Tool for Big {
    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }

    async fn run(&self, work: Work) -> Result<Value, Failure> {
        let bytes = work.input["bytes"].as_u64().unwrap_or(0);
        Ok(json!("x".repeat(usize::try_from(bytes).unwrap_or(0))))
    }
}

/// Returns what came with its delivery.
struct Echo;

#[async_trait]
impl Tool for Echo {
    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }

    async fn run(&self, work: Work) -> Result<Value, Failure> {
        let Some(payload) = work.payload else { return Ok(Value::Null) };
        let body = String::from_utf8_lossy(&payload.body).into_owned();
        Ok(json!({ "hook": payload.hook, "body": body, "headers": payload.headers }))
    }
}

#[async_trait]
impl Tool for Talk {
    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }

    async fn run(&self, work: Work) -> Result<Value, Failure> {
        let mut said = self.0.lock().await;
        while let Some(text) = said.recv().await {
            work.log.line(LogStream::Stdout, &text);
        }
        Ok(json!("said"))
    }
}

/// The tools, and the voice of `talk`: it ends when the voice is dropped.
pub(crate) fn tools() -> (Tools, UnboundedSender<String>) {
    let (voice, said) = unbounded_channel();
    let mut tools = Tools::new();
    tools.insert("noop".into(), Arc::new(Noop));
    tools.insert("hang".into(), Arc::new(Hang));
    tools.insert("fail".into(), Arc::new(Fail));
    tools.insert("echo".into(), Arc::new(Echo));
    tools.insert("big".into(), Arc::new(Big));
    tools.insert("fussy".into(), Arc::new(Fussy));
    tools.insert("talk".into(), Arc::new(Talk(Mutex::new(said))));
    tools.insert("shell".into(), Arc::new(Noop));
    (tools, voice)
}
