//! Nodes of one cluster, each in a folder of its own.

use std::time::Duration;

use ordo_client::Client;
use rustix::process::Signal;

use crate::common::{Daemon, World};

const NAMES: [&str; 3] = ["a", "b", "c"];

pub(crate) struct Nodes {
    url: String,
    /// How wrong the clock of each is, in milliseconds.
    skews: Vec<i64>,
    worlds: Vec<World>,
    daemons: Vec<Option<Daemon>>,
}

impl Nodes {
    pub(crate) fn start(url: &str, skews: &[i64]) -> Nodes {
        let worlds = skews.iter().map(|_| World::new()).collect();
        let mut nodes = Nodes { url: url.to_owned(), skews: skews.to_vec(), worlds, daemons: Vec::new() };
        for which in 0..skews.len() {
            let daemon = nodes.daemon(which);
            nodes.daemons.push(Some(daemon));
        }
        nodes
    }

    fn daemon(&self, which: usize) -> Daemon {
        let args = ["serve", "--listen", "127.0.0.1:0", "--tick-rate", "500ms", "--node", NAMES[which], "--store"];
        let mut command = self.worlds[which].command(&args);
        command.arg(&self.url).env("ORDO_TEST_CLOCK_SKEW_MS", self.skews[which].to_string());
        Daemon::start(command)
    }

    pub(crate) fn client(&self, which: usize) -> Client {
        self.worlds[which].client()
    }

    pub(crate) fn kill_and_restart(&mut self, which: usize) {
        if let Some(daemon) = self.daemons[which].take() {
            daemon.kill();
        }
        self.daemons[which] = Some(self.daemon(which));
    }

    /// Halts a node as if its machine hung, and lets it go on.
    pub(crate) async fn halt(&self, which: usize, length: Duration) {
        if let Some(daemon) = &self.daemons[which] {
            daemon.signal(Signal::STOP);
            tokio::time::sleep(length).await;
            daemon.signal(Signal::CONT);
        }
    }

    pub(crate) fn stop(self) {
        for daemon in self.daemons.into_iter().flatten() {
            let (code, said) = daemon.stop();
            assert_eq!(code, 0, "{said}");
        }
    }
}
