//! Nodes are taken out and upgraded one by one, while work goes on: nobody misses them, and nodes of two versions share one
//! database meanwhile.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use ordo_engine::clock::{Clock, Stopwatch, SystemClock};
use ordo_model::Millis;
use ordo_model::testing::{Chance, any_seed};
use serde_json::Value;

use crate::common::{Daemon, World, eventually, within};
use crate::database::Database;
use crate::{SETTLED_WITHIN, account, add, all_finished, plan};

const NAMES: [&str; 3] = ["a", "b", "c"];
/// A node is asked at its next heartbeat, and the others look at theirs: both come every second.
const HANDED_OVER_WITHIN: Duration = Duration::from_secs(5);

fn partitions(world: &World) -> Vec<(String, u64)> {
    let nodes = world.json(&["node", "list"]);
    let row = |node: &Value| (node["name"].as_str().unwrap().to_owned(), node["partitions"].as_u64().unwrap());
    nodes.as_array().unwrap().iter().map(row).collect()
}

fn of(partitions: &[(String, u64)], name: &str) -> u64 {
    partitions.iter().find(|(node, _)| node == name).map_or(0, |(_, count)| *count)
}

#[test]
fn a_drained_node_hands_over_within_seconds_while_what_runs_on_it_goes_on() {
    let database = Database::start();
    let url = Database::url_on(database.port());
    let worlds: Vec<World> = NAMES.iter().map(|_| World::new()).collect();
    let serve = |(world, name): (&World, &&str)| world.serve_with(&["--node", name, "--store", &url]);
    let daemons: Vec<Daemon> = worlds.iter().zip(&NAMES).map(serve).collect();
    let all = |partitions: &[(String, u64)]| partitions.iter().map(|(_, count)| count).sum::<u64>() == 256;
    let even = |partitions: &[(String, u64)]| all(partitions) && NAMES.iter().all(|name| of(partitions, name) > 40);
    within(Duration::from_secs(60), "all have their share", || even(&partitions(&worlds[0])).then_some(()));

    worlds[0].ordo(&["node", "drain", "b"]).done();
    let watch = Stopwatch::start();
    let others = |partitions: &[(String, u64)]| all(partitions) && of(partitions, "b") == 0;
    within(Duration::from_secs(60), "the others have its share", || others(&partitions(&worlds[0])).then_some(()));
    let handed_over = watch.elapsed();
    // The dashboard shows who is drained, and takes it back.
    let page = page(&worlds[0], &daemons[0], &["/nodes"]);
    assert!(page.contains("draining") && page.contains("Let b accept work again"), "{page}");
    assert!(page.contains("Drain a…") && !page.contains("Drain b…"), "{page}");
    println!("handed over within {handed_over}");
    assert!(handed_over.to_std() < HANDED_OVER_WITHIN, "{handed_over}");

    // What falls due meanwhile is executed by the others.
    worlds[1].ordo(&["job", "add", "often", "--every", "200ms", "--", "true"]).done();
    let runs = within(Duration::from_secs(60), "it has run often", || {
        let runs = worlds[1].runs("often");
        let ended: Vec<Value> = runs.into_iter().filter(|run| run["status"]["type"] == "completed").collect();
        (ended.len() >= 10).then_some(ended)
    });
    assert!(runs.iter().all(|run| run["executor"] != "b"), "{runs:#?}");
    self::page(&worlds[0], &daemons[0], &["/nodes/b/drain", "--data", "undo=yes"]);
    let b = || worlds[0].json(&["node", "list"]).as_array().unwrap().iter().find(|node| node["name"] == "b").cloned();
    eventually("b accepts work again", || b().filter(|b| b["state"] == "alive"));
    for daemon in daemons {
        let (code, said) = daemon.stop();
        assert_eq!(code, 0, "{said}");
    }
}

