//! Lists of jobs as people look for them, on a real store.

#![allow(clippy::unwrap_used)]

use ordo_engine::job_list::{JobFilter, JobOrder, JobQuery};
use ordo_engine::testing::{World, manual};
use ordo_model::JobId;
use ordo_model::job::{Command, Job, JobState};
use serde_json::json;

/// All pages of a list, one after the other.
async fn walk(world: &World, filter: &JobFilter, order: JobOrder, limit: usize) -> Vec<Job> {
    let mut found = Vec::new();
    let mut query = JobQuery { filter: filter.clone(), order, after: None, limit };
    loop {
        let page = world.engine.queries().jobs(&query).await.unwrap();
        found.extend(page.items);
        match page.next {
            // As a client has it: through its text.
            Some(next) => query.after = Some(next.to_string().parse().unwrap()),
            None => return found,
        }
    }
}

async fn labelled(world: &World, label: &str, trigger: serde_json::Value) -> JobId {
    world.add(json!({ "label": label, "tool_name": "noop", "trigger": trigger })).await.id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_job_is_met_once_in_every_order_whatever_the_size_of_a_page() {
    let world = World::new().await;
    for number in 0..23 {
        let hours = json!({ "type": "scheduled", "every": format!("{}h", 30 - number) });
        labelled(&world, &format!("job-{number:02}"), hours).await;
    }
    for limit in [1, 5, 23, 50] {
        for order in [JobOrder::Label, JobOrder::Next, JobOrder::Newest, JobOrder::Oldest] {
            let labels: Vec<String> = walk(&world, &JobFilter::default(), order, limit)
                .await
                .iter()
                .map(|j| j.definition.label.clone())
                .collect();
            let mut wanted: Vec<String> = (0..23).map(|number| format!("job-{number:02}")).collect();
            if matches!(order, JobOrder::Next | JobOrder::Newest) {
                wanted.reverse();
            }
            assert_eq!(labels, wanted, "{order:?} by {limit}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_narrows_by_all_that_is_said() {
    let world = World::new().await;
    let day = || json!({ "type": "scheduled", "every": "1d" });
    let backup = labelled(&world, "Backup-east", day()).await;
    labelled(&world, "backup-west", json!({ "type": "manual" })).await;
    labelled(&world, "report", day()).await;
    world.engine.submit(backup, Command::Pause { reason: None }).await.unwrap();
    let query = JobFilter { label_parts: vec!["backup".into()], ..JobFilter::default() };
    assert_eq!(walk(&world, &query, JobOrder::Label, 10).await.len(), 2);
    let query = JobFilter { state: Some(JobState::Paused), trigger: Some("scheduled"), ..query };
    assert_eq!(walk(&world, &query, JobOrder::Newest, 1).await.iter().map(|job| job.id).collect::<Vec<_>>(), [backup]);
    assert_eq!(world.engine.queries().count_jobs(JobState::Paused, 10).await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_is_found_by_its_tags_as_they_are_now() {
    let world = World::new().await;
    let tagged = |label: &str, tags: &[&str]| json!({ "label": label, "tool_name": "noop", "trigger": { "type": "manual" }, "tags": tags });
    let report = world.add(tagged("report", &["nightly", "team:billing"])).await.id;
    world.add(tagged("backup", &["nightly"])).await;
    world.add(tagged("mail", &["nightly-mail"])).await;
    let labels = async |tags: &[&str], order| {
        let filter = JobFilter { tags: tags.iter().map(|tag| (*tag).to_owned()).collect(), ..JobFilter::default() };
        walk(&world, &filter, order, 1).await.into_iter().map(|job| job.definition.label.clone()).collect::<Vec<_>>()
    };
    assert_eq!(labels(&["nightly"], JobOrder::Label).await, ["backup", "report"]);
    assert_eq!(labels(&["nightly", "team:billing"], JobOrder::Label).await, ["report"]);
    assert_eq!(labels(&["nightly"], JobOrder::Newest).await, ["backup", "report"]);
    assert_eq!(labels(&["night"], JobOrder::Label).await, [""; 0]);

    let changes = json!({ "label": "a-report", "tags": ["team:billing"] });
    let patch = changes.as_object().unwrap().clone();
    world.engine.submit(report, Command::Update { patch, if_revision: None, if_followed: None }).await.unwrap();
    assert_eq!(labels(&["nightly"], JobOrder::Label).await, ["backup"]);
    assert_eq!(labels(&["team:billing"], JobOrder::Label).await, ["a-report"]);
    world.engine.submit(report, Command::Cancel { reason: None }).await.unwrap();
    assert_eq!(labels(&["team:billing"], JobOrder::Oldest).await, ["a-report"], "a list shows cancelled jobs too");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_is_found_by_the_run_that_ended_last_and_only_once() {
    let world = World::new().await;
    let failing = world.add(manual("flaky", &json!({ "times": 100 }))).await.id;
    let mended = world.add(manual("flaky", &json!({ "times": 3 }))).await.id;
    for job in [failing, failing, mended, mended] {
        let run = world.trigger(job).await;
        world.over(run).await;
    }
    let query = JobFilter { last: Some("failed"), ..JobFilter::default() };
    let found: Vec<JobId> = walk(&world, &query, JobOrder::Label, 1).await.iter().map(|job| job.id).collect();
    assert_eq!(found, [failing]);
}
