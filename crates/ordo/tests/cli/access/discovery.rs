//! Which server is found without being named, and which token it is sent: none that is not meant for it.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::net::UnixListener;
use std::sync::{Arc, Mutex};

use crate::common::{Daemon, Ran, World};

const NOBODY: u32 = 65534;
const FINE: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";

/// Somebody who writes down what is sent to him.
#[derive(Clone, Default)]
struct RecordingListener(Arc<Mutex<String>>);

impl RecordingListener {
    fn at_socket(listener: UnixListener) -> RecordingListener {
        let heard = RecordingListener::default();
        let ear = heard.clone();
        std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| ear.hear(stream, FINE)));
        heard
    }

    fn at(listener: TcpListener, answer: String) -> RecordingListener {
        let heard = RecordingListener::default();
        let ear = heard.clone();
        std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| ear.hear(stream, &answer)));
        heard
    }

    /// One request without a body.
    fn hear(&self, mut stream: impl Read + Write, answer: &str) {
        let mut request = Vec::new();
        let mut buffer = [0; 1024];
        while !request.ends_with(b"\r\n\r\n") {
            match stream.read(&mut buffer) {
                Ok(count @ 1..) => request.extend_from_slice(&buffer[..count]),
                Ok(0) | Err(_) => break,
            }
        }
        self.0.lock().unwrap().push_str(&String::from_utf8_lossy(&request));
        let _ = stream.write_all(answer.as_bytes());
    }

    /// What was said since this was asked last.
    fn heard(&self) -> String {
        std::mem::take(&mut *self.0.lock().unwrap()).to_lowercase()
    }
}

/// A listener on a free port of this machine, and its address.
fn listen(answer: &str) -> (RecordingListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (RecordingListener::at(listener, answer.to_owned()), url)
}

fn status_with(world: &World, token: &str, more: &[&str]) -> Ran {
    let mut command = world.command(&[&["status", "-o", "json"], more].concat());
    command.env("ORDO_TOKEN", token).output().unwrap().into()
}

#[test]
fn a_socket_of_somebody_else_is_not_used_unless_it_is_named() {
    if !rustix::process::geteuid().is_root() {
        // Only root can give a socket away; the rule itself is tested beside it.
        return;
    }
    let world = World::new();
    std::fs::create_dir_all(world.file(".ordo")).unwrap();
    std::fs::create_dir_all(world.file("a/b")).unwrap();
    let socket = world.file(".ordo/orchestrator.sock");
    let listener = RecordingListener::at_socket(UnixListener::bind(&socket).unwrap());
    let below = |args: &[&str]| -> Ran { world.command(args).current_dir(world.file("a/b")).output().unwrap().into() };
    below(&["status", "-o", "json"]).done();
    assert!(listener.heard().contains("/v1/status"));
    for given_away in [socket.clone(), world.file(".ordo")] {
        chown(&given_away, Some(NOBODY), None).unwrap();
        let named = format!("--server unix:{}", socket.canonicalize().unwrap().display());
        let refused = below(&["secret", "set", "pin", "--value-file", "-"]);
        refused.refused(1, &["not used", "belongs to user 65534, neither to you nor to root", &named]);
        assert_eq!(listener.heard(), "");
        // Whoever names it means it.
        below(&["status", "-o", "json", "--server", &format!("unix:{}", socket.display())]).done();
        assert!(listener.heard().contains("/v1/status"));
        chown(&given_away, Some(0), None).unwrap();
    }
    // What is watched runs all the same.
    chown(&socket, Some(NOBODY), None).unwrap();
    let watched = below(&["watch", "--monitor", "m", "--", "sh", "-c", "echo done; exit 7"]);
    assert_eq!((watched.code, watched.out.as_str()), (7, "done\n"), "{watched:?}");
    assert_eq!(listener.heard(), "");
}

#[test]
fn a_socket_is_sent_no_token() {
    let world = World::new();
    std::fs::create_dir_all(world.file(".ordo")).unwrap();
    let socket = world.file(".ordo/orchestrator.sock");
    let listener = RecordingListener::at_socket(UnixListener::bind(&socket).unwrap());
    for more in [&[][..], &["--server", "unix:.ordo/orchestrator.sock"]] {
        status_with(&world, "s3cret", more).done();
        let heard = listener.heard();
        assert!(heard.contains("/v1/status") && !heard.contains("authorization"), "{heard}");
    }
}

#[test]
fn the_token_of_the_daemon_nearby_is_for_no_other_server() {
    let world = World::new();
    let daemon = world.serve();
    let (listener, elsewhere) = listen(FINE);
    world.ordo(&["status", "-o", "json", "--server", &elsewhere]).done();
    let heard = listener.heard();
    assert!(heard.contains("/v1/status") && !heard.contains("authorization"), "{heard}");
    // One that somebody gave is sent to the server that somebody named.
    status_with(&world, "s3cret", &["--server", &elsewhere]).done();
    assert!(listener.heard().contains("authorization: bearer s3cret"));
    // The daemon itself is sent its own, by either name.
    world.ordo(&["status", "--server", &daemon.place]).done();
    world.ordo(&["status", "--server", &daemon.place.replace("127.0.0.1", "localhost")]).done();
    // One that nobody has a token for says what to do.
    let other = World::new();
    let other_daemon = other.serve();
    world.ordo(&["status", "--server", &other_daemon.place]).refused(1, &["[unauthorized]", "ORDO_TOKEN"]);
}

#[test]
fn whoever_listens_where_a_daemon_died_is_not_sent_its_token() {
    let world = World::new();
    let daemon = world.serve();
    let place = daemon.place.clone();
    daemon.kill();
    let listener = TcpListener::bind(place.strip_prefix("http://").unwrap()).unwrap();
    let listener = RecordingListener::at(listener, FINE.to_owned());
    let ask = || {
        world.ordo(&["status", "-o", "json", "--server", &place]).done();
        listener.heard()
    };
    let heard = ask();
    assert!(heard.contains("/v1/status") && !heard.contains("authorization"), "{heard}");
    // Nor when another daemon lives in the folder, without a port.
    let _headless = Daemon::start(world.command(&["orchestrate"]));
    let heard = ask();
    assert!(heard.contains("/v1/status") && !heard.contains("authorization"), "{heard}");
}

#[test]
fn a_redirect_is_reported_and_not_followed() {
    let world = World::new();
    let (target, elsewhere) = listen(FINE);
    let redirect =
        format!("HTTP/1.1 307 Temporary Redirect\r\nlocation: {elsewhere}/v1/status\r\ncontent-length: 0\r\n\r\n");
    let (first, server) = listen(&redirect);
    let ran = status_with(&world, "s3cret", &["--server", &server]);
    ran.refused(1, &[&server, &format!("redirects to {elsewhere}/v1/status"), "--server"]);
    assert!(first.heard().contains("s3cret"));
    assert_eq!(target.heard(), "");
}
