//! Three nodes on one PostgreSQL and two remote executors, each on a host of its own: killed, halted, cut off from each
//! other in one direction or in both, the database ended in the middle of things.
//!
//! Invariant: the clocks of the nodes are half a minute apart, and nothing is excused by it.

use std::path::Path;

use anyhow::{Context, Result};

use super::judge::FaultSpan;
use super::trial::panics;
use crate::lab::clock::{now_ms, pause, rfc3339, within};
use crate::lab::database::{DatabaseProcess, free_port};
use crate::lab::hosts::Hosts;
use crate::lab::node::OrdoProcess;
use crate::lab::process::UnixSignal;
use crate::lab::random::SeededRandom;
use crate::lab::socket::SocketClient;

pub(super) const NAME: &str = "postgres";
/// A node asks the database for its clock, and knows it as exactly as the quickest answer was quick: on a machine whose cores
/// are all busy, within this.
pub(super) const CLOCK_KNOWN_TO_MS: i64 = 100;
const HOSTS: [&str; 6] = ["db", "n1", "n2", "n3", "e1", "e2"];
const DB: usize = 0;
const NODES: [usize; 3] = [1, 2, 3];
const EXECUTORS: [usize; 2] = [4, 5];
const SKEWS_MS: [&str; 3] = ["0", "30000", "-30000"];
const LOOPBACK: &str = "127.0.0.1";
/// Group `remote` is served by executors elsewhere.
pub(super) const GROUPS: &[&str] = &["default", "remote"];

#[derive(Debug)]
pub(super) struct NodeCluster {
    // In this order they end: executors and nodes, their database, the hosts of all of them.
    executors: Vec<OrdoProcess>,
    pub(super) nodes: Vec<OrdoProcess>,
    database: DatabaseProcess,
    hosts: Option<Hosts>,
    chance: SeededRandom,
    pub(super) faults: Vec<FaultSpan>,
    pub(super) left_out: Vec<String>,
    until: i64,
    /// Whether there is time for faults that outlast a lease.
    is_long: bool,
}

impl NodeCluster {
    pub(super) fn start(binary: &Path, folder: &Path, chance: SeededRandom) -> Result<NodeCluster> {
        let mut left_out = Vec::new();
        let hosts = Hosts::make(&HOSTS).map_err(|error| left_out.push(format!("cuts between hosts ({error:#})"))).ok();
        let namespace = |host: usize| hosts.as_ref().map(|hosts| hosts.namespace(host));
        let address = |host: usize| hosts.as_ref().map_or(LOOPBACK.to_owned(), |hosts| hosts.address(host));
        let database = DatabaseProcess::start(&folder.join("db"), namespace(DB), &address(DB))?;
        let (mut nodes, mut urls) = (Vec::new(), Vec::new());
        for (host, skew) in NODES.into_iter().zip(SKEWS_MS) {
            let port = if hosts.is_some() { 7070 } else { free_port()? };
            let listen = format!("{}:{port}", address(host));
            let name = HOSTS[host];
            let args =
                ["serve", "--listen", &listen, "--tick-rate", "500ms", "--node", name, "--store", &database.url()];
            let node = OrdoProcess::new(name, binary, &folder.join(name), &args)?;
            let mut node = node.in_namespace(namespace(host)).with("ORDO_TEST_CLOCK_SKEW_MS", skew);
            node.start()?;
            nodes.push(node);
            urls.push(format!("http://{listen}"));
        }
        let token = std::fs::read_to_string(nodes[0].folder().join(".ordo/token")).context("reading the token")?;
        let mut executors = Vec::new();
        for host in EXECUTORS {
            let name = HOSTS[host];
            let args =
                ["executor", "--server", &urls.join(","), "--group", "remote", "--name", name, "--capacity", "8"];
            let executor = OrdoProcess::new(name, binary, &folder.join(name), &args)?;
            let mut executor = executor.in_namespace(namespace(host)).with("ORDO_TOKEN", token.trim());
            executor.begin()?;
            executors.push(executor);
        }
        let (faults, until) = (Vec::new(), 0);
        Ok(NodeCluster { executors, nodes, database, hosts, chance, faults, left_out, until, is_long: false })
    }

    pub(super) fn clients(&self) -> Vec<SocketClient> {
        self.nodes.iter().map(OrdoProcess::client).collect()
    }

    pub(super) fn database_url(&self) -> String {
        self.database.url()
    }

    /// One fault after the other until it is time to heal.
    pub(super) fn torture(&mut self, until: i64) -> Result<()> {
        (self.until, self.is_long) = (until, until - now_ms() > 60_000);
        while now_ms() < self.until {
            pause(self.chance.between(300, 2_500));
            self.fault()?;
        }
        if let Some(hosts) = &mut self.hosts {
            hosts.heal()?;
        }
        self.revive()
    }

    fn fault(&mut self) -> Result<()> {
        match self.chance.between(0, 99) {
            0..=19 => self.kill_node(),
            20..=31 => self.halt_node(),
            32..=43 => self.restart_database(),
            44..=53 => self.kill_executor(),
            54..=61 => self.halt_executor(),
            _ if self.hosts.is_some() => self.cut(),
            _ => self.kill_node(),
        }
    }

