//! Nothing of a command outlives its attempt, and it runs as whom and within what the configuration says.

use serde_json::Value;

use crate::common::{Daemon, World, eventually, is_gone};

/// A command whose child has a session of its own, no environment, and no parent any more.
const ESCAPING: &str = "setsid env -i /bin/sh -c 'setsid /bin/sh -c \"echo \\$\\$ > escaped; exec sleep 1000\" &' ; echo $$ > leader; sleep 1000";

/// Adds and triggers it; the numbers of the command and of its child.
fn escape(world: &World, flags: &[&str]) -> [i32; 2] {
    let args: Vec<&str> =
        ["job", "add", "escaping"].iter().chain(flags).chain(&["--", "sh", "-c", ESCAPING]).copied().collect();
    world.ordo(&args).done();
    world.ordo(&["job", "trigger", "escaping"]).done();
    ["leader", "escaped"].map(|file| eventually("it has begun", || world.read(file).trim().parse().ok()))
}

fn assert_gone(pids: [i32; 2]) {
    for pid in pids {
        assert!(is_gone(pid), "{pid} is alive");
    }
}

#[test]
fn a_child_that_escaped_is_gone_after_a_timeout_and_after_a_cancel() {
    let world = World::new();
    let daemon = world.serve();
    assert!(daemon.said().contains("tracking="), "the log says how: {}", daemon.said());
    let pids = escape(&world, &["--timeout", "2s"]);
    assert_eq!(world.over("escaping")["status"]["type"], "failed");
    eventually("the timeout has ended them", || pids.iter().all(|pid| is_gone(*pid)).then_some(()));
    world.ordo(&["job", "cancel", "escaping"]).done();

    let world = World::new();
    let _daemon = world.serve();
    let pids = escape(&world, &[]);
    assert!(pids.iter().all(|pid| !is_gone(*pid)));
    world.ordo(&["run", "cancel", "escaping"]).done();
    assert_eq!(world.over("escaping")["status"]["type"], "cancelled");
    eventually("the cancel has ended them", || pids.iter().all(|pid| is_gone(*pid)).then_some(()));
}

#[test]
fn a_child_that_escaped_is_gone_after_the_daemon_was_killed() {
    let world = World::new();
    let daemon = world.serve();
    let pids = escape(&world, &[]);
    daemon.kill();
    eventually("they end with their daemon", || pids.iter().all(|pid| is_gone(*pid)).then_some(()));
    assert_gone(pids);
}

#[test]
fn as_root_commands_run_as_the_user_that_is_configured() {
    let world = World::new();
    if !rustix::process::geteuid().is_root() {
        world.write("ordo.toml", "[tools.shell]\nuser = 'nobody'\n");
        return world.ordo(&["serve"]).refused(2, &["tools.shell.user", "only a server that runs as root"]);
    }
    let daemon = world.serve();
    assert!(daemon.said().contains("commands run as root"), "{}", daemon.said());
    assert_eq!(daemon.stop().0, 0);
    world.write("ordo.toml", "[tools.shell]\nuser = 'no-such-user'\n");
    world.ordo(&["serve", "--config", "ordo.toml"]).refused(2, &["tools.shell.user", "no-such-user"]);
    world.write(
        "ordo.toml",
        "[tools.shell]\nuser = 'nobody'\nprivate_tmp = true\n[tools.shell.limits]\nopen_files = 33\n\
         [tools.whoami]\ncommand = 'id'\nargs = ['-un']\nuser = 'games'\n",
    );
    let daemon = Daemon::start(world.command(&["serve", "--listen", "127.0.0.1:0", "--config", "ordo.toml"]));
    assert!(!daemon.said().contains("commands run as root"), "{}", daemon.said());
    let script = "id -un; id -G; ulimit -n; ls -A /tmp | wc -l; cat; touch /tmp/left";
    let input = serde_json::json!({"script": script, "stdin": "read\n"}).to_string();
    world.ordo(&["job", "add", "who", "--tool", "shell", "--input", &input]).done();
    world.ordo(&["job", "trigger", "who"]).done();
    let output = output(&world.over("who"), &world, "who");
    let groups = std::process::Command::new("id").args(["-G", "nobody"]).output().unwrap().stdout;
    let groups = String::from_utf8(groups).unwrap();
    assert_eq!(output.lines().collect::<Vec<_>>(), ["nobody", groups.trim(), "33", "0", "read"]);
    assert!(!std::path::Path::new("/tmp/left").exists());
    world.ordo(&["job", "add", "named", "--tool", "whoami", "--input", "{}"]).done();
    world.ordo(&["job", "trigger", "named"]).done();
    assert_eq!(self::output(&world.over("named"), &world, "named").trim(), "games");
}

fn output(run: &Value, world: &World, job: &str) -> String {
    assert_eq!(run["status"]["type"], "completed", "{run}");
    world.ordo(&["run", "logs", job]).done().out
}
