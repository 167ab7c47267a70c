//! The store: checked, copied and rebuilt, with and without a daemon.

mod copy_broken_off;
mod kurrentdb;
mod postgres;
mod sql;
mod submissions;

use crate::common::World;

fn with_some_history() -> (World, crate::common::Daemon) {
    let world = World::new();
    let daemon = world.serve();
    world.ordo(&["job", "add", "a", "--every", "1h", "--", "echo", "hi"]).done();
    world.ordo(&["job", "trigger", "a", "--wait"]).done();
    (world, daemon)
}

#[test]
fn a_running_daemon_looks_after_its_store() {
    let (world, _daemon) = with_some_history();
    assert!(world.ordo(&["store", "check"]).done().out.starts_with("clean: 2 streams,"));
    assert_eq!(world.json(&["store", "check"])["clean"], true);
    assert!(!world.file(".ordo/checking.db").exists(), "the copy is gone");
    assert!(!world.file(".ordo/checking.db-journal").exists(), "and what belongs to it");
    assert_eq!(world.json(&["store", "stats"])["entities"], 2, "the job and the token");
    world.ordo(&["store", "backup", "copy.db"]).done();
    world.ordo(&["store", "backup", "copy.db"]).refused(1, &["is there already"]);
    world.ordo(&["store", "backup", "no/such/copy.db"]).refused(1, &["does not exist"]);
    for verb in ["compact", "reindex"] {
        world.ordo(&["store", verb]).refused(1, &["a daemon has the store open", "stop it first"]);
    }
    world.ordo(&["store", "restore", "copy.db", "--replace"]).refused(1, &["stop it first"]);
    let held = world.ordo(&["store", "stats", "--store", ".ordo/orchestrator.db"]);
    held.refused(1, &["is held by process"]);
    // A backup is a store.
    assert!(world.ordo(&["store", "check", "--store", "copy.db"]).done().out.starts_with("clean: 2 streams,"));
}

#[test]
fn without_a_daemon_the_file_is_looked_after() {
    let (world, daemon) = with_some_history();
    assert_eq!(daemon.stop().0, 0);
    assert!(world.ordo(&["store", "check"]).done().out.starts_with("clean"));
    assert!(world.ordo(&["store", "stats"]).done().out.contains("redb"));
    assert!(world.ordo(&["store", "reindex"]).done().out.contains("rebuilt"));
    assert!(world.ordo(&["store", "compact"]).done().out.contains("compacted"));
    world.ordo(&["store", "backup", "copy.db"]).done();
    world.ordo(&["store", "check", "--store", "nowhere.db"]).refused(1, &["there is no store at"]);
    assert!(!world.file("nowhere.db").exists(), "looking makes no file");
    assert!(world.ordo(&["store", "check"]).done().out.starts_with("clean"));
}

#[test]
fn what_a_killed_daemon_had_acknowledged_is_found_in_its_journal() {
    let (world, daemon) = with_some_history();
    daemon.kill();
    let journal = world.file(".ordo/orchestrator.db-journal");
    // Alone, the file is not all there is.
    world.ordo(&["store", "restore", ".ordo/orchestrator.db", "--store", "alone.db"]).refused(1, &["journal"]);
    let stats = world.json(&["store", "stats"]);
    assert!(stats["journal"]["recovered_records"].as_u64().unwrap() > 0, "{stats}");
    // Whoever looked has closed it: now the file is whole.
    std::fs::remove_dir_all(&journal).unwrap();
    assert!(world.ordo(&["store", "check"]).done().out.starts_with("clean: 2 streams,"));
    let compacted = world.json(&["store", "compact"]);
    assert!(compacted["bytes_after"].as_u64() <= compacted["bytes_before"].as_u64(), "{compacted}");
    assert_eq!(world.json(&["store", "stats"])["journal"]["recovered_records"], 0);
}

#[test]
fn a_backup_takes_the_stores_place_and_the_old_one_is_kept() {
    let (world, daemon) = with_some_history();
    world.ordo(&["store", "backup", "copy.db"]).done();
    world.ordo(&["job", "add", "newer", "--every", "1h", "--", "true"]).done();
    assert_eq!(daemon.stop().0, 0);
    world.ordo(&["store", "restore", "copy.db"]).refused(1, &["--replace"]);
    let output = world.ordo(&["store", "restore", "copy.db", "--replace"]).done().out;
    assert!(output.contains("before-restore"), "{output}");
    let daemon = world.serve();
    let labels: Vec<String> =
        world.json(&["job", "list"]).as_array().unwrap().iter().map(|job| job["label"].to_string()).collect();
    assert_eq!(labels, ["\"a\""]);
    assert_eq!(world.ordo(&["run", "logs", "a"]).done().out, "hi\n");
    drop(daemon);
    world.write("junk.db", "not a store");
    world.ordo(&["store", "restore", "junk.db", "--replace"]).refused(1, &["not an Ordo store"]);
    world.ordo(&["store", "restore", "missing.db"]).refused(1, &[]);
    assert!(world.ordo(&["store", "check"]).done().out.starts_with("clean"), "the store is as it was");
    // Into a folder that never had one.
    let fresh = World::new();
    fresh.ordo(&["store", "restore", world.file("copy.db").to_str().unwrap()]).done();
    assert!(fresh.ordo(&["store", "check"]).done().out.starts_with("clean: 2 streams,"));
}
