//! Jobs that belong together have a tag: they are listed by it, and changed together.

use serde_json::{Value, json};

use crate::common::World;

fn labels(jobs: &Value) -> Vec<&str> {
    jobs.as_array().unwrap().iter().map(|job| job["label"].as_str().unwrap()).collect()
}

#[test]
fn jobs_are_tagged_listed_and_changed_by_their_tags() {
    let world = World::new();
    let _daemon = world.serve();
    let add = |label: &str, tags: &[&str]| {
        let options = tags.iter().flat_map(|tag| ["--tag", *tag]);
        let words = ["job", "add", label, "--every", "1d"].into_iter().chain(options).chain(["--", "true"]);
        world.ordo(&words.collect::<Vec<_>>()).done();
    };
    add("invoices", &["team:billing", "nightly"]);
    add("backup", &["nightly"]);
    add("plain", &[]);

    let shown = world.ordo(&["job", "show", "invoices"]).done().out;
    assert!(shown.lines().any(|line| line.starts_with("tags") && line.ends_with("nightly team:billing")), "{shown}");
    assert!(!world.ordo(&["job", "show", "plain"]).done().out.contains("tags"));
    assert_eq!(world.json(&["job", "show", "invoices"])["tags"], json!(["nightly", "team:billing"]));

    assert_eq!(labels(&world.json(&["job", "list", "--tag", "nightly"])), ["backup", "invoices"]);
    assert_eq!(labels(&world.json(&["job", "list", "--tag", "nightly", "--tag", "team:billing"])), ["invoices"]);
    assert_eq!(labels(&world.json(&["job", "list", "--tag", "night"])), [""; 0]);
    world.ordo(&["job", "list", "--tag", "Nightly"]).refused(2, &["\"Nightly\" is no tag", "lower-case"]);

    world.ordo(&["job", "pause", "--tag", "nightly"]).refused(2, &["2 jobs would be paused", "--yes"]);
    assert!(world.ordo(&["job", "pause", "--tag", "nightly", "--yes"]).done().out.contains("paused 2 jobs"));
    assert_eq!(world.json(&["job", "show", "plain"])["state"], "active");

    world.ordo(&["job", "update", "backup", "--tag", "weekly"]).done();
    assert_eq!(labels(&world.json(&["job", "list", "--tag", "weekly"])), ["backup"]);
    assert_eq!(labels(&world.json(&["job", "list", "--tag", "nightly"])), ["invoices"]);
    world.ordo(&["job", "update", "backup", "--tag", ""]).done();
    assert_eq!(world.json(&["job", "show", "backup"]).get("tags"), None);
    world.ordo(&["job", "update", "backup", "--priority", "7"]).done();
    world.ordo(&["job", "update", "invoices", "--priority", "7"]).done();
    assert_eq!(world.json(&["job", "show", "invoices"])["tags"], json!(["nightly", "team:billing"]), "it keeps them");
}

#[test]
fn jobs_are_found_by_tag_after_the_index_was_rebuilt() {
    let world = World::new();
    let daemon = world.serve();
    world.ordo(&["job", "add", "invoices", "--tag", "nightly", "--every", "1d", "--", "true"]).done();
    assert_eq!(daemon.stop().0, 0);
    assert!(world.ordo(&["store", "reindex"]).done().out.contains("rebuilt"));
    world.ordo(&["store", "check"]).done();
    let _daemon = world.serve();
    assert_eq!(labels(&world.json(&["job", "list", "--tag", "nightly"])), ["invoices"]);
}
