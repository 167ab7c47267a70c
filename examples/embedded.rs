//! Ordo inside a program: a typed handler, a schedule, and a month of it in a moment.
//!
//!     cargo run -p ordo --example embedded

use std::time::Duration;

use ordo::{Context, Error, Ordo, SetClock, ToolKey};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Email {
    to: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Receipt {
    sent_to: String,
}

/// Ties the handler, its jobs and their results by type.
const EMAIL: ToolKey<Email, Receipt> = ToolKey::new("email");

async fn send(email: Email, context: Context) -> Result<Receipt, String> {
    context.log(&format!("attempt {} for {}", context.attempt(), email.to));
    match email.to.contains('@') {
        true => Ok(Receipt { sent_to: email.to }),
        false => Err(format!("{} is no address", email.to)),
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    in_production().await?;
    in_a_test().await
}

/// A store in a file: what was scheduled is there after a restart.
async fn in_production() -> Result<(), Error> {
    let folder = std::env::temp_dir().join(format!("ordo-embedded-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| Error::Invalid(error.to_string()))?;
    let ordo = Ordo::open(folder.join("app.db")).handle(EMAIL, send).start().await?;
    // At every start: the job is there once, and as it is written here.
    let welcome = EMAIL.job("welcome", &Email { to: "ada@example.org".into() }).cron("0 9 * * *", "Europe/Berlin");
    let job = ordo.ensure(welcome).await?.job().id;
    let receipt = ordo.result(EMAIL, ordo.trigger(job).await?).await?;
    println!("welcome completed: {receipt:?}");
    ordo.shutdown(Duration::from_secs(5)).await;
    std::fs::remove_dir_all(&folder).map_err(|error| Error::Invalid(error.to_string()))
}

/// A clock that is set by hand shows what a schedule does.
async fn in_a_test() -> Result<(), Error> {
    let clock = SetClock::new("2027-03-01T00:00:00Z".parse().map_err(|_| Error::Invalid("a time".into()))?);
    let ordo = Ordo::in_memory().with_clock(clock).handle(EMAIL, send).start().await?;
    let digest = EMAIL.job("digest", &Email { to: "all@example.org".into() });
    let job = ordo.schedule(digest.cron("0 9 * * MON", "Europe/Berlin")).await?;
    ordo.advance(Duration::from_secs(31 * 86_400)).await?;
    for run in ordo.runs(job.id).await?.iter().rev() {
        println!("{} at {}", run.status.name(), run.fired_at);
    }
    ordo.shutdown(Duration::from_secs(5)).await;
    Ok(())
}
