//! What a page of a list costs: a number of reads that does not grow with the store, whatever is looked for; and that
//! cursors lead through every list without a gap.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ordo_engine::CommitExtras;
use ordo_engine::clock::new_id;
use ordo_engine::deliveries::Arrival;
use ordo_engine::incidents::IncidentFilter;
use ordo_engine::job_list::{JobFilter, JobOrder, JobQuery};
use ordo_engine::object_queries::IndexRange;
use ordo_engine::page::Cursor;
use ordo_engine::queries::Queries;
use ordo_engine::run_list::RunFilter;
use ordo_engine::run_list::histogram::{BinnedWindow, RUNS_PER_BIN};
use ordo_engine::testing::World;
use ordo_engine::testing::counting::CountingStore;
use ordo_model::hook::{Hook, HookCommand, HookTerms};
use ordo_model::incident::{By, Incident, IncidentCommand, IncidentSource, IncidentStatus, Severity, StartIncident};
use ordo_model::job::{Command, Definition, Job, JobState, Run, RunStatus};
use ordo_model::limits::OUTBOX_FLUSH_DELAY;
use ordo_model::{JobId, Millis};
use ordo_store::Fault;
use serde_json::{Value, json};

const MANY: usize = 3_000;
/// Enough that a list of them is walked, not sorted.
const SOME: usize = 900;
const PAGE: usize = 50;
/// Reads that one page may cost.
const READS_MAX: usize = 10;
const ORDERS: [JobOrder; 4] = [JobOrder::Label, JobOrder::Next, JobOrder::Newest, JobOrder::Oldest];

/// Many manual and scheduled jobs, three with a webhook, six paused, some of each that run. All have a tag, every second
/// another one, and every hundredth a third.
async fn filled(count: usize) -> (World, Arc<CountingStore>, Queries) {
    let world = World::new().await;
    let jobs = (0..count).map(|n| (JobId(new_id()), schedule(n))).collect::<Vec<_>>();
    let ids: Vec<JobId> = jobs.iter().map(|(id, _)| *id).collect();
    send(&world, jobs).await;
    let pause = |id: &JobId| (*id, Command::Pause { reason: None });
    send(&world, ids.iter().step_by(500).map(pause).collect()).await;
    let store = CountingStore::around(world.engine.queries().store());
    let queries = Queries::new(store.clone());
    (world, store, queries)
}

fn schedule(n: usize) -> Command {
    let trigger = match n {
        n if n % 1_000 == 7 => json!({ "type": "webhook", "hook": "h" }),
        n if n % 3 == 0 => json!({ "type": "scheduled", "every": format!("{}h", 24 + n % 100) }),
        _ => json!({ "type": "manual" }),
    };
    let tags = ["all", "even", "few"].into_iter().zip([1, 2, 100]).filter(|(_, each)| n.is_multiple_of(*each));
    tagged(&format!("{:04}-{n}", (n * 7) % MANY), "noop", &trigger, &tags.map(|(tag, _)| tag).collect::<Vec<_>>())
}

fn definition(label: &str, tool: &str, trigger: &Value) -> Command {
    tagged(label, tool, trigger, &[])
}

fn tagged(label: &str, tool: &str, trigger: &Value, tags: &[&str]) -> Command {
    let input = json!({ "times": 1_000_000 });
    let given = json!({ "label": label, "tool_name": tool, "tool_input": input, "trigger": trigger, "tags": tags });
    Command::Schedule { definition: Box::new(serde_json::from_value::<Definition>(given).unwrap()), held: false }
}

async fn send(world: &World, commands: Vec<(JobId, Command)>) {
    for answer in world.engine.submit_all(commands).await {
        answer.unwrap();
    }
}

