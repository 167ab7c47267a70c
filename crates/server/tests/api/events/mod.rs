//! Events: followed as they happen, from any place in the past.

mod streams;

use ordo_client::{EventStream, SseEvent};
use serde_json::{Value, json};

use ordo_server::testing::{World, text, texts};

async fn next(events: &mut EventStream) -> SseEvent {
    events.next().await.expect("the stream goes on").unwrap()
}

/// The next `count` events: each under its own position.
async fn take(events: &mut EventStream, count: usize) -> Vec<Value> {
    let mut taken = Vec::new();
    for _ in 0..count {
        let event = next(events).await;
        let received: Value = serde_json::from_str(&event.data).unwrap();
        assert_eq!((event.id, event.event), (Some(text(&received["position"])), None));
        taken.push(received);
    }
    taken
}

/// All events, read in pages.
async fn pages(world: &World, limit: usize) -> Vec<Value> {
    let (mut items, mut after) = (Vec::new(), String::new());
    loop {
        let page = world.get(&format!("/v1/events?limit={limit}{after}")).await.expect(200);
        items.extend(page["items"].as_array().unwrap().iter().cloned());
        match page["next_cursor"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return items,
        }
    }
}

#[tokio::test]
async fn all_events_are_read_in_pages_in_the_order_they_were_written() {
    let world = World::new().await;
    for n in 0..7 {
        world.job(json!({ "label": format!("j{n}") })).await;
    }
    let all = pages(&world, 3).await;
    let labels: Vec<String> = all.iter().map(|event| text(&event["data"]["definition"]["label"])).collect();
    assert_eq!(labels, ["j0", "j1", "j2", "j3", "j4", "j5", "j6"]);
    let stream = text(&all[0]["stream"]);
    assert_eq!(world.get(&format!("/v1/streams/{stream}")).await.expect(200)["items"][0], all[0]);
    let rest = world.get(&format!("/v1/events?cursor={}", text(&all[4]["position"]))).await.expect(200);
    assert_eq!(rest["items"], json!(all[5..]));
    assert_eq!(rest["next_cursor"], json!(null));
    let end = text(&all[6]["position"]);
    assert_eq!(world.get(&format!("/v1/events?after={end}")).await.expect(200)["items"], json!([]));
}

#[tokio::test]
async fn a_follower_receives_what_was_and_what_comes() {
    let mut world = World::new().await;
    let client = world.socket();
    let job = world.job(json!({})).await;
    let mut events = client.follow("/v1/events", None).await.unwrap();
    assert_eq!(take(&mut events, 1).await[0]["type"], "JobScheduled");
    for _ in 0..3 {
        let run = world.trigger(&job).await;
        world.until(&run, "completed").await;
        let received = take(&mut events, 3).await;
        assert_eq!(texts(&json!(received), "type"), ["JobTriggered", "JobStarted", "JobExecuted"]);
    }
    let position = text(&pages(&world, 200).await[3]["position"]);
    let mut later = client.follow(&format!("/v1/events?after={position}"), None).await.unwrap();
    assert_eq!(take(&mut later, 1).await[0]["version"], 5);
}

/// Connections are cut at many places while jobs keep coming: together they deliver every event once, in order.
#[tokio::test]
async fn a_follower_that_is_cut_off_again_and_again_misses_nothing_and_hears_nothing_twice() {
    let mut world = World::new().await;
    let client = world.socket();
    let engine = world.engine.clone();
    let definition = |n: u32| {
        let form = json!({ "label": format!("j{n}"), "tool_name": "noop", "trigger": { "type": "manual" } });
        serde_json::from_value(form).unwrap()
    };
    const JOBS: u32 = 400;
    let writer = tokio::spawn(async move {
        for n in 0..JOBS {
            engine.schedule(definition(n), false).await.unwrap();
        }
    });
    let (mut heard, mut last) = (Vec::new(), None::<String>);
    let mut patience = 0;
    while heard.len() < JOBS as usize {
        // The address keeps saying where it began, as a browser's does; the header comes first.
        let mut events = client.follow("/v1/events?after=", last.clone()).await.unwrap();
        patience = patience % 97 + 13;
        heard.extend(take(&mut events, patience.min(JOBS as usize - heard.len())).await);
        last = heard.last().map(|event| text(&event["position"]));
    }
    writer.await.unwrap();
    assert_eq!(heard, pages(&world, 200).await);
}

#[tokio::test]
async fn what_is_no_position_is_refused() {
    let world = World::new().await;
    let stream = ("accept", "text/event-stream");
    for path in ["/v1/events?after=x", "/v1/events?cursor=-1", "/v1/events?after=99999999999999999999"] {
        world.get(path).await.refused(422, "invalid_cursor");
        world.with_headers("GET", path, &[stream], json!(null)).await.refused(422, "invalid_cursor");
    }
    let headers = [("last-event-id", "x"), stream];
    world.with_headers("GET", "/v1/events", &headers, json!(null)).await.refused(400, "invalid_header");
    world.get("/v1/events?from=3").await.refused(422, "invalid_query");
}

#[tokio::test]
async fn followers_let_a_server_go_down() {
    let mut world = World::new().await;
    let client = world.socket();
    world.job(json!({})).await;
    let mut events = client.follow("/v1/events", None).await.unwrap();
    take(&mut events, 1).await;
    world.shutdown.cancel();
    assert!(events.next().await.is_none());
    world.listeners.pop().unwrap().await.unwrap();
}

/// Hints of the broadcast are lost while nobody reads; the store is not.
#[tokio::test]
async fn a_follower_that_lags_far_behind_receives_everything() {
    let mut world = World::new().await;
    let client = world.socket();
    let mut events = client.follow("/v1/events", None).await.unwrap();
    let job = || (ordo_model::JobId(ordo_engine::clock::new_id()), schedule());
    for _ in 0..5 {
        let answers = world.engine.submit_all((0..1_000).map(|_| job()).collect()).await;
        assert!(answers.iter().all(Result::is_ok));
    }
    let received = take(&mut events, 5_000).await;
    assert_eq!(received, pages(&world, 200).await);
}

fn schedule() -> ordo_model::job::Command {
    let form = json!({ "label": "many", "tool_name": "noop", "trigger": { "type": "manual" } });
    ordo_model::job::Command::Schedule { definition: Box::new(serde_json::from_value(form).unwrap()), held: false }
}
