//! A trial from its beginning to the record that is judged.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use anyhow::{Context, Result, anyhow};
use serde_json::Value;

use super::cluster::{self, NodeCluster};
use super::customer::Customer;
use super::embedded::{self, Embedded};
use super::evidence::EvidenceFile;
use super::follower::FollowedEvents;
use super::jobs::{JobMaker, TAIL_LABEL};
use super::judge::{ClockSpan, TrialRecord};
use super::stream::{self, JobRecord};
use crate::lab::clock::{now_ms, pause, within};
use crate::lab::node::OrdoProcess;
use crate::lab::process::output;
use crate::lab::random::SeededRandom;
use crate::lab::socket::SocketClient;

/// After the last fault: time to settle, and five beats of a second each.
const EMBEDDED_CALM_MS: i64 = 4_000;
/// What an executor that died was given is settled when its lease is over (15 s), and the next one begins after that.
const CLUSTER_CALM_MS: i64 = 20_000;
const FAULTS_AT_LEAST_MS: i64 = 12_000;
const TAIL_MS: i64 = 9_000;
/// All runs are over by then, and whoever follows has heard of it.
const SETTLED_WITHIN_MS: i64 = 60_000;
const JOBS_AT_FIRST: usize = 40;

pub(super) fn embedded(binary: &Path, folder: &Path, seed: u64, seconds: i64) -> Result<TrialRecord> {
    std::fs::create_dir_all(folder)?;
    println!("one daemon on the embedded store, seed {seed}");
    let mut chance = SeededRandom::new(seed);
    let from = now_ms();
    let until = from + (seconds * 1_000 - EMBEDDED_CALM_MS - TAIL_MS).max(seconds * 500);
    let mut system = Embedded::start(binary, folder, chance.fork(), until)?;
    let crowd = Crowd::begin(&mut chance, vec![system.daemon.client()], folder, until, &["default"]);
    system.torture()?;
    let healed_at = now_ms();
    pause(EMBEDDED_CALM_MS + TAIL_MS);
    let watched = crowd.end(&system.daemon.client())?;
    let mut complaints = panics(&[&system.daemon]);
    complaints.extend(stop_and_check(&mut system.daemon, None)?);
    Ok(TrialRecord {
        name: embedded::NAME,
        seed,
        from,
        healed_at,
        calm_from: healed_at + EMBEDDED_CALM_MS,
        to: now_ms(),
        evidence: EvidenceFile::read(&watched.evidence)?,
        jobs: watched.customer.jobs,
        seen_ends: watched.customer.seen_ends,
        records: watched.records,
        followed: watched.followed,
        faults: std::mem::take(&mut system.faults),
        clock: std::mem::take(&mut system.clock),
        left_out: std::mem::take(&mut system.left_out),
        complaints,
    })
}

pub(super) fn cluster(binary: &Path, folder: &Path, seed: u64, seconds: i64) -> Result<TrialRecord> {
    std::fs::create_dir_all(folder)?;
    println!("three nodes on PostgreSQL, seed {seed}");
    let mut chance = SeededRandom::new(seed);
    let from = now_ms();
    let mut system = NodeCluster::start(binary, folder, chance.fork())?;
    let until = (from + seconds * 1_000 - CLUSTER_CALM_MS - TAIL_MS).max(now_ms() + FAULTS_AT_LEAST_MS);
    let crowd = Crowd::begin(&mut chance, system.clients(), folder, until, cluster::GROUPS);
    system.torture(until)?;
    let healed_at = now_ms();
    pause(CLUSTER_CALM_MS + TAIL_MS);
    let watched = crowd.end(&system.nodes[0].client())?;
    let mut complaints = system.missing(&system.nodes[0].client());
    complaints.extend(system.stop()?);
    let store = system.database_url();
    complaints.extend(stop_and_check(&mut system.nodes[0], Some(&store))?);
    Ok(TrialRecord {
        name: cluster::NAME,
        seed,
        from,
        healed_at,
        calm_from: healed_at + CLUSTER_CALM_MS,
        to: now_ms(),
        evidence: EvidenceFile::read(&watched.evidence)?,
        jobs: watched.customer.jobs,
        seen_ends: watched.customer.seen_ends,
        records: watched.records,
        followed: watched.followed,
        faults: std::mem::take(&mut system.faults),
        clock: vec![ClockSpan { from, ahead_ms: cluster::CLOCK_KNOWN_TO_MS }],
        left_out: std::mem::take(&mut system.left_out),
        complaints,
    })
}

