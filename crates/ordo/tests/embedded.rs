//! Ordo inside a program: the promises of the facade.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ordo::{Context, Error, JobBuilder, Ordo, SetClock, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Serialize, Deserialize)]
struct Email {
    to: String,
}

async fn send(email: Email, context: Context) -> Result<serde_json::Value, String> {
    context.log("sending");
    Ok(json!({ "sent_to": email.to, "attempt": context.attempt() }))
}

fn march() -> SetClock {
    SetClock::new("2027-03-01T00:00:00Z".parse().unwrap())
}

#[tokio::test]
async fn a_handler_gets_its_typed_input_and_its_result_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let ordo = Ordo::open(&path).tool("email", send).start().await.unwrap();
    let job = ordo.schedule(JobBuilder::new("welcome", "email").input(&Email { to: "ada".into() })).await.unwrap();
    let run = ordo.ended(ordo.trigger(job.id).await.unwrap()).await.unwrap();
    assert_eq!(json!(run.status)["result"], json!({ "sent_to": "ada", "attempt": 1 }));
    ordo.shutdown(Duration::from_secs(5)).await;
    drop(ordo);
    // The same store again: what was promised is there.
    let ordo = Ordo::open(&path).tool("email", send).start().await.unwrap();
    assert_eq!(ordo.job(job.id).await.unwrap().unwrap().definition.label, "welcome");
    assert_eq!(ordo.runs(job.id).await.unwrap().len(), 1);
    ordo.shutdown(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn what_a_handler_cannot_take_is_refused_when_it_is_scheduled() {
    let ordo = Ordo::in_memory().tool("email", send).start().await.unwrap();
    for (job, words) in [
        (JobBuilder::new("a", "email").input(&json!({ "too": "x" })), "missing field"),
        (JobBuilder::new("b", "post").input(&json!({})), "no tool"),
        (JobBuilder::new("c", "email").input(&Email { to: "x".into() }).with("blok", json!("serial")), "blok"),
        (JobBuilder::new("d", "email").input(&Email { to: "x".into() }).cron("nonsense", "UTC"), "trigger.cron"),
    ] {
        let error = ordo.schedule(job).await.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    assert!(matches!(ordo.advance(Duration::from_secs(1)).await, Err(Error::NotSettable)));
    ordo.shutdown(Duration::from_secs(1)).await;
}

#[tokio::test]
async fn a_month_of_a_schedule_passes_in_a_moment_and_the_clocks_change_on_the_way() {
    let ordo = Ordo::in_memory().with_clock(march()).tool("email", send).start().await.unwrap();
    let digest =
        JobBuilder::new("digest", "email").input(&Email { to: "all".into() }).cron("0 9 * * MON", "Europe/Berlin");
    let job = ordo.schedule(digest).await.unwrap();
    ordo.advance(Duration::from_secs(31 * 86_400)).await.unwrap();
    let mut fired: Vec<String> = ordo.runs(job.id).await.unwrap().iter().map(|run| run.fired_at.to_string()).collect();
    fired.reverse();
    let days = ["01T08", "08T08", "15T08", "22T08", "29T07"];
    assert_eq!(fired, days.map(|day| format!("2027-03-{day}:00:00.000Z")));
    assert_eq!(ordo.now(), "2027-04-01T00:00:00Z".parse::<Timestamp>().unwrap());
    ordo.shutdown(Duration::from_secs(1)).await;
}

#[tokio::test]
async fn a_failing_handler_is_tried_again_after_its_backoff() {
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = tries.clone();
    let flaky = move |(): (), _: Context| {
        let n = counted.fetch_add(1, Ordering::SeqCst);
        async move { if n < 2 { Err("not yet") } else { Ok(n) } }
    };
    let ordo = Ordo::in_memory().with_clock(march()).tool("flaky", flaky).start().await.unwrap();
    let job =
        JobBuilder::new("f", "flaky").input(&()).attempts(3, Duration::from_secs(60)).every(Duration::from_secs(3_600));
    let job = ordo.schedule(job).await.unwrap();
    ordo.advance(Duration::from_secs(3_600)).await.unwrap();
    assert_eq!(tries.load(Ordering::SeqCst), 1, "time stands still");
    ordo.advance(Duration::from_secs(180)).await.unwrap();
    let run = ordo.runs(job.id).await.unwrap().remove(0);
    assert_eq!((run.status.name(), run.attempt, run.errors.len()), ("completed", 3, 2));
    ordo.shutdown(Duration::from_secs(1)).await;
}

#[test]
fn the_example_runs() {
    // Examples are built beside the tests.
    let program = std::env::current_exe().unwrap().parent().unwrap().join("../examples/embedded");
    let ran = std::process::Command::new(program).output().unwrap();
    let said = String::from_utf8(ran.stdout).unwrap();
    assert!(
        ran.status.success() && said.contains("welcome completed") && said.contains("completed at 2027-03-29T07"),
        "{said}"
    );
}
