//! The metrics: a page that Prometheus reads, numbers that are true, and no more of them with more jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use axum::body::Body;
use axum::http::Request;
use serde_json::json;

use crate::upkeep::exposition::{Family, read};
use ordo_server::testing::World;

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

    let metrics = scrape(&world).await;
    assert_eq!(metrics["ordo_runs_triggered_total"].value(), 5.0);
    assert_eq!(metrics["ordo_runs_completed_total"].value(), 3.0);
    assert_eq!(metrics["ordo_runs_failed_total"].value(), 1.0);
    assert_eq!(metrics["ordo_occurrences_skipped_total"].labelled("overlap"), 1.0);
    assert_eq!(metrics["ordo_occurrences_skipped_total"].labelled("misfire"), 0.0);
    assert_eq!(metrics["ordo_run_duration_seconds"].count(), 5.0);
    assert_eq!(metrics["ordo_run_lateness_seconds"].count(), 0.0, "a run that was asked for cannot be late");
    assert_eq!(metrics["ordo_commit_seconds"].count(), metrics["ordo_commit_commands"].count());
    assert!(metrics["ordo_commit_seconds"].count() >= 10.0);
    assert_eq!(metrics["ordo_commit_faults_total"].value(), 0.0);
    assert_eq!(metrics["ordo_pool_running"].labelled("fast"), 0.0);
    assert!(metrics["ordo_store_bytes"].value() > 1_000.0);
    assert_eq!(metrics["ordo_store_entities"].value(), 4.0, "three jobs and a token");
    assert_eq!(metrics["ordo_build_info"].labelled(env!("CARGO_PKG_VERSION")), 1.0);
    let release = ordo_model::zones::Zones::bundled().version().unwrap().to_owned();
    assert_eq!(metrics["ordo_tzdb_info"].labelled(&release), 1.0);
}

#[tokio::test]
async fn a_scheduled_run_says_how_late_it_was() {
    let world = World::new().await;
    world.job(json!({ "trigger": { "type": "scheduled", "every": "20ms" } })).await;
    world.eventually(async || scrape(&world).await["ordo_run_lateness_seconds"].count() >= 3.0).await;
    let metrics = scrape(&world).await;
    assert!(metrics["ordo_run_duration_seconds"].count() >= 3.0);
    assert_eq!(metrics["ordo_store_alarms"].value(), 1.0);
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
        assert!(["le", "outcome", "pool", "reason", "source", "version"].contains(&name.as_str()), "{name}");
    }
}

#[tokio::test]
async fn dashboard_alerts_and_documentation_name_only_what_there_is() {
    let world = World::new().await;
    let families = scrape(&world).await;
    let samples = families.values().flat_map(|family| &family.samples).map(|(name, ..)| name.as_str());
    let there: BTreeSet<&str> = families.keys().map(String::as_str).chain(samples).collect();
    for file in ["deploy/grafana/ordo.json", "deploy/prometheus/alerts.yml", "docs/operations.md"] {
        let text = text_of(file);
        let named = metrics_in(&text);
        assert!(named.len() >= 5, "{file} names hardly any: {named:?}");
        let unknown: Vec<_> = named.difference(&there).collect();
        assert!(unknown.is_empty(), "{file} names {unknown:?}");
    }
    let documented = text_of("docs/operations.md");
    for name in families.keys() {
        assert!(documented.contains(&format!("| `{name}` |")), "docs/operations.md does not name {name}");
    }
}

#[test]
fn the_dashboard_can_be_imported() {
    let board: serde_json::Value = serde_json::from_str(&text_of("deploy/grafana/ordo.json")).unwrap();
    let panels = board["panels"].as_array().unwrap();
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len(), "every panel has its own id");
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
        assert!(!panel["targets"].as_array().unwrap().is_empty(), "{}", panel["title"]);
        assert!(panel["targets"][0]["expr"].as_str().unwrap().contains("ordo_"), "{}", panel["title"]);
    }
}

fn text_of(file: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Every word that begins like a metric of ours.
fn metrics_in(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("ordo_")).collect()
}
