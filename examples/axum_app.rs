//! Ordo inside an axum application on PostgreSQL: a request writes its row and enqueues the mail that follows from it in **one
//! transaction**, a typed handler sends it, a schedule runs beside it. All of it on the application's own pool.
//!
//!     DATABASE_URL=postgres://me@localhost/app cargo run -p ordo --example axum_app
//!     curl -X POST http://127.0.0.1:3000/signup -d ada@example.org
//!     curl http://127.0.0.1:3000/jobs
//!
//! With an argument it plays both sides itself and ends: that is how it is tested.

use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use ordo::postgres::deadpool_postgres::{Config, Pool, Runtime};
use ordo::postgres::tokio_postgres::NoTls;
use ordo::{Block, Call, Context, Cron, JobState, Ordo, ToolKey, ZoneName};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Signup {
    address: String,
}

#[derive(Serialize, Deserialize)]
struct Nothing {}

const WELCOME: ToolKey<Signup, String> = ToolKey::new("welcome");
const REPORT: ToolKey<Nothing, usize> = ToolKey::new("report");

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone)]
struct App {
    ordo: Ordo,
    pool: Pool,
}

async fn welcome(signup: Signup, context: Context) -> Result<String, String> {
    context.log(&format!("writing to {}", signup.address));
    Ok(format!("welcome, {}", signup.address))
}

/// The user and the mail become durable together, or neither does: an address that is taken is sent nothing.
async fn sign_up(app: &App, address: String) -> Result<ordo::SubmissionId, Failure> {
    let mut client = app.pool.get().await?;
    let transaction = client.transaction().await?;
    let mail = WELCOME.job(format!("welcome {address}"), &Signup { address: address.clone() });
    let mail = app.ordo.enqueue_in(&transaction, mail.attempts(5, Duration::from_secs(10))).await?;
    transaction.execute("INSERT INTO users (address) VALUES ($1)", &[&address]).await?;
    transaction.commit().await?;
    Ok(mail)
}

async fn signup(State(app): State<App>, address: String) -> Result<String, (StatusCode, String)> {
    let mail = sign_up(&app, address).await;
    mail.map(|mail| format!("submission {mail}\n")).map_err(|error| (StatusCode::CONFLICT, error.to_string()))
}

async fn jobs(State(app): State<App>) -> Result<String, (StatusCode, String)> {
    let jobs = app.ordo.list(Some(JobState::Active)).await;
    let jobs = jobs.map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    Ok(jobs.iter().map(|job| format!("{}\n", job.definition.label)).collect())
}

async fn start() -> Result<App, Failure> {
    let config = Config { url: Some(std::env::var("DATABASE_URL")?), ..Config::default() };
    let pool = config.create_pool(Some(Runtime::Tokio1), NoTls)?;
    pool.get().await?.batch_execute("CREATE TABLE IF NOT EXISTS users (address text PRIMARY KEY)").await?;
    let report = |_: Nothing, _: Context| async { Ok::<_, String>(0) };
    let timed = |call: Call| async move {
        let tool = call.tool_name().to_owned();
        let done = call.proceed().await;
        eprintln!("{tool} {}", if done.is_ok() { "completed" } else { "failed" });
        done
    };
    let opening = Ordo::postgres_with(pool.clone()).node("app-1").layer(timed);
    let ordo = opening.handle(WELCOME, welcome).handle(REPORT, report).start().await?;
    let nightly = Cron::daily(2, 0)?.zone(ZoneName::new("Europe/Berlin")?);
    ordo.ensure(REPORT.job("nightly-report", &Nothing {}).on(nightly).block(Block::Discard)).await?;
    Ok(App { ordo, pool })
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let app = start().await?;
    if std::env::args().nth(1).is_some() {
        return played(app).await;
    }
    let ordo = app.ordo.clone();
    let router = Router::new().route("/signup", post(signup)).route("/jobs", get(jobs)).with_state(app);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    let stop = async { drop(tokio::signal::ctrl_c().await) };
    axum::serve(listener, router).with_graceful_shutdown(stop).await?;
    // What runs may finish; what waits is there after the next start.
    ordo.shutdown(Duration::from_secs(30)).await;
    Ok(())
}

async fn played(app: App) -> Result<(), Failure> {
    let mail = sign_up(&app, "ada@example.org".into()).await?;
    let job = app.ordo.submitted(mail).await?.job;
    let run = app.ordo.newest_run(job).await?;
    println!("{}", app.ordo.result(WELCOME, run).await?);
    // Her address is taken: no second user, no second mail.
    println!("again: {}", sign_up(&app, "ada@example.org".into()).await.is_err());
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    println!(
        "mails: {}",
        app.ordo.list(None).await?.iter().filter(|job| job.definition.tool_name == "welcome").count()
    );
    app.ordo.shutdown(Duration::from_secs(5)).await;
    Ok(())
}