fn filters() -> Vec<JobFilter> {
    let all = JobFilter::default;
    let mut filters = vec![
        all(),
        JobFilter { label: Some("0007-1".into()), ..all() },
        JobFilter { label_prefix: "00".into(), ..all() },
        JobFilter { label_parts: vec!["nowhere".into()], ..all() },
        JobFilter { tool: Some("nothing".into()), ..all() },
        JobFilter { group: Some("default".into()), ..all() },
        JobFilter { tags: vec!["all".into()], ..all() },
        JobFilter { tags: vec!["even".into()], ..all() },
        JobFilter { tags: vec!["all".into(), "few".into()], ..all() },
        JobFilter { tags: vec!["all".into()], state: Some(JobState::Paused), ..all() },
        JobFilter { tags: vec!["nowhere".into()], ..all() },
        JobFilter { last: Some("failed"), ..all() },
        JobFilter { last: Some("completed"), ..all() },
    ];
    for state in [None, Some(JobState::Active), Some(JobState::Paused), Some(JobState::Cancelled)] {
        for trigger in [None, Some("webhook"), Some("manual"), Some("scheduled")] {
            filters.push(JobFilter { state, trigger, ..all() });
        }
    }
    filters
}

/// All pages of a list; what happens between them is given.
async fn walk(queries: &Queries, query: &JobQuery, between: impl AsyncFn()) -> Vec<Job> {
    let (mut found, mut query) = (Vec::new(), query.clone());
    loop {
        let page = queries.jobs(&query).await.unwrap();
        assert!(page.items.len() <= query.limit);
        found.extend(page.items);
        match page.next {
            Some(next) => query.after = Some(next.to_string().parse().unwrap()),
            None => return found,
        }
        between().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_jobs_costs_few_reads_whatever_is_looked_for() {
    let (_world, store, queries) = filled(MANY).await;
    let mut worst = (0, String::new());
    for filter in filters() {
        for order in ORDERS {
            let query = JobQuery { filter: filter.clone(), order, after: None, limit: PAGE };
            store.take_reads();
            let page = queries.jobs(&query).await.unwrap();
            let jobs: Vec<JobId> = page.items.iter().map(|job| job.id).collect();
            queries.recent_statuses(&jobs, 30).await.unwrap();
            let reads = store.take_reads();
            assert!(reads <= READS_MAX, "{reads} reads for {query:?}");
            worst = worst.max((reads, format!("{query:?}")));
        }
    }
    println!("at most {} reads, for {}", worst.0, worst.1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_list_of_jobs_holds_exactly_the_jobs_that_fit() {
    let (_world, store, queries) = filled(SOME).await;
    let all = walk(&queries, &JobQuery { limit: 1_000, ..JobQuery::default() }, async || {}).await;
    assert_eq!(all.len(), SOME);
    for is_old in [false, true] {
        if is_old {
            store.pretend_to_be_old();
        }
        // What a process knows of a store it remembers: another one looks anew.
        let queries = Queries::new(store.clone());
        for filter in filters() {
            let state = |job: &Job| filter.state.is_none_or(|state| job.state() == state);
            let trigger = |job: &Job| filter.trigger.is_none_or(|name| job.definition.trigger.name() == name);
            let tags = |job: &Job| filter.tags.iter().all(|tag| job.definition.tags.contains(tag));
            let tested = JobFilter {
                state: filter.state,
                trigger: filter.trigger,
                tags: filter.tags.clone(),
                ..JobFilter::default()
            };
            if filter != tested {
                continue;
            }
            for order in ORDERS {
                let query = JobQuery { filter: filter.clone(), order, after: None, limit: 170 };
                let found = walk(&queries, &query, async || {}).await;
                let is_there = |job: &Job| order != JobOrder::Next || job.next_wake(OUTBOX_FLUSH_DELAY).is_some();
                let wanted = all.iter().filter(|job| state(job) && trigger(job) && tags(job) && is_there(job)).count();
                let ids: BTreeSet<JobId> = found.iter().map(|job| job.id).collect();
                assert_eq!((found.len(), ids.len()), (wanted, wanted), "{filter:?} {order:?} {is_old}");
                let labels: Vec<&String> = found.iter().map(|job| &job.definition.label).collect();
                assert!(order != JobOrder::Label || labels.is_sorted(), "{filter:?}");
                assert!(order != JobOrder::Oldest || found.is_sorted_by_key(|job| job.id), "{filter:?}");
            }
        }
    }
    let report = ordo_engine::check::check(store.as_ref(), &mut |_| {}).await.unwrap();
    assert!(!report.is_clean(), "rows of the index by trigger are missing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_that_are_added_meanwhile_hide_none_and_double_none() {
    let world = World::new().await;
    let trigger = json!({ "type": "scheduled", "every": "24h" });
    let jobs: Vec<(JobId, Command)> =
        (0..40).map(|n| (JobId(new_id()), definition(&format!("{:02}", (n * 7) % 40), "noop", &trigger))).collect();
    let there: BTreeSet<JobId> = jobs.iter().map(|(id, _)| *id).collect();
    send(&world, jobs).await;
    let add = async || send(&world, vec![(JobId(new_id()), definition("05-new", "noop", &trigger))]).await;
    for order in ORDERS {
        for filter in [JobFilter::default(), JobFilter { state: Some(JobState::Active), ..JobFilter::default() }] {
            let query = JobQuery { filter, order, after: None, limit: 7 };
            let found: Vec<JobId> = walk(world.engine.queries(), &query, add).await.iter().map(|job| job.id).collect();
            assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), found.len(), "{query:?}");
            assert!(there.iter().all(|id| found.contains(id)), "{query:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_runs_costs_few_reads_whatever_is_looked_for_and_its_cursors_lose_none() {
    let world = World::new().await;
    let manual = json!({ "type": "manual" });
    let tool = |n: usize| if n.is_multiple_of(5) { "flaky" } else { "noop" };
    let jobs: Vec<(JobId, Command)> =
        (0..300).map(|n| (JobId(new_id()), definition("run", tool(n), &manual))).collect();
    let ids: Vec<JobId> = jobs.iter().map(|(id, _)| *id).collect();
    send(&world, jobs).await;
    let trigger = |id: &JobId| (*id, Command::Trigger { tool_input: None, traceparent: None });
    let twice = ids.iter().map(trigger).chain(ids[..60].iter().map(trigger));
    send(&world, twice.collect()).await;
    quiet(&world).await;
    let store = CountingStore::around(world.engine.queries().store());
    let queries = Queries::new(store.clone());
    let of = |status: &str| RunFilter { status: RunStatus::code_of(status), ..RunFilter::default() };
    let all = walk_runs(&queries, &RunFilter::default(), 37).await;
    let count = |filter: &RunFilter| all.iter().filter(|run| filter.fits(run)).count();
    assert!(all.len() >= 300 && count(&of("failed")) >= 60 && count(&of("completed")) >= 240);
    let mut filters: Vec<RunFilter> = RunStatus::NAMES.iter().map(|name| of(name)).collect();
    filters.push(RunFilter { job_id: Some(ids[0]), ..RunFilter::default() });
    filters.push(RunFilter { job_id: Some(ids[0]), ..of("completed") });
    let middle = all[all.len() / 2].fired_at;
    for times in [(Some(middle), None), (None, Some(middle)), (Some(middle), Some(middle.moved(5)))] {
        let (since, until) = times;
        filters.push(RunFilter { since, until, ..RunFilter::default() });
        filters.push(RunFilter { since, until, job_id: Some(ids[0]), ..RunFilter::default() });
        filters.push(RunFilter { since, until, ..of("failed") });
    }
    let text = |text: &str| Some(text.to_owned());
    filters.push(RunFilter { label: text("RU"), ..RunFilter::default() });
    filters.push(RunFilter { label: text("nowhere"), ..RunFilter::default() });
    filters.push(RunFilter { reason: text("no such reason"), ..RunFilter::default() });
    filters.push(RunFilter { executor: text("nobody"), ..RunFilter::default() });
    filters.push(RunFilter { longer_than: Some(Millis::from_hours(9)), ..RunFilter::default() });
    filters.push(RunFilter { shorter_than: Some(Millis::from_hours(9)), ..RunFilter::default() });
    let executor = all.iter().find_map(|run| run.executor.clone()).unwrap();
    filters.push(RunFilter { executor: Some(executor), ..RunFilter::default() });
    for filter in filters {
        store.take_reads();
        queries.runs(&filter, None, PAGE).await.unwrap();
        let reads = store.take_reads();
        assert!(reads <= READS_MAX, "{reads} reads for {filter:?}");
        let found: BTreeSet<_> = walk_runs(&queries, &filter, 7).await.iter().map(|run| run.id).collect();
        assert_eq!(found.len(), count(&filter), "{filter:?}");
    }
    store.take_reads();
    let recent = queries.recent_runs(&ids[..PAGE], 30).await.unwrap();
    assert_eq!(store.take_reads(), 2);
    let statuses = queries.recent_statuses(&ids[..PAGE], 30).await.unwrap();
    assert_eq!(store.take_reads(), 2);
    let kinds = recent.iter().map(|runs| runs.iter().map(|run| run.status.kind()).collect()).collect::<Vec<Vec<_>>>();
    assert_eq!(statuses, kinds);
    for (job, runs) in ids[..PAGE].iter().zip(recent) {
        assert!(!runs.is_empty() && runs.iter().all(|run| run.job_id == *job) && runs.is_sorted_by(|a, b| a.id > b.id));
    }
}

/// Its events are mostly those of runs: what it was is found without going through them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_definitions_of_a_job_cost_no_more_reads_however_often_it_ran() {
    let world = World::new().await;
    let job = world.add(json!({ "label": "busy", "tool_name": "noop", "trigger": { "type": "manual" } })).await;
    let patch = json!({ "priority": 9, "block": "concurrent" }).as_object().unwrap().clone();
    send(&world, vec![(job.id, Command::Update { patch, if_revision: None, if_followed: None })]).await;
    for _ in 0..10 {
        let trigger = |_| (job.id, Command::Trigger { tool_input: None, traceparent: None });
        send(&world, (0..100).map(trigger).collect()).await;
        quiet(&world).await;
    }
    let store = CountingStore::around(world.engine.queries().store());
    let queries = Queries::new(store.clone());
    let now = queries.load_jobs(&[job.id]).await.unwrap().remove(0).unwrap();
    assert!(now.version > 2_000, "it has {} events", now.version);
    store.take_reads();
    let found = queries.revisions(&now).await.unwrap();
    assert_eq!(store.take_reads(), 1);
    assert_eq!(
        found.kept.iter().map(|one| (one.revision, one.definition.priority)).collect::<Vec<_>>(),
        [(2, 9), (1, 5)]
    );
    assert!(!found.is_cut);
}

/// The picture of a time: however many runs it holds, two reads, and no run is counted twice or not at all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_histogram_of_runs_costs_two_reads_and_counts_each_run_once_or_says_that_there_are_more() {
    let world = World::new().await;
    let manual = json!({ "type": "manual" });
    let jobs: Vec<(JobId, Command)> = (0..300)
        .map(|n: usize| {
            (JobId(new_id()), definition("run", if n.is_multiple_of(5) { "flaky" } else { "noop" }, &manual))
        })
        .collect();
    let ids: Vec<JobId> = jobs.iter().map(|(id, _)| *id).collect();
    send(&world, jobs).await;
    let trigger = |id: &JobId| (*id, Command::Trigger { tool_input: None, traceparent: None });
    send(&world, ids.iter().map(trigger).collect()).await;
    quiet(&world).await;
    let store = CountingStore::around(world.engine.queries().store());
    let queries = Queries::new(store.clone());
    let all = walk_runs(&queries, &RunFilter::default(), 100).await;
    let (newest, oldest) = (all[0].fired_at, all[all.len() - 1].fired_at);
    // Narrow bins around what was fired, and one bin that holds everything.
    let wide = BinnedWindow { from: oldest.moved(-1_000), bin: Millis::from_days(1), bins: 1 };
    let span = newest.since(oldest).ms() + 1;
    let narrow = BinnedWindow { from: oldest, bin: Millis::from_ms(span.div_ceil(60).max(1)), bins: 60 };
    for filter in [
        RunFilter::default(),
        RunFilter { status: RunStatus::code_of("failed"), ..RunFilter::default() },
        RunFilter { job_id: Some(ids[0]), ..RunFilter::default() },
        RunFilter { label: Some("nowhere".to_owned()), ..RunFilter::default() },
    ] {
        let fitting = all.iter().filter(|run| filter.fits(run)).count();
        for window in [wide, narrow] {
            store.take_reads();
            let bins = queries.run_histogram(&filter, window).await.unwrap();
            assert!(store.take_reads() <= 2, "{filter:?}");
            let total: usize = bins.iter().map(|bin| bin.total() as usize).sum();
            let is_exact = bins.iter().all(|bin| bin.seen_from.is_none());
            assert!(if is_exact { total == fitting } else { total <= fitting }, "{total} of {fitting}: {filter:?}");
            assert!(bins.iter().all(|bin| bin.total() as usize <= RUNS_PER_BIN));
        }
    }
    let cut = queries.run_histogram(&RunFilter::default(), wide).await.unwrap();
    assert!(cut[0].seen_from.is_some_and(|seen| seen >= oldest) && cut[0].total() as usize == RUNS_PER_BIN);
    store.take_reads();
    let window = queries.runs_under_way(&RunFilter::default(), oldest, newest.moved(1)).await.unwrap();
    assert!(store.take_reads() <= READS_MAX && !window.is_cut && window.seen_from.is_none());
    assert_eq!(window.runs.len(), all.len());
    let later =
        queries.runs_under_way(&RunFilter::default(), newest.moved(60_000), newest.moved(90_000)).await.unwrap();
    assert!(later.runs.is_empty(), "what ended before is not under way");
}

async fn walk_runs(queries: &Queries, filter: &RunFilter, limit: usize) -> Vec<Run> {
    let (mut found, mut after): (Vec<Run>, Option<Cursor>) = (Vec::new(), None);
    loop {
        let page = queries.runs(filter, after.as_ref(), limit).await.unwrap();
        found.extend(page.items);
        match page.next {
            Some(next) => after = Some(next.to_string().parse().unwrap()),
            None => return found,
        }
    }
}

/// Waits until no run is under way.
async fn quiet(world: &World) {
    let mut watch = world.engine.watch();
    let look = async {
        loop {
            let mut under_way = 0;
            for status in ["pending", "running"] {
                let filter = RunFilter { status: RunStatus::code_of(status), ..RunFilter::default() };
                under_way += world.engine.queries().runs(&filter, None, 1).await.unwrap().items.len();
            }
            if under_way == 0 {
                return;
            }
            drop(watch.recv().await);
        }
    };
    tokio::time::timeout(Duration::from_secs(60), look).await.expect("the runs never ended");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cursor_of_another_list_is_refused() {
    let world = World::new().await;
    for _ in 0..3 {
        world.add(ordo_engine::testing::manual("noop", &Value::Null)).await;
    }
    let queries = world.engine.queries();
    let by_label = JobQuery { limit: 1, ..JobQuery::default() };
    let cursor = queries.jobs(&by_label).await.unwrap().next;
    let by_age = JobQuery { order: JobOrder::Oldest, after: cursor.clone(), ..by_label.clone() };
    assert!(!by_age.accepts(cursor.as_ref().unwrap()) && by_label.accepts(cursor.as_ref().unwrap()));
    assert!(matches!(queries.jobs(&by_age).await, Err(Fault::NotAPosition { .. })));
    let runs = queries.runs(&RunFilter::default(), cursor.as_ref(), 1).await;
    assert!(matches!(runs, Err(Fault::NotAPosition { .. })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_hooks_costs_few_reads_however_many_hooks_it_shows() {
    let world = World::new().await;
    let slugs: Vec<String> = (0..PAGE).map(|n| format!("hook-{n:03}")).collect();
    for (n, slug) in slugs.iter().enumerate() {
        let terms = HookTerms { verify: None, filter: None, max_bytes: 1_000 };
        let add = HookCommand::Add { slug: slug.clone(), terms };
        world.engine.command::<Hook>(Hook::id(slug).id, add).await.unwrap();
        let trigger = json!({ "type": "webhook", "hook": slug });
        send(&world, (0..n % 3).map(|_| (JobId(new_id()), definition(slug, "noop", &trigger))).collect()).await;
        for sender_id in 0..n % 5 {
            world.engine.receive(arrival(slug, sender_id)).await.unwrap();
        }
    }
    let store = CountingStore::around(world.engine.queries().store());
    let queries = Queries::new(store.clone());
    let page = queries.objects::<Hook>(&IndexRange::all(0, PAGE)).await.unwrap();
    let shown: Vec<&str> = page.items.iter().map(|hook| hook.slug.as_str()).collect();
    assert_eq!(shown, slugs);
    let listeners = queries.listeners_of(&shown).await.unwrap();
    let deliveries = queries.last_deliveries(&shown, 3).await.unwrap();
    let reads = store.take_reads();
    assert!(reads <= READS_MAX, "{reads} reads for {PAGE} hooks");

    for (n, slug) in shown.iter().enumerate() {
        assert_eq!(listeners[n].len(), n % 3, "{slug}");
        assert_eq!(listeners[n], queries.listeners(slug).await.unwrap(), "{slug}");
        assert_eq!(deliveries[n].len(), (n % 5).min(3), "{slug}");
        assert!(deliveries[n].iter().all(|delivery| delivery.hook == *slug), "{slug}");
        assert!(deliveries[n].is_sorted_by(|newer, older| newer.received_at >= older.received_at), "{slug}");
    }
    assert!(queries.listeners_of(&[]).await.unwrap().is_empty());
    assert!(queries.last_deliveries(&[], 3).await.unwrap().is_empty());
}

/// More listeners than one read returns, beside a hook with one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_listener_of_every_hook_is_listed() {
    let world = World::new().await;
    let listen = |hook: &str| definition("listens", "noop", &json!({ "type": "webhook", "hook": hook }));
    send(&world, (0..1_001).map(|_| (JobId(new_id()), listen("many"))).collect()).await;
    send(&world, vec![(JobId(new_id()), listen("one"))]).await;
    let listeners = world.engine.queries().listeners_of(&["many", "none", "one"]).await.unwrap();
    assert_eq!(listeners.iter().map(Vec::len).collect::<Vec<_>>(), [1_001, 0, 1]);
    assert!(listeners[0].is_sorted());
}

fn arrival(hook: &str, sender_id: usize) -> Arrival {
    Arrival {
        replay_mark: None,
        hook: hook.to_owned(),
        sender_id: Some(sender_id.to_string()),
        headers: Vec::new(),
        content_type: None,
        body: "{}".into(),
        passes: true,
    }
}

/// The page of what fires soon: jobs by their own index, whatever else has alarms, in few reads however many there are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_fires_soon_costs_few_reads_and_says_what_it_left_out() {
    let (_world, store, queries) = filled(MANY).await;
    let far = ordo_model::Timestamp::MAX;
    let scheduled =
        JobQuery { filter: JobFilter { trigger: Some("scheduled"), ..JobFilter::default() }, ..JobQuery::default() };
    let all = walk(&queries, &scheduled, async || ()).await;
    let active: Vec<&Job> = all.iter().filter(|job| job.next_tick_at().is_some()).collect();
    store.take_reads();
    let whole = queries.upcoming(far, MANY, MANY).await.unwrap();
    let reads = store.take_reads();
    assert!(reads <= READS_MAX, "{reads} reads");
    assert!(whole.is_loaded() && whole.jobs.len() == active.len(), "{} of {}", whole.jobs.len(), active.len());
    let minute = |job: &Job| job.next_tick_at().unwrap().ms() / 60_000;
    assert!(whole.jobs.is_sorted_by_key(minute));
    let cut = queries.upcoming(far, 10, 100).await.unwrap();
    assert_eq!((cut.jobs.len(), cut.others.len(), cut.is_loaded()), (10, 90, false));
    assert!(cut.known_until.is_some_and(|until| until >= *cut.others.last().unwrap()));
    let near = queries.upcoming(ordo_model::Timestamp::from_ms(0).unwrap(), 10, 10).await.unwrap();
    assert!(near.jobs.is_empty() && near.is_loaded());
}

/// Incidents of every severity; one in ten is resolved, one in a hundred assigned.
async fn with_incidents(count: usize) -> (World, Arc<CountingStore>, Queries) {
    let world = World::new().await;
    let by = || By::new("ada", IncidentSource::Api);
    for n in 0..count {
        let start = StartIncident {
            title: format!("incident {n}"),
            description: String::new(),
            severity: Severity::ALL[n % Severity::ALL.len()],
            identifier: None,
            generation: 0,
            links: Vec::new(),
            escalation: None,
            by: by(),
        };
        let id = world.engine.start_incident(start, |_| CommitExtras::default()).await.unwrap().state.id;
        if n % 100 == 0 {
            let assign = IncidentCommand::SetAssignee { assignee: Some("ada".to_owned()), by: by() };
            world.engine.command::<Incident>(id, assign).await.unwrap();
        }
        if n % 10 == 0 {
            let resolve = IncidentCommand::UpdateStatus { status: IncidentStatus::Resolved, message: None, by: by() };
            world.engine.command::<Incident>(id, resolve).await.unwrap();
        }
    }
    let store = CountingStore::around(world.engine.queries().store());
    let queries = Queries::new(store.clone());
    (world, store, queries)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_incidents_costs_few_reads_whatever_is_looked_for_and_its_cursors_lose_none() {
    const INCIDENTS: usize = 1_000;
    let (_world, store, queries) = with_incidents(INCIDENTS).await;
    let all = IncidentFilter::default;
    for (filter, expected) in [
        (all(), INCIDENTS),
        (IncidentFilter { status: Some(IncidentStatus::Open), ..all() }, INCIDENTS - INCIDENTS / 10),
        (IncidentFilter { status: Some(IncidentStatus::Resolved), ..all() }, INCIDENTS / 10),
        (IncidentFilter { status: Some(IncidentStatus::Declined), ..all() }, 0),
        (IncidentFilter { severity: Some(Severity::ALL[0]), ..all() }, INCIDENTS / Severity::ALL.len()),
        (IncidentFilter { assignee: Some("ada".to_owned()), ..all() }, INCIDENTS / 100),
        (IncidentFilter { search: Some("INCIDENT 77".to_owned()), ..all() }, 11),
        (IncidentFilter { search: Some("nowhere".to_owned()), ..all() }, 0),
    ] {
        let (mut seen, mut after) = (BTreeSet::new(), None);
        loop {
            store.take_reads();
            let page = queries.incidents(&filter, after.as_ref(), PAGE).await.unwrap();
            let reads = store.take_reads();
            assert!(reads <= READS_MAX, "{reads} reads of {filter:?}");
            for incident in &page.items {
                assert!(seen.insert(incident.id), "twice: {filter:?}");
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(seen.len(), expected, "{filter:?}");
    }
    store.take_reads();
    let worked_on = queries.worked_on(PAGE).await.unwrap();
    let reads = store.take_reads();
    assert!(reads <= READS_MAX, "{reads} reads of what is worked on");
    assert_eq!((worked_on.count, worked_on.worst.len()), (INCIDENTS - INCIDENTS / 10, PAGE));
    assert!(worked_on.worst.iter().all(|incident| incident.severity == Severity::ALL[0]));
}
