//! Readers do not keep the scheduler waiting: what is due begins in time beside hundreds of streams.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ordo_client::{Client, Target};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::common::{World, eventually};

const STREAMS: usize = 500;
const STREAMS_PER_TOKEN: usize = 100;
/// So much is there to be read from the beginning.
const JOBS: usize = 5_000;
const MEASURED: usize = 30;
/// Lateness below this is no lateness on a machine that others use too.
const FLOOR_MS: u64 = 250;

/// The worst lateness of the runs since `since`, but for the three worst of them: others use the machine.
fn lateness(world: &World, since: usize) -> (u64, usize) {
    let runs = eventually("it ran often enough", || {
        let runs = world.runs("beat");
        (runs.len() >= since + MEASURED).then_some(runs)
    });
    let newest = runs.iter().take(runs.len() - since);
    let mut late: Vec<u64> = newest.filter_map(|run| run["lateness_ms"].as_u64()).collect();
    late.sort_unstable();
    (late[late.len() - 4], runs.len())
}

/// Reads events from the oldest on, for as long as they come.
async fn read(place: String, token: String, begun: Arc<AtomicUsize>) {
    let mut stream = TcpStream::connect(place.trim_start_matches("http://")).await.unwrap();
    let head = "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream";
    stream.write_all(format!("{head}\r\nAuthorization: Bearer {token}\r\n\r\n").as_bytes()).await.unwrap();
    let mut part = vec![0; 64 * 1024];
    let first = stream.read(&mut part).await.unwrap();
    assert!(part[..first].starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&part[..first]));
    begun.fetch_add(1, Ordering::Relaxed);
    while stream.read(&mut part).await.is_ok_and(|length| length > 0) {}
}

#[test]
fn what_is_due_begins_in_time_beside_five_hundred_streams() {
    let world = World::new();
    let daemon = world.serve();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let admin = Client::new(Target::Http { url: daemon.place.clone() }, Some(world.read(".ordo/token").trim()));
    let manual = |n: usize| json!({ "label": format!("j{n}"), "tool_name": "noop", "trigger": { "type": "manual" } });
    let jobs: Vec<Value> = (0..JOBS).map(manual).collect();
    runtime.block_on(admin.post::<Value, _>("/v1/jobs/batch", &json!({ "jobs": jobs }))).unwrap();
    world.ordo(&["job", "add", "beat", "--every", "100ms", "--tool", "noop"]).done();
    let (alone, counted) = lateness(&world, 0);

    let tokens = (0..STREAMS / STREAMS_PER_TOKEN)
        .map(|n| text(&world.json(&["token", "add", &format!("reader-{n}"), "--role", "viewer"])["token"]));
    let tokens: Vec<String> = tokens.collect();
    let place = daemon.place.clone();
    let begun = Arc::new(AtomicUsize::new(0));
    let counter = begun.clone();
    let readers = std::thread::spawn(move || {
        runtime.block_on(async move {
            let mut streams = JoinSet::new();
            for n in 0..STREAMS {
                streams.spawn(read(place.clone(), tokens[n / STREAMS_PER_TOKEN].clone(), counter.clone()));
            }
            drop(streams.join_all().await);
        });
    });
    eventually("all read", || (begun.load(Ordering::Relaxed) == STREAMS).then_some(()));
    // From here on all of them are there.
    let counted = world.runs("beat").len().max(counted);
    let (beside, _) = lateness(&world, counted);
    assert!(beside <= (2 * alone).max(FLOOR_MS), "{beside} ms late beside {STREAMS} streams, {alone} ms without");
    daemon.kill();
    readers.join().unwrap();
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
