//! Every event in KurrentDB too: by the binary that has the mirror, and refused by the one that has not.

use crate::common::World;

#[cfg(not(feature = "kurrentdb"))]
#[test]
fn a_binary_without_the_mirror_refuses_it_and_says_how_to_get_one_that_has_it() {
    let world = World::new();
    world.write("ordo.toml", "[sinks.kurrentdb]\nconnection = 'kurrentdb://admin:s3cret@127.0.0.1:1'\n");
    let ran = world.ordo(&["serve"]);
    ran.refused(2, &["sinks.kurrentdb.connection", "built without", "--features kurrentdb"]);
    assert!(!ran.err.contains("s3cret"), "{ran:#?}");
}

#[test]
fn the_connection_string_is_not_shown() {
    let world = World::new();
    world.write("ordo.toml", "[sinks.kurrentdb]\nconnection = 'kurrentdb://admin:s3cret@127.0.0.1:1'\n");
    let shown = world.ordo(&["config"]).done();
    assert!(shown.out.contains("sinks.kurrentdb.connection") && !shown.out.contains("s3cret"), "{shown:#?}");
}

#[cfg(feature = "kurrentdb")]
mod mirrored {
    use serde_json::Value;
    use tokio::runtime::Runtime;

    use crate::common::{Daemon, World, eventually};
    use crate::stub::Stub;

    fn daemon(world: &World, connection: &str) -> Daemon {
        let mut command = world.command(&["serve", "--listen", "127.0.0.1:0", "--tick-rate", "500ms"]);
        command.env("ORDO_SINKS__KURRENTDB__CONNECTION", connection);
        Daemon::start(command)
    }

    /// The versions of a job's events, as Ordo has them.
    fn versions(world: &World, job: &str) -> Vec<u64> {
        let history = world.json(&["job", "history", job, "--all"]);
        let mut versions: Vec<u64> =
            history.as_array().unwrap().iter().map(|event| event["version"].as_u64().unwrap()).collect();
        versions.sort_unstable();
        versions
    }

    /// A run of the job, to its end.
    fn run(world: &World) {
        world.ordo(&["job", "trigger", "hello", "--wait"]).done();
    }

    #[track_caller]
    fn mirrored(world: &World, stub: &Stub, stream: &str) -> Value {
        eventually("everything is mirrored", || {
            let status = world.json(&["status"])["mirror"].clone();
            let is_done = status["state"] == "caught_up" && stub.versions(stream) == versions(world, "hello");
            is_done.then_some(status)
        })
    }

    #[test]
    fn all_events_of_a_job_arrive_also_over_a_kill_and_a_server_that_was_away() {
        let (world, runtime) = (World::new(), Runtime::new().unwrap());
        let mut stub = runtime.block_on(Stub::start());
        let first = daemon(&world, &stub.connection());
        let job = world.json(&["job", "add", "hello", "--tool", "noop"]);
        let stream = format!("ordo-job-{}", job["id"].as_str().unwrap());
        run(&world);
        let status = mirrored(&world, &stub, &stream);
        assert_eq!((&status["missing"], &status["halted"]), (&0.into(), &0.into()));
        let kinds = stub.kinds(&stream);
        assert!(kinds.starts_with(&["JobScheduled".to_owned()]) && kinds.contains(&"JobExecuted".to_owned()));
        first.kill();
        runtime.block_on(stub.go_down());
        let second = daemon(&world, &stub.connection());
        run(&world);
        eventually("it says that it fails", || {
            let status = world.json(&["status"])["mirror"].clone();
            (status["state"] == "failing" && status["lag_ms"].as_u64()? > 0).then_some(())
        });
        let shown = world.ordo(&["status"]).done();
        assert!(shown.out.contains("failing at") && !shown.out.contains("change"), "{shown:#?}");
        runtime.block_on(stub.come_up());
        mirrored(&world, &stub, &stream);
        assert!(world.ordo(&["status"]).done().out.contains("caught up with"));
        let (code, said) = second.stop();
        assert_eq!(code, 0, "{said}");
        assert!(said.contains("events are mirrored to KurrentDB") && !said.contains("change"), "{said}");
    }

    #[test]
    fn a_connection_string_that_is_wrong_stops_the_daemon_at_once() {
        let world = World::new();
        for (connection, says) in [
            ("http://admin:s3cret@h", "Unknown URL scheme"),
            ("kurrentdb://admin:s3/cret@h", "%2F"),
            ("kurrentdb://admin:s3cret@h?tlsCaFile=/nowhere/ca.pem", "sinks.kurrentdb.connection"),
        ] {
            world.write("ordo.toml", &format!("[sinks.kurrentdb]\nconnection = '{connection}'\n"));
            let ran = world.ordo(&["serve"]);
            ran.refused(2, &["sinks.kurrentdb.connection", says, "kurrentdb://USER:PASSWORD@HOST"]);
            assert!(!ran.err.contains("s3") && !ran.err.contains("cret"), "{ran:#?}");
        }
    }
}
