//! Servers behind TLS: whom the command line believes, and what it says when it does not.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::common::tls::{CertificateAuthority, TlsFront};
use crate::common::{Daemon, Ran, World};

/// A daemon in one folder, and a folder elsewhere from which it is reached through TLS only.
struct TlsStage {
    home: World,
    daemon: Daemon,
    elsewhere: World,
}

impl TlsStage {
    fn new() -> TlsStage {
        let home = World::new();
        TlsStage { daemon: home.serve(), home, elsewhere: World::new() }
    }

    fn command(&self, server: &str, args: &[&str]) -> Command {
        let mut command = self.elsewhere.command(&[&["--server", server], args].concat());
        command.env("ORDO_TOKEN", self.home.read(".ordo/token").trim());
        command
    }

    fn ordo(&self, server: &str, args: &[&str]) -> Ran {
        self.command(server, args).output().unwrap().into()
    }
}

#[test]
fn a_server_with_an_authority_of_its_own_is_used_like_any_other() {
    let stage = TlsStage::new();
    let authority = CertificateAuthority::new();
    let front = TlsFront::before(&stage.daemon, authority.certify("localhost"));
    let (server, ca) = (front.url("localhost"), authority.write(&stage.elsewhere.file("ca.pem")));

    let status = stage.ordo(&server, &["status", "--ca-file", "ca.pem"]).done();
    assert!(status.out.contains("ready") && status.out.contains(&server), "{status:?}");
    let script = "echo one; until [ -e go ]; do sleep 0.05; done; echo two";
    let add = ["job", "add", "talk", "--ca-file", &ca, "--tool", "shell", "--input"];
    let input = serde_json::json!({ "script": script, "cwd": stage.home.path() }).to_string();
    stage.ordo(&server, &[&add[..], &[&input]].concat()).done();
    stage.ordo(&server, &["job", "trigger", "talk", "--ca-file", &ca]).done();

    // The first line is here while the run waits for us: it was not kept back on the way.
    let mut logs = stage.command(&server, &["run", "logs", "-f", "talk"]);
    let mut logs = logs.env("ORDO_CA_FILE", &ca).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(logs.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "one");
    stage.home.write("go", "");
    assert_eq!(lines.next().unwrap().unwrap(), "two");
    assert!(lines.next().is_none() && logs.wait().unwrap().success());
}

#[test]
fn a_server_that_cannot_prove_who_it_is_is_refused_with_advice() {
    let stage = TlsStage::new();
    let (ours, theirs) = (CertificateAuthority::new(), CertificateAuthority::new());
    ours.write(&stage.elsewhere.file("ours.pem"));
    theirs.write(&stage.elsewhere.file("theirs.pem"));
    let front = TlsFront::before(&stage.daemon, ours.certify("localhost"));
    let server = front.url("localhost");
    let unknown = ["certificate of https://localhost", "authority that is not trusted", "--ca-file", "ORDO_CA_FILE"];
    stage.ordo(&server, &["status"]).refused(1, &unknown);
    stage.ordo(&server, &["status", "--ca-file", "theirs.pem"]).refused(1, &unknown);
    stage.ordo(&server, &["status", "--ca-file", "ours.pem"]).done();
    // The right authority, but another name than the one that was dialled.
    let by_number = front.url("127.0.0.1");
    stage
        .ordo(&by_number, &["status", "--ca-file", "ours.pem"])
        .refused(1, &[&by_number, "it is for localhost", "--server"]);
    let old = TlsFront::before(&stage.daemon, ours.certify_long_ago("localhost"));
    stage.ordo(&old.url("localhost"), &["status", "--ca-file", "ours.pem"]).refused(1, &["expired", "renew"]);
    let wrong = TlsFront::before(&stage.daemon, ours.certify_as_authority("localhost"));
    let own = ["certificate of an authority", "CA:FALSE"];
    stage.ordo(&wrong.url("localhost"), &["status", "--ca-file", "ours.pem"]).refused(1, &own);
    let stopped = stage.daemon.place.replace("http://", "https://");
    stage.ordo(&stopped, &["status", "--ca-file", "ours.pem"]).refused(1, &["does not speak TLS", "http://"]);
    stage.ordo("https://127.0.0.1:9", &["status"]).refused(3, &["nothing answers at https://127.0.0.1:9"]);
}

#[test]
fn what_cannot_be_used_is_reported_before_anything_is_sent() {
    let world = World::new();
    world.write("empty.pem", "");
    let at = |more: &[&str]| world.ordo(&[&["status", "--server", "https://127.0.0.1:9"], more].concat());
    at(&["--ca-file", "nowhere.pem"]).refused(2, &["--ca-file nowhere.pem", "No such file"]);
    at(&["--ca-file", "empty.pem"]).refused(2, &["--ca-file empty.pem", "no certificate in it"]);
    for (server, advice) in [("127.0.0.1:7070", "http://"), ("https://eve:pass@localhost", "token")] {
        world.ordo(&["status", "--server", server]).refused(2, &["not the address of a server", advice]);
    }
}
