//! The daemon: who holds the store, how it ends, what it leaves behind.

mod configuration;
mod demo;
mod log_lines;
mod readers;
mod service;
mod telemetry;

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::Signal;

use crate::common::{Daemon, Ran, World, eventually, is_gone};

#[test]
fn the_second_daemon_on_a_store_says_who_holds_it() {
    let world = World::new();
    let daemon = world.serve();
    let other = World::new();
    let store = world.file(".ordo/orchestrator.db");
    let args = ["serve", "--listen", "127.0.0.1:0", "--store", store.to_str().unwrap()];
    other.ordo(&args).refused(1, &["is held by process ", "stop it first"]);
    world.ordo(&["orchestrate"]).refused(1, &["is held by process "]);
    // The first one did not mind.
    world.ordo(&["job", "list"]).done();
    drop(daemon);
}

#[test]
fn a_second_daemon_in_the_folder_does_not_steal_the_socket() {
    let world = World::new();
    let _daemon = world.serve();
    world.ordo(&["orchestrate", "--db", "other.db"]).refused(1, &["another daemon is running in this folder"]);
    world.ordo(&["job", "list"]).done();
}

#[test]
fn a_daemon_takes_the_place_of_a_dead_one() {
    let world = World::new();
    world.serve().kill();
    assert!(world.file(".ordo/orchestrator.sock").exists());
    let daemon = world.serve();
    world.ordo(&["job", "list"]).done();
    assert_eq!(daemon.stop().0, 0);
    assert!(!world.file(".ordo/orchestrator.sock").exists(), "it clears up behind itself");
}

#[test]
fn after_a_kill_nothing_is_lost_and_what_ran_is_settled() {
    let world = World::new();
    let daemon = world.serve();
    let script = "echo $$ > child; sleep 62";
    world.ordo(&["job", "add", "cut", "--", "sh", "-c", script]).done();
    world.ordo(&["job", "add", "kept", "--every", "1h", "--", "true"]).done();
    world.ordo(&["job", "trigger", "cut"]).done();
    let child = eventually("it runs", || world.read("child").trim().parse::<i32>().ok());
    daemon.kill();

    let daemon = world.serve();
    let run = world.over("cut");
    assert_eq!(run["status"]["type"], "failed");
    assert_eq!(run["status"]["reason"], "recovered from restart");
    assert_eq!(world.json(&["job", "show", "kept"])["state"], "active");
    assert!(is_gone(child), "what the dead daemon left running was ended");
    assert_eq!(daemon.stop().0, 0);
    assert!(world.ordo(&["store", "check"]).done().out.starts_with("clean"));
}

#[test]
fn an_idempotent_job_is_tried_again_after_a_kill() {
    let world = World::new();
    let daemon = world.serve();
    let script = "echo $ORDO_ATTEMPT >> tries; [ $ORDO_ATTEMPT = 2 ] || sleep 63";
    let add = ["job", "add", "twice", "--idempotent", "--retry", "1", "--backoff", "10ms", "--", "sh", "-c", script];
    world.ordo(&add).done();
    world.ordo(&["job", "trigger", "twice"]).done();
    eventually("it runs", || (world.read("tries") == "1\n").then_some(()));
    daemon.kill();
    let _daemon = world.serve();
    assert_eq!(world.over("twice")["status"]["type"], "completed");
    assert_eq!(world.read("tries"), "1\n2\n");
}

#[test]
fn on_a_signal_to_stop_it_lets_work_finish() {
    let world = World::new();
    let daemon = world.serve();
    let script = "echo begun > begun; while [ ! -e go ]; do sleep 0.02; done; echo finished > done";
    world.ordo(&["job", "add", "work", "--", "sh", "-c", script]).done();
    world.ordo(&["job", "trigger", "work"]).done();
    eventually("it runs", || (world.read("begun") == "begun\n").then_some(()));
    daemon.signal(Signal::TERM);
    daemon.wait_for("stopping");
    // It still answers, and says that it accepts no more work.
    world.ordo(&["run", "list"]).done();
    assert_eq!(world.json(&["status"])["ready"], false);
    world.write("go", "");
    let (code, said) = daemon.end();
    assert_eq!(code, 0, "{said}");
    assert_eq!(world.read("done"), "finished\n");
    let _daemon = world.serve();
    assert_eq!(world.over("work")["status"]["type"], "completed");
}

