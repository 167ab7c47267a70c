//! Ordo inside an axum application: requests enqueue work, a typed handler does it, a schedule runs beside it.
//!
//!     cargo run -p ordo --example axum_app
//!     curl -X POST http://127.0.0.1:3000/signup -d ada@example.org
//!
//! With an argument it plays both sides itself and ends: that is how it is tested.

use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use ordo::{Block, Call, Context, JobState, Ordo, ToolKey};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Signup {
    address: String,
}

#[derive(Serialize, Deserialize)]
struct Nothing {}

const WELCOME: ToolKey<Signup, String> = ToolKey::new("welcome");
const REPORT: ToolKey<Nothing, usize> = ToolKey::new("report");

async fn welcome(signup: Signup, context: Context) -> Result<String, String> {
    context.log(&format!("writing to {}", signup.address));
    Ok(format!("welcome, {}", signup.address))
}

/// Acknowledged once the work is durable: a crash after this line loses nothing.
async fn signup(State(ordo): State<Ordo>, address: String) -> Result<String, (StatusCode, String)> {
    let failed = |error: ordo::Error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string());
    let job = WELCOME.job(format!("welcome {address}"), &Signup { address }).attempts(5, Duration::from_secs(10));
    let job = ordo.ensure(job).await.map_err(failed)?;
    let run = ordo.trigger(job.job().id).await.map_err(failed)?;
    Ok(format!("run {run:?}\n"))
}

async fn jobs(State(ordo): State<Ordo>) -> Result<String, (StatusCode, String)> {
    let jobs = ordo.list(Some(JobState::Active)).await;
    let jobs = jobs.map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    Ok(jobs.iter().map(|job| format!("{}\n", job.definition.label)).collect())
}

async fn start() -> Result<Ordo, ordo::Error> {
    let report = |_: Nothing, _: Context| async { Ok::<_, String>(0) };
    let timed = |call: Call| async move {
        let tool = call.tool_name().to_owned();
        let done = call.proceed().await;
        eprintln!("{tool} {}", if done.is_ok() { "completed" } else { "failed" });
        done
    };
    let ordo = Ordo::in_memory().handle(WELCOME, welcome).handle(REPORT, report).layer(timed).start().await?;
    let nightly = REPORT.job("nightly-report", &Nothing {}).cron("0 2 * * *", "Europe/Berlin").block(Block::Discard);
    ordo.ensure(nightly).await?;
    Ok(ordo)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ordo = start().await?;
    if std::env::args().nth(1).is_some() {
        return played(ordo).await;
    }
    let app = Router::new().route("/signup", post(signup)).route("/jobs", get(jobs)).with_state(ordo.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    let stop = async { drop(tokio::signal::ctrl_c().await) };
    axum::serve(listener, app).with_graceful_shutdown(stop).await?;
    // What runs may finish; what waits is there after the next start, with a store in a file.
    ordo.shutdown(Duration::from_secs(30)).await;
    Ok(())
}

async fn played(ordo: Ordo) -> Result<(), Box<dyn std::error::Error>> {
    let job = ordo.ensure(WELCOME.job("welcome ada", &Signup { address: "ada@example.org".into() })).await?;
    let said = ordo.result(WELCOME, ordo.trigger(job.job().id).await?).await?;
    println!("{said}");
    ordo.shutdown(Duration::from_secs(5)).await;
    Ok(())
}
