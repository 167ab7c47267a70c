//! An executor dies at each step of the protocol: no run is lost, none is done twice.

use serde_json::{Value, json};

use crate::common::World;
use crate::{Worker, eventually, over};

/// Somebody who speaks the protocol by hand, and stops speaking whenever the story wants.
struct Hand<'a> {
    world: &'a World,
    runtime: tokio::runtime::Runtime,
}

impl Hand<'_> {
    fn of(world: &World) -> Hand<'_> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Hand { world, runtime }
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.runtime.block_on(self.world.client().post(path, body)).unwrap()
    }

    fn register(&self, name: &str) -> String {
        let offer = json!({ "name": name, "group": name, "tools": ["shell"], "capacity": 4 });
        self.post("/v1/executors", &offer)["id"].as_str().unwrap().to_owned()
    }

    fn poll(&self, executor: &str) -> Value {
        let polled = self.post(&format!("/v1/executors/{executor}/poll"), &json!({ "max": 1, "wait_ms": 5_000 }));
        polled["runs"][0].clone()
    }
}

fn add(world: &World, label: &str, more: &[&str]) {
    let job = ["job", "add", label, "--group", label, "--backoff", "10ms"];
    world.ordo(&[&job, more, &["--", "sh", "-c", "echo $ORDO_RUN_ID >> done"]].concat()).done();
    world.ordo(&["job", "trigger", label]).done();
}

#[test]
fn an_executor_killed_at_each_step_of_the_protocol() {
    let world = World::new();
    let daemon = world.serve();
    let hand = Hand::of(&world);
    // Before it polls: nobody has seen the run; another gets it, and it is the first to begin it.
    hand.register("unpolled");
    add(&world, "unpolled", &[]);
    // After the poll, without a word: what it did is unknown.
    let silent = hand.register("silent");
    add(&world, "silent", &[]);
    assert!(hand.poll(&silent)["run_id"].is_string());
    let harmless = hand.register("harmless");
    add(&world, "harmless", &["--idempotent", "--retry", "1"]);
    let run = hand.poll(&harmless);
    // Before its report: the report comes when the run is no longer its own.
    let late = hand.register("late");
    add(&world, "late", &[]);
    let late_run = hand.poll(&late);
    // During its report: said, and the answer never heard; saying it again changes nothing.
    let deaf = hand.register("deaf");
    add(&world, "deaf", &[]);
    let deaf_run = hand.poll(&deaf);
    let report = |run: &Value| {
        let status = json!({ "type": "completed", "result": "by hand" });
        let one = json!({ "run_id": run["run_id"], "token": run["token"], "status": status });
        hand.post("/v1/runs/report", &json!({ "reports": [one] }))["results"][0]["status"].clone()
    };
    assert_eq!((report(&deaf_run), report(&deaf_run)), (json!(200), json!(409)));
    assert_eq!(over(&world, "deaf")["status"]["result"], "by hand");

    let heirs: Vec<Worker> =
        ["unpolled", "harmless"].map(|group| Worker::ordo(&world, &daemon, &["--group", group])).into();
    assert_eq!(over(&world, "unpolled")["status"]["type"], "completed");
    let lost = over(&world, "silent");
    assert_eq!(lost["status"]["type"], "failed");
    assert!(lost["status"]["reason"].as_str().unwrap().contains("silent was lost"), "{lost}");
    assert_eq!(over(&world, "late")["status"]["type"], "failed");
    assert_eq!(report(&late_run), 409, "what was settled stays settled");
    let again = over(&world, "harmless");
    assert_eq!((again["status"]["type"].as_str(), again["attempt"].as_u64()), (Some("completed"), Some(2)));
    assert_eq!(report(&run), 409);
    let done = world.read("done");
    assert_eq!(done.lines().count(), 2, "each that was done was done once: {done}");
    eventually("the dead are listed as lost", || {
        let lost = crate::listed(&world).iter().filter(|executor| executor["state"] == "lost").count();
        (lost == 5).then_some(())
    });
    drop(heirs);
    assert_eq!(daemon.stop().0, 0);
    assert!(world.ordo(&["store", "check"]).done().out.starts_with("clean"));
}
