//! The metrics: a page that Prometheus reads, numbers that are true, and no more of them with more jobs.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::Request;
use serde_json::json;

use crate::exposition::{Family, read};
use crate::world::World;

async fn scrape(world: &World) -> BTreeMap<String, Family> {
    let answer = world.send(Request::get("/metrics").body(Body::empty()).unwrap()).await;
    assert_eq!(answer.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    read(&answer.text)
}

#[tokio::test]
async fn every_end_of_a_run_is_counted_once() {
    let world = World::new().await;
    let quick = world.job(json!({})).await;
    for _ in 0..3 {
        let run = world.trigger(&quick).await;
        world.until(&run, "completed").await;
    }
    let failing = world.job(json!({ "tool_name": "fail" })).await;
    let run = world.trigger(&failing).await;
    world.until(&run, "failed").await;
    let endless = world.job(json!({ "tool_name": "hang", "block": "discard" })).await;
    let run = world.trigger(&endless).await;
    world.until(&run, "running").await;
    let skipped = world.trigger(&endless).await;
    world.until(&skipped, "skipped").await;
    world.order(&format!("/v1/runs/{run}/cancel")).await.expect(202);
    world.until(&run, "cancelled").await;
    world.eventually(async || scrape(&world).await["ordo_runs_cancelled_total"].value() == 1.0).await;

    let told = scrape(&world).await;
    assert_eq!(told["ordo_runs_triggered_total"].value(), 5.0);
    assert_eq!(told["ordo_runs_completed_total"].value(), 3.0);
    assert_eq!(told["ordo_runs_failed_total"].value(), 1.0);
    assert_eq!(told["ordo_occurrences_skipped_total"].labelled("overlap"), 1.0);
    assert_eq!(told["ordo_occurrences_skipped_total"].labelled("misfire"), 0.0);
    assert_eq!(told["ordo_run_duration_seconds"].count(), 5.0);
    assert_eq!(told["ordo_run_lateness_seconds"].count(), 0.0, "a run that was asked for cannot be late");
    assert_eq!(told["ordo_commit_seconds"].count(), told["ordo_commit_orders"].count());
    assert!(told["ordo_commit_seconds"].count() >= 10.0);
    assert_eq!(told["ordo_commit_faults_total"].value(), 0.0);
    assert_eq!(told["ordo_pool_running"].labelled("fast"), 0.0);
    assert!(told["ordo_store_bytes"].value() > 1_000.0);
    assert_eq!(told["ordo_store_entities"].value(), 3.0);
    assert_eq!(told["ordo_build_info"].labelled(env!("CARGO_PKG_VERSION")), 1.0);
}

#[tokio::test]
async fn a_scheduled_run_says_how_late_it_was() {
    let world = World::new().await;
    world.job(json!({ "trigger": { "type": "scheduled", "every": "20ms" } })).await;
    world.eventually(async || scrape(&world).await["ordo_run_lateness_seconds"].count() >= 3.0).await;
    let told = scrape(&world).await;
    assert!(told["ordo_run_duration_seconds"].count() >= 3.0);
    assert_eq!(told["ordo_store_alarms"].value(), 1.0);
}

#[tokio::test]
async fn more_jobs_do_not_mean_more_metrics() {
    let series = |page: &BTreeMap<String, Family>| page.values().map(|family| family.samples.len()).sum::<usize>();
    let world = World::new().await;
    let before = scrape(&world).await;
    for at in 0..20 {
        let job = world.job(json!({ "label": format!("job-{at}") })).await;
        world.trigger(&job).await;
    }
    let after = scrape(&world).await;
    assert_eq!(series(&before), series(&after));
    let labels = after.values().flat_map(|family| &family.samples).flat_map(|(_, labels, _)| labels);
    for (name, _) in labels {
        assert!(["le", "pool", "reason", "version"].contains(&name.as_str()), "{name}");
    }
}
