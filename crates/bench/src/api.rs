//! The API: how many jobs per second a real server acknowledges over TCP and what CPU each takes, beside a bare handler on
//! the same store, and beside the engine alone with as many callers.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;
use ordo_engine::clock::{Stopwatch, new_id};
use ordo_model::Millis;
use serde_json::{Value, json};

use super::bare::READY;
use super::schedule::{self, AHEAD, per_second};
use super::stage::Ground;

const CLIENTS: usize = 64;
const SECONDS: u64 = 5;

pub(super) async fn measure(ground: &Ground, jobs: usize) -> anyhow::Result<Value> {
    // Twice and in turns, so that a noisy moment of the machine hits both.
    let mut engine = 0.0_f64;
    let (mut api, mut bare) = (Served::default(), Served::default());
    for _ in 0..2 {
        engine = engine.max(schedule::clients(ground, CLIENTS, jobs).await?);
        api = api.better(over_tcp(ground, jobs, &DAEMON).await?);
        bare = bare.better(over_tcp(ground, jobs, &BARE).await?);
    }
    let ratio = |ours: f64, theirs: f64| (ours / theirs * 100.0).round() / 100.0;
    Ok(json!({
        "clients": CLIENTS,
        "acks_per_s": api.per_second.round(),
        "engine_acks_per_s": engine.round(),
        "ratio": ratio(api.per_second, engine),
        "cpu_us": api.cpu_micros.map(f64::round),
        "bare_acks_per_s": bare.per_second.round(),
        "bare_cpu_us": bare.cpu_micros.map(f64::round),
        "cpu_ratio": api.cpu_micros.zip(bare.cpu_micros).map(|(ours, bare)| ratio(ours, bare)),
    }))
}

/// How a server did: requests per second, and its CPU for each where the system says it.
#[derive(Debug, Clone, Copy, Default)]
struct Served {
    per_second: f64,
    cpu_micros: Option<f64>,
}

impl Served {
    /// The calmer of two runs.
    fn better(self, other: Served) -> Served {
        if other.per_second > self.per_second { other } else { self }
    }
}

/// What of this binary is started, and where it then keeps its token.
struct Program {
    args: &'static [&'static str],
    token: Option<&'static str>,
}

const DAEMON: Program =
    Program { args: &["serve", "--listen", "127.0.0.1:0", "--log-level", "error"], token: Some(".ordo/token") };
const BARE: Program = Program { args: &["bench", "bare", "--dir", "."], token: None };

/// A daemon of this very binary in a folder of its own. Ended when dropped.
struct BenchServer {
    child: Child,
    folder: PathBuf,
    url: String,
    token: String,
}

impl BenchServer {
    fn start(below: &Path, program: &Program) -> anyhow::Result<BenchServer> {
        let folder = below.join(format!("ordo-bench-{}", new_id()));
        std::fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        let mut child = Command::new(std::env::current_exe()?)
            .args(program.args)
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let said = child.stderr.take().context("the server's words cannot be read")?;
        let mut lines = BufReader::new(said).lines();
        let ready = lines.find_map(|line| line.ok()?.strip_prefix(READY).map(str::to_owned));
        let url = ready.context("the server ended before it was ready")?;
        // What it says from here on is nobody's concern, but it must be able to say it.
        std::thread::spawn(move || lines.for_each(drop));
        let token = program.token.map(|file| std::fs::read_to_string(folder.join(file))).transpose()?;
        Ok(BenchServer { child, folder, url, token: token.unwrap_or_default().trim().to_owned() })
    }

    /// The CPU it has used so far, where the system says it.
    fn cpu_micros(&self) -> Option<u64> {
        // Linux counts in hundredths of a second.
        const TICK_MICROS: u64 = 10_000;
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        // The name of the program stands in brackets and may hold anything.
        let (_, fields) = stat.rsplit_once(')')?;
        let mut times = fields.split_whitespace().skip(11).map(str::parse::<u64>);
        Some((times.next()?.ok()? + times.next()?.ok()?) * TICK_MICROS)
    }
}

impl Drop for BenchServer {
    fn drop(&mut self) {
        // It may have ended by itself; the folder goes in any case.
        drop(self.child.kill());
        drop(self.child.wait());
        if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            eprintln!("{} stays behind: {error}", self.folder.display());
        }
    }
}

async fn over_tcp(ground: &Ground, jobs: usize, program: &Program) -> anyhow::Result<Served> {
    let Ground::Folder(below) = ground else { anyhow::bail!("the API is measured on the embedded store: use --dir") };
    let server = BenchServer::start(below, program)?;
    let cpu_before = server.cpu_micros();
    let (url, token) = (format!("{}/v1/jobs", server.url), server.token.clone());
    let at = ordo_engine::clock::Clock::now(&ordo_engine::clock::SystemClock).plus(AHEAD);
    let body =
        json!({ "label": "bench", "tool_name": "noop", "trigger": { "type": "scheduled", "at": at } }).to_string();
    let acks = Arc::new(AtomicUsize::new(0));
    let watch = Stopwatch::start();
    let mut tasks = Vec::new();
    for _ in 0..CLIENTS {
        let (url, token, body, acks) = (url.clone(), token.clone(), body.clone(), acks.clone());
        tasks.push(tokio::spawn(async move {
            let tls = ordo_tls::plain_http()?;
            let client = reqwest::Client::builder().no_proxy().tls_backend_preconfigured(tls).build()?;
            while acks.load(Ordering::Relaxed) < jobs && watch.elapsed() < Millis::from_secs(SECONDS) {
                let request = client.post(&url).bearer_auth(&token).header("content-type", "application/json");
                let answer = request.body(body.clone()).send().await?;
                anyhow::ensure!(answer.status() == 201, "answered {}", answer.status());
                answer.bytes().await?;
                acks.fetch_add(1, Ordering::Relaxed);
            }
            anyhow::Ok(())
        }));
    }
    for task in tasks {
        task.await??;
    }
    let acks = acks.load(Ordering::Relaxed);
    let cpu = server.cpu_micros().zip(cpu_before).map(|(after, before)| after.saturating_sub(before));
    let cpu_micros = cpu.map(|micros| micros as f64 / acks.max(1) as f64);
    Ok(Served { per_second: per_second(acks, &watch), cpu_micros })
}
