//! The account: what the schedules promised, what the events say, and what was really executed.

use std::collections::{BTreeMap, BTreeSet};

use ordo_client::Client;
use ordo_model::job::{Cause, Event, Trigger};
use ordo_model::schedule::Gap;
use ordo_model::{JobId, RunId, Timestamp};
use serde_json::Value;

/// More occurrences than any job here has.
const MANY: usize = 100_000;

#[derive(Debug, Default)]
pub(crate) struct Account {
    occurrences: usize,
    triggered: usize,
    skipped: usize,
    gaps: usize,
    attempts: usize,
    completed: usize,
    failed: usize,
    recovered: usize,
    executions: usize,
}

/// What one stream says of one job.
#[derive(Default)]
struct StreamAccount {
    /// How often each nominal time was triggered or skipped one by one.
    outcomes: BTreeMap<Timestamp, usize>,
    gaps: Vec<Gap>,
    attempts: BTreeSet<(RunId, u32)>,
    completed: BTreeSet<(RunId, u32)>,
    open: BTreeSet<RunId>,
}

pub(crate) async fn of(client: &Client, jobs: &[Value], book: &str) -> Account {
    let mut account = Account::default();
    let (mut attempts, mut written) = (BTreeSet::new(), BTreeSet::new());
    for job in jobs {
        let stream = read(client, job, &mut account).await;
        check_occurrences(job, &stream, &mut account);
        assert_eq!(stream.open, BTreeSet::new(), "runs without an end: {job}");
        if job["tool_name"] == "shell" {
            written.extend(stream.completed.iter().copied());
        }
        attempts.extend(stream.attempts);
    }
    account.attempts = attempts.len();
    account.executions = check_executions(book, &attempts, &written);
    account
}

async fn read(client: &Client, job: &Value, account: &mut Account) -> StreamAccount {
    let mut stream = StreamAccount::default();
    for event in pages(client, &format!("/v1/streams/ordo-job-{}", job["id"].as_str().unwrap())).await {
        let event: Event = serde_json::from_value(event).unwrap();
        note(event, &mut stream, account);
    }
    stream
}

fn note(event: Event, stream: &mut StreamAccount, account: &mut Account) {
    match event {
        Event::JobTriggered { run_id, cause, .. } => {
            let Cause::Schedule { occurrence, .. } = cause else { panic!("nobody asked for {run_id}") };
            *stream.outcomes.entry(occurrence.nominal).or_default() += 1;
            assert!(stream.open.insert(run_id), "{run_id} was triggered twice");
            account.triggered += 1;
        }
        Event::JobSkipped { gap: Some(gap), .. } => {
            stream.gaps.push(gap);
            account.gaps += 1;
        }
        Event::JobSkipped { cause, gap: None, .. } => {
            let nominal = cause.occurrence().expect("only occurrences are skipped here").nominal;
            *stream.outcomes.entry(nominal).or_default() += 1;
            account.skipped += 1;
        }
        Event::JobStarted { run_id, attempt, .. } => {
            assert!(stream.attempts.insert((run_id, attempt)), "attempt {attempt} of {run_id} was started twice");
        }
        Event::JobExecuted { run_id, attempt, .. } => {
            assert!(stream.open.remove(&run_id), "{run_id} ended twice");
            stream.completed.insert((run_id, attempt));
            account.completed += 1;
        }
        Event::JobFailed { run_id, reason, retry_at, .. } => {
            account.recovered += usize::from(reason == "recovered from restart");
            if retry_at.is_none() {
                assert!(stream.open.remove(&run_id), "{run_id} ended twice");
                account.failed += 1;
            }
        }
        Event::RunCancelled { run_id, .. } => panic!("nobody cancelled {run_id}"),
        Event::JobScheduled { .. }
        | Event::JobUpdated { .. }
        | Event::JobPaused { .. }
        | Event::JobResumed { .. }
        | Event::JobCancelled { .. }
        | Event::RunReady { .. }
        | Event::RunCancelRequested { .. }
        | Event::RunReturned { .. }
        | Event::RunExpired { .. }
        | Event::RunBroadcast { .. }
        | Event::ShardTriggered { .. }
        | Event::RunOrphaned { .. }
        | Event::AttemptExtended { .. }
        | Event::ClockStepped { .. }
        | Event::BackfillRequested { .. }
        | Event::HistoryTrimmed { .. }
        | Event::JobFollowed {}
        | Event::UpstreamEnded { .. }
        | Event::Published { .. } => {}
    }
}

