//! What an executor hears at once, and what does not wait for one that is frozen.

use ordo_model::limits::{CONFIRM_AFTER, LEASE, OFFER};
use rustix::process::Signal;
use serde_json::Value;

use crate::common::{World, within};
use crate::{Worker, alive, eventually, listed};

/// The routings under which somebody else may have the run.
const CHOOSING: [&str; 6] = ["round", "random", "lfu", "lru", "failover", "busyover"];

/// What a busy machine may take for anything.
const SLACK_MS: i64 = 4_000;

fn moment(text: &Value) -> i64 {
    let at: ordo_model::Timestamp = text.as_str().unwrap().parse().unwrap();
    at.ms()
}

#[test]
fn a_frozen_executor_is_passed_over_when_it_does_not_take_an_offer() {
    let world = World::new();
    let daemon = world.serve();
    let frozen = Worker::ordo(&world, &daemon, &["--group", "gpu", "--name", "a"]);
    let _other = Worker::ordo(&world, &daemon, &["--group", "gpu", "--name", "b"]);
    eventually("both are there", || (alive(&world) == 2).then_some(()));
    for routing in CHOOSING {
        let add = ["job", "add", routing, "--group", "gpu", "--routing", routing, "--concurrent", "9", "--"];
        world.ordo(&[add.as_slice(), &["sh", "-c", "echo $ORDO_RUN_ID >> done"]].concat()).done();
    }
    frozen.signal(Signal::STOP);
    // Whoever was heard of a moment ago is taken at its word.
    eventually("it has not been heard of for a while", || {
        let all = world.json(&["executors"]).as_array().unwrap().clone();
        let seen = |name: &str| all.iter().find(|one| one["name"] == name).map(|one| moment(&one["seen_at"]));
        let now = all.iter().filter(|one| one["in_process"] == true).map(|one| moment(&one["seen_at"])).max()?;
        (now - seen("a")? > CONFIRM_AFTER.ms().cast_signed()).then_some(())
    });
    for routing in CHOOSING.iter().flat_map(|routing| [*routing; 3]) {
        world.ordo(&["job", "trigger", routing]).done();
    }
    let mut count = 0;
    for routing in CHOOSING {
        let runs = eventually(&format!("{routing} is done"), || {
            let runs = world.runs(routing);
            runs.iter().all(|run| run["status"]["type"] == "completed").then_some(runs)
        });
        for run in runs {
            assert_eq!(run["executor"], "b", "{run}");
            let took = moment(&run["finished_at"]) - moment(&run["fired_at"]);
            let bound = OFFER.ms().cast_signed() + SLACK_MS;
            assert!(took < bound, "{routing}: it waited for longer than an offer holds: {took} ms");
            count += 1;
        }
    }
    assert_eq!(count, 18);
    // When it goes on it begins nothing of what others have done meanwhile.
    frozen.signal(Signal::CONT);
    eventually("it is heard of again, or registers anew", || {
        listed(&world).iter().any(|one| one["name"] == "a" && one["state"] == "alive").then_some(())
    });
    world.ordo(&["job", "trigger", "round"]).done();
    eventually("all are done", || {
        world.runs("round").iter().all(|run| run["status"]["type"] == "completed").then_some(())
    });
    assert_eq!(world.read("done").lines().count(), 19, "each was done once");
}

#[test]
fn an_executor_that_is_full_hears_at_once_what_is_to_end() {
    let world = World::new();
    let daemon = world.serve();
    let _worker = Worker::ordo(&world, &daemon, &["--group", "gpu", "--name", "a", "--capacity", "1"]);
    let add = ["job", "add", "hang", "--group", "gpu", "--block", "cover", "--", "sh", "-c", "echo >> begun; sleep 64"];
    world.ordo(&add).done();
    let mut taken = Vec::new();
    for number in 1..=4 {
        world.ordo(&["job", "trigger", "hang"]).done();
        eventually("it runs", || (world.read("begun").lines().count() == number).then_some(()));
    }
    for run in world.runs("hang").iter().filter(|run| run["status"]["type"] == "cancelled") {
        taken.push(moment(&run["finished_at"]) - moment(&run["started_at"]));
    }
    // By heartbeats, every 5 s, three in a row take 7.5 s in the middle.
    assert_eq!(taken.len(), 3);
    println!("so many ms from the start of a run to its end by the next one: {taken:?}");
}

#[test]
fn silence_is_declared_a_lease_after_the_last_sign_of_life() {
    let world = World::new();
    let daemon = world.serve();
    let worker = Worker::ordo(&world, &daemon, &["--group", "gpu", "--name", "a"]);
    let add = ["job", "add", "hang", "--group", "gpu", "--", "sh", "-c", "echo >> begun; sleep 64"];
    world.ordo(&add).done();
    world.ordo(&["job", "trigger", "hang"]).done();
    eventually("it runs", || (world.read("begun").lines().count() == 1).then_some(()));
    worker.signal(Signal::STOP);
    let mut heard = 0;
    let run = within(LEASE.to_std() * 3, "it is lost", || {
        let there = listed(&world).into_iter().find(|one| one["name"] == "a" && one["state"] == "alive");
        heard = there.map_or(heard, |one| moment(&one["seen_at"]));
        let run = world.runs("hang").remove(0);
        (run["status"]["type"] == "failed").then_some(run)
    });
    assert!(run["status"]["reason"].as_str().unwrap().contains("was lost"), "{run}");
    let silence = moment(&run["finished_at"]) - heard;
    let lease = LEASE.ms().cast_signed();
    assert!((lease..lease + SLACK_MS).contains(&silence), "declared after {silence} ms");
}

#[test]
fn a_trivial_run_elsewhere_is_measured_beside_one_that_is_here() {
    let world = World::new();
    let daemon = world.serve();
    let _worker = Worker::ordo(&world, &daemon, &["--group", "gpu", "--name", "a"]);
    eventually("it is there", || (alive(&world) == 1).then_some(()));
    let mut took = Vec::new();
    for (label, group) in [("here", "default"), ("there", "gpu")] {
        world.ordo(&["job", "add", label, "--group", group, "--", "true"]).done();
        let mut lengths: Vec<i64> = (0..11)
            .map(|_| {
                world.ordo(&["job", "trigger", label]).done();
                let run = world.over(label);
                assert_eq!(run["status"]["type"], "completed", "{run}");
                moment(&run["finished_at"]) - moment(&run["fired_at"])
            })
            .collect();
        lengths.sort_unstable();
        took.push(lengths[lengths.len() / 2]);
    }
    println!("from trigger to end, in the middle: {} ms here, {} ms on an executor that dialled in", took[0], took[1]);
}
