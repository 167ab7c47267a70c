//! Channels on the real binary: made while it runs, broken, given up, replayed, and still there after it was killed.

use serde_json::Value;
use tokio::runtime::Runtime;

use crate::common::{Daemon, World, eventually};
use crate::double::receiver::Receiver;

/// Serves until it is dropped.
struct Inbox {
    receiver: Receiver,
    url: String,
    _serving: Runtime,
}

impl Inbox {
    fn start() -> Inbox {
        let serving = Runtime::new().unwrap();
        let (receiver, url) = serving.block_on(Receiver::start());
        Inbox { receiver, url: format!("{url}/hook"), _serving: serving }
    }

    fn events(&self) -> Vec<String> {
        let taken = self.receiver.taken().into_iter();
        taken.map(|taken| taken.body["type"].as_str().unwrap_or_default().to_owned()).collect()
    }

    fn has(&self, count: usize) {
        eventually(&format!("{count} messages arrive"), || (self.events().len() == count).then_some(()));
    }
}

fn serve(world: &World) -> Daemon {
    let mut command = world.command(&["serve", "--listen", "127.0.0.1:0", "--tick-rate", "500ms"]);
    command.env("ORDO_WEBHOOKS__ALLOW", "127.0.0.1");
    Daemon::start(command)
}

fn dead_lettered(world: &World, count: usize) -> Vec<Value> {
    eventually(&format!("{count} notifications are given up"), || {
        let listed = world.json(&["notification", "list", "--state", "dead_lettered"]);
        let listed = listed.as_array().cloned().unwrap_or_default();
        (listed.len() == count).then_some(listed)
    })
}

#[test]
fn a_channel_that_breaks_loses_nothing_also_when_the_daemon_is_killed() {
    let world = World::new();
    let inbox = Inbox::start();
    let daemon = serve(&world);
    let none = world.ordo(&["channel", "list"]).done().out;
    assert!(none.contains("ordo channel add"), "{none}");
    let made = world.json(&["channel", "add", "ops", "--kind", "webhook", "--url", &inbox.url]);
    inbox.receiver.trusts(&[made["signing_key"].as_str().unwrap()]);
    world.ordo(&["channel", "add", "ops", "--kind", "webhook", "--url", &inbox.url]).refused(1, &["[channel_exists]"]);
    assert!(world.ordo(&["channel", "test", "ops"]).done().out.contains("a test message went out through ops"));
    world.ordo(&["incident", "start", "the mail is slow"]).done();
    inbox.has(2);

    // It breaks: its address is one that may not be reached.
    world.ordo(&["channel", "update", "ops", "--url", "http://10.0.0.1/hook"]).done();
    world.ordo(&["channel", "test", "ops"]).refused(1, &["ops did not take the message", "webhooks.allow"]);
    world.ordo(&["incident", "start", "the disk is full"]).done();
    let dead = dead_lettered(&world, 1);
    assert!(dead[0]["last_error"].as_str().unwrap().contains("10.0.0.1"), "{dead:?}");
    daemon.kill();

    let daemon = serve(&world);
    let shown = world.ordo(&["channel", "show", "ops"]).done().out;
    assert!(
        shown.contains("http://10.0.0.1/hook") && shown.contains("channel/ops") && !shown.contains("whsec_"),
        "{shown}"
    );
    world.ordo(&["channel", "update", "ops"]).refused(2, &["what should change?"]);
    world.ordo(&["channel", "update", "ops", "--url", &inbox.url]).done();
    world.ordo(&["notification", "replay", "--all"]).done();
    inbox.has(3);
    assert!(inbox.receiver.taken().iter().all(|taken| taken.signed_by == [true]), "with the key it had all the time");

    // It is removed while something waits for it, and made again under its name.
    inbox.receiver.answers(503);
    let third = world.json(&["incident", "start", "the queue grows"]);
    eventually("it was tried", || {
        let waiting = world.json(&["notification", "list", "--state", "waiting"]);
        (waiting[0]["attempts"] == 1).then_some(())
    });
    let removed = world.ordo(&["channel", "remove", "ops"]).done().out;
    assert!(removed.contains("1 notification that waited for it was given up"), "{removed}");
    let dead = dead_lettered(&world, 1);
    assert!(dead[0]["last_error"].as_str().unwrap().contains("no channel \"ops\" any more"), "{dead:?}");
    daemon.kill();

    let _daemon = serve(&world);
    inbox.receiver.answers(204);
    // Those that it refused came too.
    let before = inbox.receiver.taken().len();
    let add = ["channel", "add", "ops", "--kind", "webhook", "--url", &inbox.url, "--no-events"];
    let made = world.json(&add);
    inbox.receiver.trusts(&[made["signing_key"].as_str().unwrap()]);
    world.ordo(&["notification", "replay", "--all"]).done();
    inbox.has(before + 1);
    let (id, last) = (third["id"].as_str().unwrap(), &inbox.receiver.taken()[before]);
    assert_eq!(last.body["data"]["stream"], format!("ordo-incident-{id}"));
    assert_eq!(last.signed_by, [true], "with the key of the new one");
}