/// Each nominal time has exactly one outcome, and nothing else has one.
fn check_occurrences(job: &Value, stream: &StreamAccount, account: &mut Account) {
    let id: JobId = job["id"].as_str().unwrap().parse().unwrap();
    let trigger: Trigger = serde_json::from_value(job["trigger"].clone()).unwrap();
    let promised = trigger.schedule().unwrap().between(Timestamp::MIN, Timestamp::MAX, MANY, id.0);
    // A job that arrived after its start promises what comes from then on; one for a single moment is still run.
    let arrived: Timestamp = job["created_at"].as_str().unwrap().parse().unwrap();
    let from = if job["trigger"]["every"].is_null() { Timestamp::MIN } else { arrived };
    let promised: BTreeSet<Timestamp> =
        promised.into_iter().map(|occurrence| occurrence.nominal).filter(|nominal| *nominal >= from).collect();
    account.occurrences += promised.len();
    for nominal in &promised {
        let in_gaps = stream.gaps.iter().filter(|gap| (gap.from..=gap.to).contains(nominal)).count();
        let outcomes = stream.outcomes.get(nominal).copied().unwrap_or(0) + in_gaps;
        assert_eq!(outcomes, 1, "{nominal} has {outcomes} outcomes: {job:#}\n{:?} {:?}", stream.outcomes, stream.gaps);
    }
    let unpromised: Vec<_> = stream.outcomes.keys().filter(|nominal| !promised.contains(nominal)).collect();
    assert!(unpromised.is_empty(), "never promised: {unpromised:?} of {job:#}");
    for gap in &stream.gaps {
        assert_eq!(gap.count, promised.range(gap.from..=gap.to).count() as u64, "{gap:?} of {job:#}");
    }
}

/// Nothing ran without its attempt being recorded before, no attempt ran twice, and what completed did run.
fn check_executions(book: &str, attempts: &BTreeSet<(RunId, u32)>, completed: &BTreeSet<(RunId, u32)>) -> usize {
    let mut executed = BTreeSet::new();
    for line in book.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [run, attempt, scheduled_for] = words.as_slice() else { panic!("torn: {line:?}") };
        let key: (RunId, u32) = (run.parse().unwrap(), attempt.parse().unwrap());
        assert!(executed.insert(key), "executed twice: {line}");
        assert!(attempts.contains(&key), "executed without a record: {line}");
        scheduled_for.parse::<Timestamp>().unwrap();
    }
    let missing: Vec<_> = completed.difference(&executed).collect();
    assert!(missing.is_empty(), "said to be completed, but never ran: {missing:?}");
    executed.len()
}

pub(crate) fn check_acknowledged(jobs: &[Value], acknowledged: &[String]) {
    let there: BTreeSet<&str> = jobs.iter().filter_map(|job| job["id"].as_str()).collect();
    let lost: Vec<_> = acknowledged.iter().filter(|id| !there.contains(id.as_str())).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
}

/// All items of a list.
pub(crate) async fn pages(client: &Client, path: &str) -> Vec<Value> {
    let (mut items, mut cursor) = (Vec::new(), String::new());
    loop {
        let mut page: Value = client.get(&format!("{path}?limit=200{cursor}")).await.unwrap();
        if let Value::Array(more) = page["items"].take() {
            items.extend(more);
        }
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return items,
        }
    }
}
