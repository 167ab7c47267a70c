//! Tools that tests can steer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use ordo_model::LogStream;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::run::runner::Tools;
use crate::run::tool::{Failure, Tool, Work};

/// What the test sends through this, the tool `talk` logs; dropping it ends the run.
pub type Voice = UnboundedSender<String>;

/// How much of a payload `unpack` repeats: its result is to stay small enough for an event.
const BODY_SHOWN: usize = 200;

/// All of them by name, and the voice of `talk`.
pub fn tools() -> (Tools, Voice) {
    let (voice, said) = unbounded_channel();
    let all: [(&str, Arc<dyn Tool>); 12] = [
        ("noop", Arc::new(Immediate)),
        ("shell", Arc::new(Immediate)),
        ("hang", Arc::new(Hang)),
        ("fail", Arc::new(Fail)),
        ("flaky", Arc::new(Flaky(AtomicU32::new(0)))),
        ("fussy", Arc::new(Fussy)),
        ("big", Arc::new(Big)),
        ("echo", Arc::new(Echo)),
        ("complain", Arc::new(Complain)),
        ("unpack", Arc::new(Unpack)),
        ("chatter", Arc::new(Chatter)),
        ("talk", Arc::new(Talk(Mutex::new(said)))),
    ];
    (all.into_iter().map(|(name, tool)| (name.to_owned(), tool)).collect(), voice)
}

/// Returns its input, at once. Takes any input but `{"refuse": …}`.
struct Immediate;
/// Runs until it is cancelled.
struct Hang;
/// Fails.
struct Fail;
/// Fails as often as its input says, then completes.
struct Flaky(AtomicU32);
/// Takes no input, and says what it was given.
struct Fussy;
/// Returns a result of as many bytes as its input says.
struct Big;
/// Logs what it was given, and returns its input.
struct Echo;
/// Logs what it was given, and fails because of it.
struct Complain;
/// Returns what came with its delivery.
struct Unpack;
/// Logs 5,000 lines, and completes.
struct Chatter;
/// Logs what the test sends it, line by line, until the test has no more to send.
struct Talk(Mutex<UnboundedReceiver<String>>);

#[async_trait]
impl Tool for Immediate {
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
impl Tool for Flaky {
    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }

    async fn run(&self, work: Work) -> Result<Value, Failure> {
        let times = work.input["times"].as_u64().unwrap_or(0);
        let tried = self.0.fetch_add(1, Ordering::SeqCst);
        if u64::from(tried) < times { Err(Failure::new(format!("try {tried}"))) } else { Ok(json!(tried)) }
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

#[async_trait]
impl Tool for Echo {
    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }

    async fn run(&self, work: Work) -> Result<Value, Failure> {
        let given = work.input["and"][0].as_str().unwrap_or_default();
        work.log.line(LogStream::Stdout, &format!("said {given}"));
        Ok(json!({ "bytes": given.len(), "input": work.input }))
    }
}

#[async_trait]
impl Tool for Complain {
    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }

    async fn run(&self, work: Work) -> Result<Value, Failure> {
        let given = work.input["and"][0].as_str().unwrap_or_default();
        work.log.line(LogStream::Stderr, &format!("said {given}"));
        Err(Failure::new(format!("cannot log in with {given}")))
    }
}

#[async_trait]
impl Tool for Unpack {
    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }

    async fn run(&self, work: Work) -> Result<Value, Failure> {
        let Some(payload) = work.payload else { return Ok(Value::Null) };
        let shown = &payload.body[..payload.body.len().min(BODY_SHOWN)];
        Ok(json!({
            "hook": payload.hook,
            "headers": payload.headers,
            "body": String::from_utf8_lossy(shown),
            "bytes": payload.body.len(),
            "sum": weighted_sum(&payload.body),
        }))
    }
}

/// Differs when bytes are lost, changed or in another order.
pub fn weighted_sum(body: &[u8]) -> u64 {
    body.iter().zip(1_u64..).map(|(byte, place)| u64::from(*byte) * place).sum()
}

#[async_trait]
impl Tool for Chatter {
    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }

    async fn run(&self, work: Work) -> Result<Value, Failure> {
        for n in 0..5_000 {
            work.log.line(LogStream::Stdout, &format!("line {n}"));
        }
        Ok(Value::Null)
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
