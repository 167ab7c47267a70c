//! An Ordo executor in Rust, through the client crate.
//!
//!     ORDO_TOKEN=$(cat .ordo/token) cargo run -p ordo --example worker -- http://127.0.0.1:7070
//!     ordo job add shout --group rust --tool shout --input '{"text": "hello"}'

use ordo_client::executor::{Assigned, ExecutorOffer, RemoteExecutor, RunLog, RunOutcome, handler};
use ordo_client::{Client, Error, Target};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "http://127.0.0.1:7070".into());
    let client = Client::new(Target::Http { url }, std::env::var("ORDO_TOKEN").ok().as_deref());
    let name = format!("rust-{}", std::process::id());
    let offer = ExecutorOffer { name, group: "rust".into(), tools: vec!["shout".into()], capacity: 4 };
    // Heartbeats, timeouts, cancellations and reports are the executor's business; the work is ours.
    let shout = handler(|run: Assigned, log: RunLog| async move {
        log.line("working");
        match run.tool_input["text"].as_str() {
            Some(text) => RunOutcome::Completed(json!({ "text": text.to_uppercase() })),
            None => RunOutcome::Failed("the input needs a text".into()),
        }
    });
    eprintln!("ready");
    RemoteExecutor::new(client, offer).run(shout, interrupted()).await
}

/// Ctrl-C, or a polite request to end.
async fn interrupted() {
    let mut terminate = match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(terminate) => terminate,
        Err(error) => return eprintln!("no signals here: {error}"),
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}
