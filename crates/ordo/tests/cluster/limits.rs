//! What runs share is counted for all nodes together: concurrency keys and rates are never exceeded, whichever node starts a run
//! and whoever dies, and nothing of them leaks.
//!
//! Whether a key is exceeded is judged from outside: each run takes one of as many locks as there may be runs, which the kernel
//! frees when its process ends, and says so where it finds none.

use std::time::Duration;

use ordo_model::Timestamp;
use serde_json::{Value, json};

use crate::common::{Daemon, World, within};
use crate::database::Database;

const PATIENCE: Duration = Duration::from_secs(180);
const NAMES: [&str; 3] = ["a", "b", "c"];

struct Limited {
    worlds: Vec<World>,
    daemons: Vec<Option<Daemon>>,
    url: String,
    _database: Database,
}

impl Limited {
    fn start() -> Limited {
        let database = Database::start();
        let url = Database::url_on(database.port());
        let worlds: Vec<World> = NAMES.iter().map(|_| World::new()).collect();
        let mut cluster = Limited { worlds, daemons: Vec::new(), url, _database: database };
        cluster.daemons = (0..3).map(|which| Some(cluster.serve(which))).collect();
        cluster
    }

    fn serve(&self, which: usize) -> Daemon {
        self.worlds[which].serve_with(&["--node", NAMES[which], "--store", &self.url])
    }

    fn kill_and_restart(&mut self, which: usize) {
        self.daemons[which].take().unwrap().kill();
        self.daemons[which] = Some(self.serve(which));
    }

    /// Adds jobs that are due at once, through one of the nodes.
    fn add(&self, which: usize, jobs: &[Value]) {
        let client = self.worlds[which].client();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let added: Value = runtime.block_on(client.post("/v1/jobs/batch", &json!({ "jobs": jobs }))).unwrap();
        let results = added["results"].as_array().unwrap();
        assert!(results.len() == jobs.len() && results.iter().all(|one| one["id"].is_string()), "{added}");
    }

    /// All runs there are, once there are so many and all of them are over.
    fn all_over(&self, count: usize) -> Vec<Value> {
        within(PATIENCE, "all runs are over", || {
            let runs = self.worlds[0].json(&["run", "list", "--all"]);
            let runs = runs.as_array().unwrap();
            let is_over = |run: &&Value| !["pending", "running"].contains(&run["status"]["type"].as_str().unwrap());
            (runs.len() >= count && runs.iter().all(|run| is_over(&run))).then(|| runs.clone())
        })
    }

    /// When attempts of a job began, as it was committed.
    fn starts_of(&self, job: &str) -> Vec<i64> {
        let client = self.worlds[0].client();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let path = format!("/v1/streams/ordo-job-{job}?limit=200");
        let story: Value = runtime.block_on(client.get(&path)).unwrap();
        let started = story["items"].as_array().unwrap().iter().filter(|event| event["type"] == "JobStarted");
        started.map(|event| event["at"].as_str().unwrap().parse::<Timestamp>().unwrap().ms()).collect()
    }

    fn stop_and_check(mut self) {
        for daemon in self.daemons.drain(..).flatten() {
            let (code, said) = daemon.stop();
            assert_eq!(code, 0, "{said}");
        }
        // Who holds a key follows from the runs that are under way: a leak would be a row too many.
        let checked = self.worlds[0].ordo(&["store", "check", "--store", &self.url]).done();
        assert!(checked.out.starts_with("clean"), "{checked:?}");
    }
}

/// Takes one of `max` locks for a while.
fn script(folder: &World, max: usize) -> String {
    let path = folder.path().display();
    let slots: Vec<String> = (0..max).map(|slot| slot.to_string()).collect();
    format!(
        "cd {path}; for slot in {}; do exec 9>slot$slot; if flock -n 9; then echo $ORDO_NODE >> begun; sleep 0.3; \
         echo $ORDO_RUN_ID >> done; exit 0; fi; done; echo $ORDO_RUN_ID >> exceeded; exit 1",
        slots.join(" ")
    )
}

fn due_at_once(label: &str, input: &Value, more: &Value) -> Value {
    let mut job = json!({ "label": label, "tool_name": "shell", "tool_input": input, "trigger": { "type": "manual" } });
    for (name, value) in more.as_object().unwrap() {
        job[name] = value.clone();
    }
    job
}

