//! What a service manager hears, on a socket that stands in for systemd's.

use std::os::unix::net::UnixDatagram;

use crate::common::{Daemon, PATIENCE, World};

struct Manager {
    socket: UnixDatagram,
}

impl Manager {
    fn of(world: &World) -> Manager {
        let socket = UnixDatagram::bind(world.file("notify.sock")).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Manager { socket }
    }

    /// The next message, line by line.
    fn hear(&self) -> Vec<String> {
        let mut bytes = [0; 4096];
        let len = self.socket.recv(&mut bytes).expect("the daemon says something");
        String::from_utf8_lossy(&bytes[..len]).lines().map(str::to_owned).collect()
    }

    /// The next message that is not about being well.
    fn hear_news(&self) -> Vec<String> {
        loop {
            let heard = self.hear();
            if heard != ["WATCHDOG=1"] {
                return heard;
            }
        }
    }
}

#[test]
fn a_service_manager_hears_that_it_is_ready_well_and_stopping() {
    let world = World::new();
    let manager = Manager::of(&world);
    let mut serve = world.command(&["serve", "--listen", "127.0.0.1:0"]);
    serve.env("NOTIFY_SOCKET", world.file("notify.sock")).env("WATCHDOG_USEC", "150000");
    let daemon = Daemon::start(serve);
    assert_eq!(manager.hear(), ["READY=1".to_owned(), format!("STATUS=ready at {}", daemon.place)]);
    for _ in 0..3 {
        assert_eq!(manager.hear(), ["WATCHDOG=1"]);
    }
    // What the manager gave to the daemon is not passed on.
    let script = "echo ${NOTIFY_SOCKET-none} ${WATCHDOG_USEC-none} > seen";
    world.ordo(&["job", "add", "look", "--", "sh", "-c", script]).done();
    world.ordo(&["job", "trigger", "look"]).done();
    assert_eq!(world.over("look")["status"]["type"], "completed");
    assert_eq!(world.read("seen"), "none none\n");

    daemon.signal(rustix::process::Signal::TERM);
    assert_eq!(manager.hear_news()[0], "STOPPING=1");
    assert_eq!(daemon.end().0, 0);
}

#[test]
fn nobody_listening_and_a_broken_socket_do_no_harm() {
    let world = World::new();
    let mut serve = world.command(&["orchestrate"]);
    serve.env("NOTIFY_SOCKET", world.file("nobody.sock"));
    let (code, said) = Daemon::start(serve).stop();
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("the service manager could not be notified"), "{said}");
}