#[test]
fn after_the_grace_or_a_second_signal_the_rest_is_ended_and_recorded() {
    for insist in [false, true] {
        let world = World::new();
        let daemon = world.serve_with(&["--grace", if insist { "1h" } else { "100ms" }]);
        world.ordo(&["job", "add", "endless", "--", "sh", "-c", "echo begun > begun; sleep 64"]).done();
        world.ordo(&["job", "trigger", "endless"]).done();
        eventually("it runs", || (world.read("begun") == "begun\n").then_some(()));
        daemon.signal(Signal::INT);
        if insist {
            daemon.wait_for("stopping");
            daemon.signal(Signal::INT);
        }
        let (code, said) = daemon.end();
        assert_eq!(code, 0, "{said}");
        let _daemon = world.serve();
        let run = world.over("endless");
        assert_eq!(run["status"]["type"], "failed", "{run}");
        assert!(run["status"]["reason"].as_str().unwrap().contains("interrupted"), "{run}");
    }
}

#[test]
fn what_cannot_be_a_store_is_refused() {
    let world = World::new();
    world.write("notification.txt", &"Dear Sir or Madam. ".repeat(500));
    world.ordo(&["serve", "--store", "notification.txt"]).refused(1, &["notification.txt", "not an Ordo store"]);
    assert!(world.read("notification.txt").starts_with("Dear Sir"), "it is untouched");
    world.ordo(&["serve", "--roles", "api,executor"]).refused(2, &["roles"]);
    world.ordo(&["serve", "--roles", "cook"]).refused(2, &["cook"]);
    world.ordo(&["serve", "--tick-rate", "soon"]).refused(2, &["--tick-rate", "soon"]);
    world.ordo(&["serve", "--listen", "nowhere"]).refused(2, &["cannot listen on nowhere"]);
    world.ordo(&["serve", "--log-level", "ordo=shout"]).refused(2, &["log.level"]);
}

#[test]
fn a_port_that_is_taken_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    World::new().ordo(&["serve", "--listen", &address]).refused(1, &[&address, "--listen"]);
}

