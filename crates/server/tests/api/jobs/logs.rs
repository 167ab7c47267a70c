use ordo_client::{EventStream, SseEvent};
use ordo_engine::log_writer::line_seq;
use ordo_engine::logs::LogLine;
use ordo_model::LogStream;
use ordo_model::RunId;
use ordo_store::Chunk;
use serde_json::{Value, json};

use ordo_server::testing::{World, text, texts};

/// A run of `talk`, once it runs.
async fn talking(world: &World) -> String {
    let run = world.trigger(&world.job(json!({ "tool_name": "talk" })).await).await;
    world.until(&run, "running").await;
    run
}

async fn next(events: &mut EventStream) -> SseEvent {
    events.next().await.expect("the stream goes on").unwrap()
}

fn said(event: &SseEvent) -> String {
    text(&serde_json::from_str::<Value>(&event.data).unwrap()["text"])
}

#[tokio::test]
async fn a_followed_log_shows_each_line_once_and_ends_with_the_run() {
    let mut world = World::new().await;
    let client = world.socket();
    let run = talking(&world).await;
    let voice = world.voice.take().unwrap();
    let mut events = client.follow(&format!("/v1/runs/{run}/logs"), None).await.unwrap();
    for n in 0..3 {
        voice.send(format!("line {n}")).unwrap();
        let line = next(&mut events).await;
        assert_eq!((line.event.as_deref(), said(&line)), (Some("line"), format!("line {n}")));
        assert!(line.id.is_some());
    }
    drop(voice);
    let end = next(&mut events).await;
    assert_eq!(end.event.as_deref(), Some("end"));
    let ended: Value = serde_json::from_str(&end.data).unwrap();
    assert_eq!(ended["status"], json!({ "type": "completed", "result": "said" }));
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn a_follower_that_was_cut_off_goes_on_behind_the_last_line_it_saw() {
    let mut world = World::new().await;
    let client = world.socket();
    let run = talking(&world).await;
    let path = format!("/v1/runs/{run}/logs");
    let voice = world.voice.take().unwrap();
    for n in 0..10 {
        voice.send(format!("line {n}")).unwrap();
    }
    let mut events = client.follow(&path, None).await.unwrap();
    let mut last = None;
    for n in 0..4 {
        let line = next(&mut events).await;
        assert_eq!(said(&line), format!("line {n}"));
        last = line.id;
    }
    drop(events);
    let mut events = client.follow(&path, last).await.unwrap();
    for n in 4..10 {
        assert_eq!(said(&next(&mut events).await), format!("line {n}"));
    }
    voice.send("the last".into()).unwrap();
    drop(voice);
    let line = next(&mut events).await;
    assert_eq!(said(&line), "the last");
    assert_eq!(next(&mut events).await.event.as_deref(), Some("end"));
    let mut events = client.follow(&path, line.id).await.unwrap();
    assert_eq!(next(&mut events).await.event.as_deref(), Some("end"));
}

#[tokio::test]
async fn a_follower_hears_of_the_end_of_a_run_that_says_nothing() {
    let mut world = World::new().await;
    let client = world.socket();
    let run = world.trigger(&world.job(json!({ "tool_name": "hang" })).await).await;
    world.until(&run, "running").await;
    let mut events = client.follow(&format!("/v1/runs/{run}/logs?follow=true"), None).await.unwrap();
    world.order(&format!("/v1/runs/{run}/cancel")).await.expect(202);
    let end = next(&mut events).await;
    assert_eq!(end.event.as_deref(), Some("end"));
    assert!(end.data.contains("cancelled"), "{}", end.data);
}

#[tokio::test]
async fn a_follower_is_let_go_when_the_server_goes_down() {
    let mut world = World::new().await;
    let client = world.socket();
    let run = talking(&world).await;
    let mut events = client.follow(&format!("/v1/runs/{run}/logs"), None).await.unwrap();
    world.shutdown.cancel();
    assert!(events.next().await.is_none());
    world.listeners.pop().unwrap().await.unwrap();
}

#[tokio::test]
async fn a_log_is_read_in_pages() {
    let mut world = World::new().await;
    let run = talking(&world).await;
    let voice = world.voice.take().unwrap();
    for n in 0..120 {
        voice.send(format!("line {n}")).unwrap();
    }
    drop(voice);
    world.until(&run, "completed").await;
    let path = format!("/v1/runs/{run}/logs");
    let first = world.get(&path).await.expect(200);
    assert_eq!(texts(&first["items"], "text")[..2], ["line 0", "line 1"]);
    assert_eq!(first["items"].as_array().unwrap().len(), 50);
    let line = &first["items"][0];
    assert_eq!((&line["stream"], &line["attempt"]), (&json!("stdout"), &json!(1)));
    let cursor = text(&first["next_cursor"]);
    let rest = world.get(&format!("{path}?limit=200&cursor={cursor}")).await.expect(200);
    assert_eq!((rest["items"].as_array().unwrap().len(), &rest["next_cursor"]), (70, &json!(null)));
    assert_eq!(rest["items"][0]["text"], "line 50");
    world.get(&format!("{path}?cursor=x")).await.refused(422, "invalid_cursor");
    world.get(&format!("{path}?follow=perhaps")).await.refused(422, "invalid_query");
    let headers = [("last-event-id", "x"), ("accept", "text/event-stream")];
    world.with_headers("GET", &path, &headers, json!(null)).await.refused(400, "invalid_header");
}

/// Many small chunks, then a large one, in two attempts: the order of storage does not show.
#[tokio::test]
async fn no_line_is_lost_however_the_lines_lie_in_chunks() {
    let world = World::new().await;
    let run = world.trigger(&world.job(json!({ "tool_name": "hang" })).await).await;
    let id: RunId = run.parse().unwrap();
    let mut expected = Vec::new();
    for (attempt, sizes) in [(1, [vec![1; 150], vec![5_000]].concat()), (2, vec![3; 100])] {
        let mut place = 0;
        for size in sizes {
            let lines: Vec<LogLine> = (place..place + size).map(|n| line(&world, attempt, n)).collect();
            expected.extend(lines.iter().map(|line| line.text.clone()));
            let bytes = serde_json::to_vec(&lines).unwrap();
            world.engine.store_chunks(vec![Chunk { owner: id.0, seq: line_seq(attempt, place), bytes }]).await.unwrap();
            place += size;
        }
    }
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = world.get(&format!("/v1/runs/{run}/logs?limit=200{cursor}")).await.expect(200);
        found.extend(texts(&page["items"], "text"));
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(found.len(), expected.len());
    assert_eq!(found, expected);
}

fn line(world: &World, attempt: u32, n: u32) -> LogLine {
    LogLine { attempt, at: world.engine.clock().now(), stream: LogStream::Stdout, text: format!("{attempt}/{n}") }
}