/// What the dashboard of a node answers; a path, and what else curl is to do.
fn page(world: &World, daemon: &Daemon, asked: &[&str]) -> String {
    let token = format!("Authorization: Bearer {}", world.read(".ordo/token").trim());
    let url = format!("{}{}", daemon.place, asked[0]);
    let answer = Command::new("curl").args(["-sSL", "-H", &token, &url]).args(&asked[1..]).output().unwrap();
    String::from_utf8_lossy(&answer.stdout).into_owned()
}

/// A node of another binary in a folder.
fn node(binary: &PathBuf, world: &World, name: &str, url: &str) -> Daemon {
    let mut command = Command::new(binary);
    for (variable, _) in std::env::vars_os() {
        if variable.to_string_lossy().starts_with("ORDO_") {
            command.env_remove(variable);
        }
    }
    command.args(["serve", "--listen", "127.0.0.1:0", "--tick-rate", "500ms", "--node", name, "--store", url]);
    command.current_dir(world.path()).env("TZ", "UTC").stdin(Stdio::null());
    Daemon::start_within(Duration::from_secs(60), command)
}

/// `cargo xtask upgrade COMMIT` builds the binary of an earlier commit and names it in `ORDO_EARLIER`.
#[test]
#[ignore = "needs a binary that was built from an earlier commit: cargo xtask upgrade COMMIT"]
fn nodes_are_upgraded_one_by_one_and_every_occurrence_is_accounted_for() {
    let earlier = PathBuf::from(std::env::var_os("ORDO_EARLIER").expect("ORDO_EARLIER names the earlier binary"));
    let this = PathBuf::from(env!("CARGO_BIN_EXE_ordo"));
    let (database, book_folder) = (Database::start(), World::new());
    let url = Database::url_on(database.port());
    let worlds: Vec<World> = NAMES.iter().map(|_| World::new()).collect();
    let mut daemons: Vec<Option<Daemon>> =
        worlds.iter().zip(NAMES).map(|(world, name)| Some(node(&earlier, world, name, &url))).collect();
    let layout = || database.sql("SELECT layout FROM ordo.meta");
    let before = layout();

    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut chance = Chance::new(any_seed());
    let (book, span) = (book_folder.file("book"), Millis::from_secs(40));
    let jobs = plan::jobs(&mut chance, 150, SystemClock.now(), span, &book);
    let mut acknowledged = runtime.block_on(add(&worlds[0].client(), jobs)).expect("nothing has happened yet");
    for which in 0..3 {
        let (code, said) = daemons[which].take().unwrap().stop();
        assert_eq!(code, 0, "{said}");
        daemons[which] = Some(node(&this, &worlds[which], NAMES[which], &url));
        // Both versions take work, and what each accepts is there for the other.
        for world in &worlds {
            let more = plan::jobs(&mut chance, 10, SystemClock.now(), span, &book);
            acknowledged.extend(runtime.block_on(add(&world.client(), more)).expect("every node takes work"));
        }
        let label = format!("after-{which}");
        worlds[which]
            .ordo(&["job", "add", &label, "--every", "100ms", "--concurrency-key", "label:1", "--", "true"])
            .done();
        let ran = |world: &World| world.runs(&label).iter().filter(|run| run["status"]["type"] == "completed").count();
        eventually("it runs while two versions are there", || (ran(&worlds[(which + 1) % 3]) >= 10).then_some(()));
        worlds[(which + 1) % 3].ordo(&["job", "cancel", "--yes", &label]);
    }
    println!("layout {before}, then {}", layout());
    let client = worlds[0].client();
    let finished = runtime.block_on(all_finished(&client, span.to_std() + SETTLED_WITHIN));
    let planned: Vec<Value> =
        finished.into_iter().filter(|job| !job["label"].as_str().unwrap().starts_with("after-")).collect();
    let account = runtime.block_on(account::of(&client, &planned, &book_folder.read("book")));
    println!("{account:#?}");
    account::check_acknowledged(&planned, &acknowledged);
    for daemon in daemons.into_iter().flatten() {
        let (code, said) = daemon.stop();
        assert_eq!(code, 0, "{said}");
    }
    let checked = worlds[0].ordo(&["store", "check", "--store", &url]).done();
    assert!(checked.out.starts_with("clean"), "{checked:?}");
}