#[test]
fn a_folder_that_cannot_be_written_is_refused() {
    let world = World::new();
    std::fs::set_permissions(world.path(), std::fs::Permissions::from_mode(0o555)).unwrap();
    let mut command = world.command(&["serve", "--listen", "127.0.0.1:0"]);
    if rustix::process::geteuid().is_root() {
        // Root may write everywhere: somebody else is asked to.
        command.uid(65_534).gid(65_534);
    }
    let Ok(output) = command.output() else {
        return println!("skipped: the binary cannot be started by another user here");
    };
    Ran::from(output).refused(1, &["cannot use", ".ordo", "Permission denied", "start it in a folder you may write"]);
    assert!(!world.file(".ordo").exists());
    std::fs::set_permissions(world.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_full_disk_refuses_work_and_goes_on_when_there_is_space() {
    let world = World::new();
    let Some(_disk) = SmallDisk::mount(&world, "8m") else {
        return println!("skipped: a small disk cannot be mounted here (needs root)");
    };
    let daemon = Daemon::start({
        let mut serve = world.command(&["serve", "--listen", "127.0.0.1:0"]);
        serve.current_dir(world.file("disk"));
        serve
    });
    let ordo = |args: &[&str]| Ran::from(world.command(args).current_dir(world.file("disk")).output().unwrap());
    ordo(&["job", "add", "before", "--every", "1h", "--", "true"]).done();
    // All that is left, and then what the store has in reserve.
    let _ = Command::new("sh").args(["-c", "cat /dev/zero > disk/filler"]).current_dir(world.path()).output().unwrap();
    let big = format!(r#"{{"args": ["{}"], "command": "true"}}"#, "x".repeat(100_000));
    let refused = eventually("the disk is full", || {
        let ran = ordo(&["job", "add", "big", "--every", "1h", "--tool", "shell", "--input", &big]);
        (ran.code != 0).then_some(ran)
    });
    refused.refused(1, &["[store_unavailable]"]);
    let said = || refused.err.contains("space") || daemon.said().contains("space");
    eventually("the answer or the log says why", || said().then_some(()));
    let kept = ordo(&["job", "list", "-o", "json"]).done().json().as_array().unwrap().len();
    std::fs::remove_file(world.file("disk/filler")).unwrap();
    eventually("it goes on", || {
        (ordo(&["job", "add", "after", "--every", "1h", "--", "true"]).code == 0).then_some(())
    });
    assert_eq!(ordo(&["job", "list", "-o", "json"]).done().json().as_array().unwrap().len(), kept + 1);
    assert_eq!(daemon.stop().0, 0);
    assert!(ordo(&["store", "check"]).done().out.starts_with("clean"));
}

/// A file system of its own, gone when dropped.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn mount(world: &World, size: &str) -> Option<SmallDisk> {
        let path = world.file("disk");
        std::fs::create_dir(&path).unwrap();
        let options = format!("size={size}");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(&path).output().ok()?;
        mounted.status.success().then_some(SmallDisk(path))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

#[test]
fn what_the_daemon_was_started_with_is_not_shown_to_its_tools() {
    let world = World::new();
    let mut command = world.command(&["serve", "--listen", "127.0.0.1:0"]);
    command
        .env("ORDO_SLACK__BOT_TOKEN", "xoxb-hunter2")
        .env("ORDO_SLACK__CHANNEL", "C1")
        .env("AWS_SECRET_ACCESS_KEY", "hunter2")
        .env("JAVA_HOME", "/jdk");
    command.env("ORDO_TOOLS__SHELL__ENVIRONMENT", "JAVA_HOME").env("ORDO_NODE", "handed-over");
    let _daemon = Daemon::start(command);
    // The parent is the launcher, its parent the daemon.
    let script = "daemon=$(cut -d' ' -f4 /proc/$PPID/stat); tr '\\0' '\\n' < /proc/$daemon/environ > parent; \
                  tr '\\0' '\\n' < /proc/$PPID/environ >> parent; env > own; cat /proc/$daemon/comm /proc/$PPID/comm > name";
    world.ordo(&["job", "add", "peek", "--", "sh", "-c", script]).done();
    world.ordo(&["job", "trigger", "peek"]).done();
    assert_eq!(world.over("peek")["status"]["type"], "completed");
    let (parent, own) = (world.read("parent"), world.read("own"));
    assert!(parent.contains("PATH="), "{parent}");
    assert!(!parent.contains("hunter2") && !own.contains("hunter2"), "{parent}{own}");
    assert!(own.contains("JAVA_HOME=/jdk"), "{own}");
    assert_eq!(world.read("name").lines().collect::<Vec<_>>(), ["ordo", "ordo-launcher"]);
    assert_eq!(world.json(&["status"])["node"], "handed-over", "it is configured by it all the same");
}

#[test]
fn a_store_that_was_emptied_is_not_taken_for_a_new_one() {
    let world = World::new();
    assert_eq!(world.serve().stop().0, 0);
    std::fs::write(world.file(".ordo/orchestrator.db"), "").unwrap();
    world
        .ordo(&["serve", "--listen", "127.0.0.1:0"])
        .refused(1, &["is empty, and it was not before", "restore a backup"]);
    std::fs::remove_file(world.file(".ordo/orchestrator.db")).unwrap();
    assert_eq!(world.serve().stop().0, 0);
}

#[test]
fn the_folder_of_a_named_store_is_made() {
    let world = World::new();
    let daemon = world.serve_with(&["--store", "data/deep/orders.db"]);
    assert_eq!(daemon.stop().0, 0);
    assert_eq!(world.read("data/deep/.gitignore"), "*\n");
    let mode = |name: &str| std::fs::metadata(world.file(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("data/deep"), mode("data/deep/orders.db")), (0o700, 0o600));
}

#[test]
fn misuse_exits_with_two() {
    let world = World::new();
    for args in [
        &["serve", "--listen", "nowhere"][..],
        &["serve", "--tick-rate", "soon"],
        &["serve", "--roles", "api"],
        &["cron", "explain", "61 * * * *"],
        &["cron", "explain", "* * * * *", "--tz", "Mars/Base"],
        &["store", "copy", "a.db", "a.db"],
        &["job"],
        &["--no-such-flag"],
    ] {
        let ran = world.ordo(args);
        assert_eq!(ran.code, 2, "{args:?}: {}{}", ran.out, ran.err);
    }
}