    fn kill_node(&mut self) -> Result<()> {
        let (from, which) = (now_ms(), self.chance.index(self.nodes.len()));
        let node = &mut self.nodes[which];
        node.kill();
        pause(self.chance.between(0, 1_500));
        node.start()?;
        let what = format!("{} killed", node.name);
        self.note(&what, from);
        Ok(())
    }

    fn halt_node(&mut self) -> Result<()> {
        let (from, which, length) = (now_ms(), self.chance.index(self.nodes.len()), self.length());
        self.nodes[which].signal(UnixSignal::Stop)?;
        pause(length);
        self.nodes[which].signal(UnixSignal::Continue)?;
        let what = format!("{} halted", self.nodes[which].name);
        self.note(&what, from);
        Ok(())
    }

    fn restart_database(&mut self) -> Result<()> {
        let from = now_ms();
        self.database.restart()?;
        self.note("database ended and restarted", from);
        Ok(())
    }

    fn kill_executor(&mut self) -> Result<()> {
        let (from, which) = (now_ms(), self.chance.index(self.executors.len()));
        self.executors[which].kill();
        pause(self.chance.between(0, 1_000));
        self.executors[which].begin()?;
        let what = format!("{} killed", self.executors[which].name);
        self.note(&what, from);
        Ok(())
    }

    fn halt_executor(&mut self) -> Result<()> {
        let (from, which, length) = (now_ms(), self.chance.index(self.executors.len()), self.length());
        self.executors[which].signal(UnixSignal::Stop)?;
        pause(length);
        self.executors[which].signal(UnixSignal::Continue)?;
        let what = format!("{} halted", self.executors[which].name);
        self.note(&what, from);
        Ok(())
    }

    /// Between two hosts, or between one and all others; in one direction or in both. Now and then somebody dies meanwhile.
    fn cut(&mut self) -> Result<()> {
        let (from, length) = (now_ms(), self.length());
        let (first, others, what) = match self.chance.between(0, 5) {
            0 | 1 => (self.chance.one_of(&NODES), vec![DB], "database"),
            2 => (self.chance.one_of(&EXECUTORS), vec![self.chance.one_of(&NODES)], "a node"),
            3 => (self.chance.one_of(&EXECUTORS), NODES.to_vec(), "all nodes"),
            4 => {
                let node = self.chance.one_of(&NODES);
                (node, (0..HOSTS.len()).filter(|host| *host != node).collect(), "everybody")
            }
            _ => (DB, NODES.to_vec(), "all nodes"),
        };
        let direction = self.chance.one_of(&["⇄", "→", "←"]);
        let Some(hosts) = &mut self.hosts else { return Ok(()) };
        for other in others {
            if direction != "←" {
                hosts.cut(first, other)?;
            }
            if direction != "→" {
                hosts.cut(other, first)?;
            }
        }
        let what = format!("cut {} {direction} {what}", hosts.name(first));
        let dying = self.chance.percent(15).then(|| self.chance.index(self.nodes.len()));
        if let Some(node) = dying {
            pause(length / 2);
            self.nodes[node].kill();
        }
        pause(if dying.is_some() { length / 2 } else { length });
        if let Some(hosts) = &mut self.hosts {
            hosts.heal()?;
        }
        self.note(&what, from);
        self.revive()
    }

    /// Most faults are short; some outlast the lease of an executor (15 s).
    fn length(&mut self) -> i64 {
        match self.is_long && self.chance.percent(20) {
            true => self.chance.between(16_000, 24_000),
            false => self.chance.between(500, if self.is_long { 8_000 } else { 3_000 }),
        }
    }

    /// Whoever has gone is started again, and all are waited for.
    fn revive(&mut self) -> Result<()> {
        for process in self.nodes.iter_mut().chain(&mut self.executors) {
            if !process.is_running() {
                process.begin()?;
            }
        }
        within(60_000, || self.nodes.iter().all(OrdoProcess::is_ready));
        Ok(())
    }

    /// Executors that did not come back, although all is well.
    pub(super) fn missing(&self, client: &SocketClient) -> Vec<(&'static str, String)> {
        let listed = client.items("/v1/executors").unwrap_or_default();
        let is_alive = |name: &str| listed.iter().any(|one| one["name"] == name && one["state"] == "alive");
        let missing = EXECUTORS.into_iter().map(|host| HOSTS[host]).filter(|name| !is_alive(name));
        missing.map(|name| ("P11", format!("executor {name} runs and is not among those that are alive"))).collect()
    }

    /// Everybody ends, the executors first; what was not well.
    pub(super) fn stop(&mut self) -> Result<Vec<(&'static str, String)>> {
        let mut complaints = Vec::new();
        for process in self.executors.iter_mut().chain(self.nodes.iter_mut().skip(1)) {
            if !process.stop()? {
                complaints.push(("P11", format!("{} did not end well when it was asked to", process.name)));
            }
        }
        complaints.extend(panics(&self.executors.iter().chain(&self.nodes).collect::<Vec<_>>()));
        Ok(complaints)
    }

    fn note(&mut self, what: &str, from: i64) {
        let to = now_ms();
        println!("  {NAME}: {} {what}, {} ms", rfc3339(from), to - from);
        self.faults.push(FaultSpan { what: what.to_owned(), from, to });
    }
}