/// Everybody around the system: who uses it, and who follows what happens.
pub(super) struct Crowd {
    stop_customer: Arc<AtomicBool>,
    stop_follower: Arc<AtomicBool>,
    customer: JoinHandle<Customer>,
    follower: JoinHandle<FollowedEvents>,
    evidence: PathBuf,
}

pub(super) struct Watched {
    pub(super) customer: Customer,
    pub(super) followed: FollowedEvents,
    pub(super) records: Vec<JobRecord>,
    pub(super) evidence: PathBuf,
}

impl Crowd {
    pub(super) fn begin(
        chance: &mut SeededRandom,
        clients: Vec<SocketClient>,
        folder: &Path,
        until: i64,
        groups: &'static [&'static str],
    ) -> Crowd {
        let evidence = folder.join("evidence.log");
        let mut customer =
            Customer::new(clients.clone(), JobMaker::new(chance.fork(), until, groups), evidence.clone());
        customer.begin(JOBS_AT_FIRST);
        let (stop_customer, stop_follower) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (stop, follower_chance) = (Arc::clone(&stop_follower), chance.fork());
        let follower = std::thread::spawn(move || FollowedEvents::default().follow(&clients, follower_chance, &stop));
        let stop = Arc::clone(&stop_customer);
        let customer = std::thread::spawn(move || customer.work(&stop));
        Crowd { stop_customer, stop_follower, customer, follower, evidence }
    }

    /// Waits until everything that was begun is over, and reads all of it.
    pub(super) fn end(self, client: &SocketClient) -> Result<Watched> {
        self.stop_customer.store(true, Ordering::Relaxed);
        let customer = self.customer.join().map_err(|_| anyhow!("the customer panicked"))?;
        let is_settled = || ["pending", "running"].into_iter().all(|status| is_over(client, status));
        // Those that beat to the end go on; what does not settle is found by the judge.
        within(SETTLED_WITHIN_MS, is_settled);
        let records = stream::read_all(client).context("reading the end of it")?;
        // What was committed last has reached whoever follows.
        pause(2_000);
        self.stop_follower.store(true, Ordering::Relaxed);
        let followed = self.follower.join().map_err(|_| anyhow!("the follower panicked"))?;
        Ok(Watched { customer, followed, records, evidence: self.evidence })
    }
}

/// Whether no run has this status, those of jobs that beat to the end left aside.
fn is_over(client: &SocketClient, status: &str) -> bool {
    let Ok(page) = client.get(&format!("/v1/runs?status={status}&limit=200")) else { return false };
    let is_tail = |run: &Value| run["label"].as_str().is_some_and(|label| label.starts_with(TAIL_LABEL));
    page["items"].as_array().is_some_and(|runs| runs.iter().all(is_tail))
}

pub(super) fn panics(processes: &[&OrdoProcess]) -> Vec<(&'static str, String)> {
    processes.iter().flat_map(|process| process.panics()).map(|line| ("P11", line)).collect()
}

/// Stops a daemon and lets it check its own store; what was found wrong.
pub(super) fn stop_and_check(daemon: &mut OrdoProcess, store: Option<&str>) -> Result<Vec<(&'static str, String)>> {
    let mut complaints = Vec::new();
    if !daemon.stop()? {
        complaints.push(("P11", format!("{} did not end well when it was asked to", daemon.name)));
    }
    let mut command = daemon.command(&["store", "check"]);
    if let Some(store) = store {
        command.args(["--store", store]);
    }
    match output(&mut command) {
        Ok(said) if String::from_utf8_lossy(&said.stdout).starts_with("clean") => {}
        Ok(said) => complaints.push(("P9", format!("ordo store check: {}", String::from_utf8_lossy(&said.stdout)))),
        Err(error) => complaints.push(("P9", format!("ordo store check: {error:#}"))),
    }
    Ok(complaints)
}