#[test]
fn a_concurrency_key_is_one_for_all_nodes_and_leaks_nothing_when_they_die() {
    let mut cluster = Limited::start();
    let evidence = World::new();
    const JOBS: usize = 36;
    let job = |number: usize| {
        let input = json!({ "script": script(&evidence, 3), "env": { "TENANT": "acme" } });
        let limits = json!({
            "concurrency_key": { "key": "/env/TENANT", "max": 3 },
            "idempotent": true,
            "retry": { "max_attempts": 10, "backoff": "50ms" },
            "trigger": { "type": "scheduled", "at": in_a_moment(300 + 10 * number as u64) },
        });
        due_at_once(&format!("job-{number}"), &input, &limits)
    };
    // Each of the two dies while many of its round are still to come.
    let begun = || evidence.read("begun").lines().count();
    for (round, dying) in [1, 2].into_iter().enumerate() {
        let before = begun();
        for which in 0..3 {
            let first = (round * 3 + which) * JOBS / 6;
            cluster.add(which, &(first..first + JOBS / 6).map(job).collect::<Vec<Value>>());
        }
        within(PATIENCE, "some more have begun", || (begun() >= before + 5).then_some(()));
        cluster.kill_and_restart(dying);
    }
    let runs = cluster.all_over(JOBS);
    assert_eq!(evidence.read("exceeded"), "", "never more than three at once");
    assert!(runs.iter().all(|run| run["status"]["type"] == "completed"), "{runs:#?}");
    assert!(evidence.read("done").lines().count() >= JOBS);
    // Whoever died took no share of the key along.
    cluster.add(0, &[job(JOBS), job(JOBS + 1), job(JOBS + 2)]);
    cluster.all_over(JOBS + 3);
    cluster.stop_and_check();
}

#[test]
fn a_rate_is_one_for_all_nodes() {
    let mut cluster = Limited::start();
    const JOBS: usize = 24;
    let job = |number: usize| {
        let limits = json!({
            "rate_limit": { "key": "/env/TENANT", "limit": 4, "per": "1500ms" },
            "trigger": { "type": "scheduled", "at": in_a_moment(300 + number as u64) },
        });
        due_at_once(&format!("job-{number}"), &json!({ "script": "true", "env": { "TENANT": "acme" } }), &limits)
    };
    for which in 0..3 {
        let jobs: Vec<Value> = (0..JOBS / 3).map(|number| job(which * JOBS / 3 + number)).collect();
        cluster.add(which, &jobs);
    }
    cluster.kill_and_restart(1);
    let runs = cluster.all_over(JOBS);
    let mut starts: Vec<i64> = runs.iter().flat_map(|run| cluster.starts_of(run["job_id"].as_str().unwrap())).collect();
    starts.sort_unstable();
    assert_eq!(starts.len(), JOBS, "{runs:#?}");
    // Five starts never lie within the time of four.
    let closest = starts.windows(5).map(|five| five[4] - five[0]).min().unwrap();
    assert!(closest >= 1_500 - CLOCKS_DIFFER_MS, "{closest} ms: {starts:?}");
    cluster.stop_and_check();
}

/// The clocks of nodes follow the database's, within this.
const CLOCKS_DIFFER_MS: i64 = 20;

fn in_a_moment(ms: u64) -> Value {
    use ordo_engine::clock::{Clock, SystemClock};
    json!(SystemClock.now().plus(ordo_model::Millis::from_ms(ms)))
}

#[test]
fn a_job_runs_once_at_a_time_whichever_nodes_are_asked() {
    let cluster = Limited::start();
    let evidence = World::new();
    let serial = due_at_once("serial", &json!({ "script": script(&evidence, 1) }), &json!({ "block": "serial" }));
    let discard = due_at_once("discard", &json!({ "script": "sleep 2" }), &json!({ "block": "discard" }));
    cluster.add(0, &[serial, discard]);
    let trigger = |label: &str, times: usize| {
        std::thread::scope(|scope| {
            for number in 0..times {
                let world = &cluster.worlds[number % 3];
                scope.spawn(move || world.ordo(&["job", "trigger", label]));
            }
        });
    };
    trigger("serial", 9);
    trigger("discard", 6);
    let runs = cluster.all_over(9 + 1);
    assert_eq!(evidence.read("exceeded"), "", "never two at once");
    let ended = |label: &str, status: &str| {
        runs.iter().filter(|run| run["label"] == label && run["status"]["type"] == status).count()
    };
    assert_eq!(ended("serial", "completed"), 9, "{runs:#?}");
    // The first begins; what comes while it runs is skipped or refused.
    assert_eq!(ended("discard", "completed"), 1, "{runs:#?}");
    cluster.stop_and_check();
}

#[test]
fn changes_at_once_on_two_nodes_never_chain_jobs_into_a_ring() {
    let cluster = Limited::start();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let clients: Vec<_> = cluster.worlds.iter().map(World::client).collect();
    let mut accepted = [0; 4];
    runtime.block_on(async {
        for _ in 0..20 {
            let mut jobs = Vec::new();
            for label in ["a", "b", "c"] {
                let job = json!({ "label": label, "tool_name": "noop", "trigger": { "type": "manual" } });
                let made: Value = clients[0].post("/v1/jobs", &job).await.unwrap();
                jobs.push(made["id"].as_str().unwrap().to_owned());
            }
            let chain = async |node: usize, job: usize, after: usize| {
                let patch = json!({ "after": jobs[after] });
                let answer: Result<Value, _> =
                    clients[node].patch(&format!("/v1/jobs/{}", jobs[job]), &patch, None).await;
                usize::from(answer.is_ok())
            };
            let (a, b, c) = tokio::join!(chain(0, 0, 1), chain(1, 1, 2), chain(2, 2, 0));
            assert!(a + b + c < 3, "a ring was made");
            accepted[a + b + c] += 1;
        }
    });
    println!("of three changes so many were accepted, so often: {accepted:?}");
    assert!(accepted[2] + accepted[1] > 0, "{accepted:?}");
    cluster.stop_and_check();
}
