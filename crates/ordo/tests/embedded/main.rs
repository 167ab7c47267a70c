//! Ordo inside a program: the promises of the facade.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod examples;
mod postgres;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ordo::{
    AfterMode, AfterOn, At, Block, Call, Context, Cron, Ensured, Error, Every, Failure, IncidentPolicy, JobBuilder,
    JobState, Ordo, SetClock, Severity, Timestamp, ToolKey, Upstream, Weekday, ZoneName,
};
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

#[tokio::test]
async fn what_a_job_does_about_its_failures_is_said_with_types() {
    let ordo = Ordo::in_memory()
        .with_clock(march())
        .tool("broken", |(): (), _: Context| async { Err::<(), _>("no disk") })
        .start()
        .await
        .unwrap();
    let policy = IncidentPolicy { severity: Severity::Sev2, after: 2, ..IncidentPolicy::default() };
    let job = JobBuilder::new("b", "broken")
        .input(&())
        .description_url("https://runbooks.example.com/broken")
        .tags(["nightly", "team:billing"])
        .on_failure(policy.clone())
        .on_missed(IncidentPolicy::default())
        .every(Duration::from_secs(60));
    let job = ordo.schedule(job).await.unwrap();
    let stored = ordo.find("b").await.unwrap().unwrap();
    let stored = &stored.definition;
    assert_eq!(stored.on_failure.as_ref().unwrap().incident, policy);
    assert_eq!(stored.on_missed.as_ref().unwrap().incident.after, 1);
    assert_eq!(stored.description_url.as_deref(), Some("https://runbooks.example.com/broken"));
    assert!(stored.tags.iter().eq(["nightly", "team:billing"]), "{:?}", stored.tags);
    ordo.advance(Duration::from_secs(120)).await.unwrap();
    let runs = ordo.runs(job.id).await.unwrap();
    assert!(runs.iter().all(|run| run.status.name() == "failed") && runs.len() == 2, "{runs:?}");
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
async fn a_schedule_that_can_be_held_is_one_that_fires() {
    let ordo = Ordo::in_memory().with_clock(march()).handle(DOUBLE, double).start().await.unwrap();
    let berlin = ZoneName::new("Europe/Berlin").unwrap();
    let times = async |label: &str, schedule: ordo::Trigger| {
        let job = ordo.schedule(DOUBLE.job(label, &1).on(schedule)).await.unwrap();
        ordo.job(job.id()).await.unwrap().unwrap().next_tick_at().map(|next| next.to_string())
    };
    let minutely = Every::minutes(1).unwrap();
    assert_eq!(times("every", minutely.into()).await.unwrap(), "2027-03-01T00:01:00.000Z");
    let from = Every::hours(6).unwrap().starting("2027-03-02T03:00:00Z".parse().unwrap());
    assert_eq!(times("from", from.into()).await.unwrap(), "2027-03-02T03:00:00.000Z");
    let weekly = Cron::weekly(Weekday::Tue, 9, 30).unwrap().zone(berlin.clone());
    assert_eq!(times("weekly", weekly.into()).await.unwrap(), "2027-03-02T08:30:00.000Z");
    let end = Cron::month_end(23, 0).unwrap().zone(berlin);
    assert_eq!(times("month-end", end.into()).await.unwrap(), "2027-03-31T21:00:00.000Z");
    let once = At("2027-03-05T00:00:00Z".parse().unwrap());
    assert_eq!(times("once", once.into()).await.unwrap(), "2027-03-05T00:00:00.000Z");
    ordo.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_chain_goes_by_handles_and_hands_on_typed_results() {
    #[derive(Serialize, Deserialize)]
    struct Sum {
        #[serde(default, skip_serializing)]
        after: Vec<Upstream<u32>>,
    }
    const SUM: ToolKey<Sum, u32> = ToolKey::new("sum");
    let sum = |sum: Sum, _: Context| async move {
        sum.after.iter().map(|end| end.completed().copied()).sum::<Result<u32, Error>>()
    };
    let ordo = Ordo::in_memory().handle(DOUBLE, double).handle(SUM, sum).start().await.unwrap();
    let one = ordo.ensure(DOUBLE.job("one", &1)).await.unwrap().into_job();
    let two = ordo.ensure(DOUBLE.job("two", &2)).await.unwrap().into_job();
    let all = SUM.job("sum", &Sum { after: Vec::new() });
    let all =
        ordo.ensure(all.after_jobs([one.id(), two.id()], AfterMode::All, AfterOn::Success)).await.unwrap().into_job();
    let each = ordo.ensure(SUM.job("one more", &Sum { after: Vec::new() }).after(&one)).await.unwrap().into_job();
    assert_eq!(ordo.call(&one, &10).await.unwrap(), 20);
    assert_eq!(ordo.result(SUM, ordo.newest_run(each.id()).await.unwrap()).await.unwrap(), 20);
    assert_eq!(ordo.call(&two, &11).await.unwrap(), 22);
    assert_eq!(ordo.result(SUM, ordo.newest_run(all.id()).await.unwrap()).await.unwrap(), 42);
    ordo.shutdown(Duration::from_secs(1)).await;
}

#[tokio::test]
async fn what_runs_may_finish_and_what_does_not_is_ended() {
    let started = Arc::new(tokio::sync::Notify::new());
    let begun = started.clone();
    let nap = move |ms: u64, _: Context| {
        begun.notify_one();
        async move {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            Ok::<_, String>(ms)
        }
    };
    const NAP: ToolKey<u64, u64> = ToolKey::new("nap");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let mut ends = Vec::new();
    for (ms, grace) in [(300, 20_000), (600_000, 100)] {
        let ordo = Ordo::open(&path).handle(NAP, nap.clone()).start().await.unwrap();
        let job = ordo.ensure(NAP.job("nap", &1)).await.unwrap().into_job();
        let run = ordo.trigger_with(&job, &ms).await.unwrap();
        started.notified().await;
        ordo.shutdown(Duration::from_millis(grace)).await;
        ends.push(ordo.run(run).await.unwrap().unwrap().status.name());
    }
    assert_eq!(ends, ["completed", "failed"]);
}
