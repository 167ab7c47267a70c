//! `ordo executor` at a server behind TLS.

use crate::common::World;
use crate::common::tls::{CertificateAuthority, TlsFront};
use crate::{Worker, listed, over, token};

#[test]
fn an_executor_works_through_tls() {
    let world = World::new();
    let daemon = world.serve();
    let authority = CertificateAuthority::new();
    let front = TlsFront::before(&daemon, authority.certify("localhost"));
    let ca = authority.write(&world.file("ca.pem"));
    let worker = |ca: &str| {
        let server = front.url("localhost");
        let mut command =
            world.command(&["executor", "--server", &server, "--ca-file", ca, "--group", "far", "--name", "w"]);
        command.env("ORDO_TOKEN", token(&world));
        command
    };
    world.ordo(&["job", "add", "far", "--group", "far", "--", "echo", "through"]).done();
    world.ordo(&["job", "trigger", "far"]).done();

    let stranger = CertificateAuthority::new().write(&world.file("stranger.pem"));
    let refused: crate::common::Ran = worker(&stranger).output().unwrap().into();
    refused.refused(1, &["certificate of https://localhost", "--ca-file"]);

    let worker = Worker::start(worker(&ca));
    let run = over(&world, "far");
    assert_eq!((run["status"]["type"].as_str(), run["executor"].as_str()), (Some("completed"), Some("w")));
    assert_eq!(world.ordo(&["run", "logs", "far"]).done().out, "through\n");
    assert_eq!(worker.stop(), 0);
    assert!(listed(&world).is_empty(), "it said goodbye");
}
