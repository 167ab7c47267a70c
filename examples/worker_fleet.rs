//! A fleet of workers that share each run: a broadcast gives every worker of the group its part, and the run is over when all
//! parts are. Here each worker warms its share of the cache after a deployment.
//!
//!     ORDO_TOKEN=$(cat .ordo/token) cargo run -p ordo --example worker_fleet -- http://127.0.0.1:7070       # on each machine
//!     ordo job add warm-caches --group fleet --tool warm --routing sharding_broadcast --input '{"pages": 12}'
//!     ordo job trigger warm-caches --wait
//!
//! With a number besides, so many workers live in this process, one broadcast is played, and it ends: that is how it is tested.

use std::time::Duration;

use ordo_client::executor::{Assigned, ExecutorOffer, RemoteExecutor, RunLog, RunOutcome, handler};
use ordo_client::{Client, Error, Target};
use serde_json::{Value, json};

/// Pages are dealt out like cards: nobody needs to know who the others are, only how many.
async fn warm(run: Assigned, log: RunLog) -> RunOutcome {
    let Some(pages) = run.tool_input["pages"].as_u64() else {
        return RunOutcome::Failed("the input needs a number of pages".into());
    };
    let (index, total) = run.shard.map_or((0, 1), |shard| (u64::from(shard.index), u64::from(shard.total)));
    let mine: Vec<u64> = (0..pages).filter(|page| page % total == index).collect();
    for page in &mine {
        if run.cancel.is_cancelled() {
            return RunOutcome::Failed("told to stop".into());
        }
        log.line(&format!("page {page}"));
    }
    RunOutcome::Completed(json!({ "warmed": mine }))
}

fn worker(client: &Client, name: String) -> RemoteExecutor {
    let offer = ExecutorOffer { name, group: "fleet".into(), tools: vec!["warm".into()], capacity: 2 };
    RemoteExecutor::new(client.clone(), offer).with_grace(Duration::from_secs(10))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().unwrap_or_else(|| "http://127.0.0.1:7070".into());
    let client = Client::new(Target::Http { url }, std::env::var("ORDO_TOKEN").ok().as_deref());
    match arguments.next().and_then(|count| count.parse().ok()) {
        Some(count) => played(&client, count).await,
        None => worker(&client, format!("fleet-{}", std::process::id())).run(handler(warm), interrupted()).await,
    }
}

async fn interrupted() {
    drop(tokio::signal::ctrl_c().await);
}

async fn played(client: &Client, count: usize) -> Result<(), Error> {
    let (leave, _) = tokio::sync::broadcast::channel::<()>(1);
    let fleet: Vec<_> = (0..count)
        .map(|number| {
            let (worker, mut left) = (worker(client, format!("fleet-{number}")), leave.subscribe());
            tokio::spawn(async move { worker.run(handler(warm), async move { drop(left.recv().await) }).await })
        })
        .collect();
    // The server's own executor is listed too.
    let of_fleet =
        |all: &Value| all["items"].as_array().into_iter().flatten().filter(|one| one["group"] == "fleet").count();
    wait(client, "/v1/executors", |all| of_fleet(all) == count).await?;
    let job = json!({
        "label": "warm-caches", "group": "fleet", "tool_name": "warm", "tool_input": { "pages": 12 },
        "routing": "sharding_broadcast", "idempotent": true, "trigger": { "type": "manual" },
    });
    let job: Value = client.post("/v1/jobs", &job).await?;
    let id = job["id"].as_str().unwrap_or_default().to_owned();
    let begun: Value = client.post_empty(&format!("/v1/jobs/{id}/trigger")).await?;
    let run = format!("/v1/runs/{}", begun["run_id"].as_str().unwrap_or_default());
    let whole = wait(client, &run, |run| run["finished_at"].is_string()).await?;
    let shards: Value = client.get(&format!("/v1/runs?job_id={id}")).await?;
    for shard in shards["items"].as_array().into_iter().flatten().filter(|run| run["shard"].is_object()) {
        println!("{} warmed {}", shard["executor"], shard["status"]["result"]["warmed"]);
    }
    println!("the broadcast {}", whole["status"]["type"].as_str().unwrap_or("is not over"));
    drop(leave.send(()));
    for worker in fleet {
        if let Ok(left) = worker.await {
            left?;
        }
    }
    Ok(())
}

/// Looks until it is so, for half a minute.
async fn wait(client: &Client, path: &str, is_so: impl Fn(&Value) -> bool) -> Result<Value, Error> {
    let mut seen = Value::Null;
    for _ in 0..300 {
        seen = client.get(path).await?;
        if is_so(&seen) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(seen)
}
