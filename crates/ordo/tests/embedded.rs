//! Ordo inside a program: the promises of the facade.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ordo::{Block, Call, Context, Ensured, Error, Failure, JobBuilder, JobState, Ordo, SetClock, Timestamp, ToolKey};
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

const DOUBLE: ToolKey<u32, u32> = ToolKey::new("double");

async fn double(n: u32, _context: Context) -> Result<u32, String> {
    n.checked_mul(2).ok_or_else(|| "too large".to_owned())
}

#[tokio::test]
async fn a_key_ties_a_handler_to_its_input_and_its_result() {
    let ordo = Ordo::in_memory().handle(DOUBLE, double).start().await.unwrap();
    let job = ordo.schedule(DOUBLE.job("double-21", &21)).await.unwrap();
    let run = ordo.trigger(job.id).await.unwrap();
    assert_eq!(ordo.result(DOUBLE, run).await.unwrap(), 42);
    let job = ordo.schedule(DOUBLE.job("double-too-much", &u32::MAX)).await.unwrap();
    let run = ordo.trigger(job.id).await.unwrap();
    assert!(matches!(ordo.result(DOUBLE, run).await, Err(Error::Failed(why)) if why.contains("too large")));
    ordo.shutdown(Duration::from_secs(1)).await;
}

#[tokio::test]
async fn a_program_that_ensures_its_jobs_has_each_of_them_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let daily = |hour: u32| DOUBLE.job("daily", &1).cron(&format!("0 {hour} * * *"), "Europe/Berlin");
    let often = || DOUBLE.job("often", &2).every(Duration::from_secs(60)).block(Block::Discard);
    for start in 0..3 {
        let ordo = Ordo::open(&path).handle(DOUBLE, double).start().await.unwrap();
        let ensured = ordo.ensure(daily(9)).await.unwrap();
        assert_eq!(matches!(ensured, Ensured::Created(_)), start == 0, "{ensured:?}");
        let ensured = ordo.ensure(often()).await.unwrap();
        assert_eq!(matches!(ensured, Ensured::Unchanged(_)), start > 0, "{ensured:?}");
        assert_eq!(ordo.list(None).await.unwrap().len(), 2);
        ordo.shutdown(Duration::from_secs(1)).await;
    }
    let ordo = Ordo::open(&path).handle(DOUBLE, double).start().await.unwrap();
    let before = ordo.find("daily").await.unwrap().unwrap();
    ordo.pause(before.id).await.unwrap();
    let Ensured::Updated(after) = ordo.ensure(daily(10).description("now at ten")).await.unwrap() else {
        panic!("not updated")
    };
    assert_eq!(
        (after.id, after.state(), after.definition.description.as_deref()),
        (before.id, JobState::Paused, Some("now at ten"))
    );
    // What is no longer written goes back to its default.
    assert!(
        matches!(ordo.ensure(daily(10)).await.unwrap(), Ensured::Updated(job) if job.definition.description.is_none())
    );
    assert_eq!(ordo.list(Some(JobState::Paused)).await.unwrap().len(), 1);
    assert!(ordo.find("nothing").await.unwrap().is_none());
    ordo.cancel(before.id).await.unwrap();
    assert!(matches!(ordo.ensure(daily(9)).await.unwrap(), Ensured::Created(_)), "one that is over does not count");
    ordo.shutdown(Duration::from_secs(1)).await;
}

#[tokio::test]
async fn layers_are_passed_in_order_and_may_refuse() {
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let note = |name: &'static str| {
        let seen = seen.clone();
        move |call: Call| {
            let seen = seen.clone();
            async move {
                seen.lock().unwrap().push(format!("{name} in {}", call.tool_name()));
                let done = call.proceed().await;
                seen.lock().unwrap().push(format!("{name} out"));
                done
            }
        }
    };
    let gate = |call: Call| async move {
        if call.label() == "forbidden" { Err(Failure::new("not today")) } else { call.proceed().await }
    };
    let opening = Ordo::in_memory().handle(DOUBLE, double).layer(note("first")).layer(note("second")).layer(gate);
    let ordo = opening.start().await.unwrap();
    let job = ordo.schedule(DOUBLE.job("fine", &1)).await.unwrap();
    assert_eq!(ordo.result(DOUBLE, ordo.trigger(job.id).await.unwrap()).await.unwrap(), 2);
    assert_eq!(*seen.lock().unwrap(), ["first in double", "second in double", "second out", "first out"]);
    let job = ordo.schedule(DOUBLE.job("forbidden", &1)).await.unwrap();
    let refused = ordo.result(DOUBLE, ordo.trigger(job.id).await.unwrap()).await;
    assert!(matches!(refused, Err(Error::Failed(why)) if why.contains("not today")));
    ordo.shutdown(Duration::from_secs(1)).await;
}

#[tokio::test]
async fn two_programs_share_a_database() {
    let server = ordo_store_postgres::testing::TestServer::join();
    let url = server.fresh_url();
    let open = |node: &str| Ordo::postgres(&url).node(node).handle(DOUBLE, double).start();
    let (first, second) = (open("one").await.unwrap(), open("two").await.unwrap());
    let job = first.ensure(DOUBLE.job("shared", &4)).await.unwrap().job().clone();
    assert_eq!(second.find("shared").await.unwrap().unwrap().id, job.id);
    let run = second.trigger(job.id).await.unwrap();
    assert_eq!(first.result(DOUBLE, run).await.unwrap(), 8);
    first.shutdown(Duration::from_secs(1)).await;
    second.shutdown(Duration::from_secs(1)).await;
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

#[test]
fn the_example_with_axum_runs() {
    let program = std::env::current_exe().unwrap().parent().unwrap().join("../examples/axum_app");
    let ran = std::process::Command::new(program).arg("--play").output().unwrap();
    assert!(
        ran.status.success() && String::from_utf8_lossy(&ran.stdout).contains("welcome, ada@example.org"),
        "{ran:?}"
    );
}
