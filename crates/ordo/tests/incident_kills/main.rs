//! The real binary, killed again and again while people work on incidents: what was acknowledged is in state, log and
//! index, and was sent, in order and under one key.
//!
//! `ORDO_INCIDENT_CHANGES=1000` is the full proof; without it a short one runs. A failure prints its seed (`ORDO_SEED`):
//! with it the daemons live as long again, though they do not die between the same instructions.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ordo_client::Client;
use ordo_model::testing::{Chance, any_seed};
use serde_json::{Value, json};

use common::{World, within_async};

const CHANGES_DEFAULT: usize = 60;
/// So many changes are on their way when the daemon is killed.
const CHANGES_PER_LIFE: usize = 12;
const INCIDENTS: usize = 6;
const SETTLED_WITHIN: Duration = Duration::from_secs(60);

#[test]
fn whatever_moment_it_is_killed_in_no_acknowledged_change_is_lost_or_sent_out_of_order() {
    let asked = std::env::var("ORDO_INCIDENT_CHANGES").ok().and_then(|text| text.parse().ok());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(story(asked.unwrap_or(CHANGES_DEFAULT), Chance::new(any_seed())));
}

async fn story(changes: usize, mut chance: Chance) {
    let world = World::new();
    world.write("ordo.toml", "[senders.file]\npath = 'news.ndjson'\n");
    let mut acknowledged: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (mut asked, mut kills) = (0, 0_usize);
    while asked < changes {
        let daemon = world.serve();
        let work = tokio::spawn(lifetime(world.client(), asked));
        // At another moment in every lifetime: before, between and after the commits of its changes. It is this moment
        // that is drawn: nothing is waited for.
        tokio::time::sleep(Duration::from_millis(chance.between(0, 250))).await;
        daemon.kill();
        kills += 1;
        asked += CHANGES_PER_LIFE;
        for (id, text) in work.await.unwrap() {
            acknowledged.entry(id).or_default().push(text);
        }
    }
    let count: usize = acknowledged.values().map(Vec::len).sum();
    println!("{kills} kills, {count} of {asked} changes acknowledged");
    assert!(count > 0, "nothing was ever acknowledged");
    let daemon = world.serve();
    let client = world.client();
    let listed: BTreeSet<String> = settled(&client).await.iter().map(|incident| text(&incident["id"])).collect();
    for (id, texts) in &acknowledged {
        assert!(listed.contains(id), "{id} is not in the index");
        let shown = client.get::<Value>(&format!("/v1/incidents/{id}")).await.unwrap();
        let timeline = shown["timeline"].as_array().unwrap();
        for text in texts {
            assert!(timeline.iter().any(|event| event["data"]["text"] == text.as_str()), "{id} lost {text:?}");
        }
        check_sent(&world, id, timeline);
    }
    let (code, said) = daemon.stop();
    assert_eq!(code, 0, "{said}");
    assert!(world.ordo(&["store", "check"]).done().out.starts_with("clean"));
}

/// What one lifetime acknowledges: (incident, note).
async fn lifetime(client: Client, first: usize) -> Vec<(String, String)> {
    let mut acknowledged = Vec::new();
    for number in first..first + CHANGES_PER_LIFE {
        let start = json!({ "title": "down", "identifier": format!("thing-{}", number % INCIDENTS) });
        let Ok(incident) = client.post::<Value, _>("/v1/incidents", &start).await else { break };
        let (id, note) = (text(&incident["id"]), format!("note {number}"));
        let path = format!("/v1/incidents/{id}/notes");
        if client.post::<Value, _>(&path, &json!({ "text": note })).await.is_err() {
            break;
        }
        acknowledged.push((id, note));
    }
    acknowledged
}

/// All incidents, once nothing is left to be sent.
async fn settled(client: &Client) -> Vec<Value> {
    within_async(SETTLED_WITHIN, "nothing is left to be sent", async || {
        let all = client.get::<Value>("/v1/incidents?limit=200").await.unwrap()["items"].as_array().unwrap().clone();
        let waiting = client.get::<Value>("/v1/notifications?state=waiting").await.unwrap();
        let mut at_rest = waiting["items"] == json!([]);
        for one in &all {
            at_rest = at_rest && is_published(client, one).await;
        }
        if at_rest { Ok(all) } else { Err(format!("{waiting:#} {all:#?}")) }
    })
    .await
}

/// Behind what was handed on stands only bookkeeping: the marks themselves, and what senders keep in mind.
async fn is_published(client: &Client, incident: &Value) -> bool {
    let from = incident["published"]["through"].as_u64().unwrap_or(0) + 1;
    let path = format!("/v1/streams/{}?from={from}&limit=200", text(&incident["stream"]));
    let rest = client.get::<Value>(&path).await.unwrap();
    let types = rest["items"].as_array().unwrap().iter().map(|event| text(&event["type"]));
    types.into_iter().all(|kind| kind == "Published" || kind == "Remembered")
}

/// Every event of the timeline was sent at least once, under one key, and none before one that came before it.
fn check_sent(world: &World, id: &str, timeline: &[Value]) {
    let stream = format!("ordo-incident-{id}");
    let mut keys: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    for line in world.read("news.ndjson").lines() {
        // A line that the kill cut off is not the last word: it is sent again.
        let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
        if line["stream"] != stream.as_str() {
            continue;
        }
        let version = line["version"].as_u64().unwrap();
        let newest = keys.last_key_value().map_or(0, |(newest, _)| *newest);
        assert!(version >= newest, "{stream}: {version} was sent after {newest}");
        keys.entry(version).or_default().insert(text(&line["key"]));
    }
    for event in timeline {
        let sent = keys.get(&event["version"].as_u64().unwrap());
        assert_eq!(sent.map(BTreeSet::len), Some(1), "{stream}: {event}");
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("not a text: {value}")).to_owned()
}
