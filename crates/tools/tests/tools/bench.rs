//! A bench to try tools on: attempts with a log that can be read, and waiting for processes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ordo_engine::clock::{SystemClock, new_id};
use ordo_engine::logs::{LogLine, LogSink};
use ordo_engine::tool::{Failure, Tool, Work};
use ordo_engine::trace::{RunTrace, Sampling};
use ordo_model::LogStream;
use ordo_model::{FencingToken, JobId, RunId};
use ordo_tools::{Environment, Launcher, ProcessBook, ProcessRunner, Shell};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::UnixStream;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::sync::CancellationToken;

/// Longer than anything here takes; reaching it is a failure.
const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) struct Bench {
    pub(crate) folder: TempDir,
    pub(crate) runner: Arc<ProcessRunner>,
}

pub(crate) struct Log(UnboundedReceiver<(RunId, LogLine)>);

impl Bench {
    pub(crate) fn new() -> Bench {
        Bench::with_environment(std::env::vars_os())
    }

    pub(crate) fn with_environment(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let book = ProcessBook::open(folder.path().join("processes"), new_id()).unwrap();
        let runner = ProcessRunner::new(book, Environment::of(variables, &[]), launcher());
        Bench { folder, runner: Arc::new(runner) }
    }

    /// With a cgroup for each attempt; nothing where this machine does not let us make one.
    pub(crate) fn with_cgroups() -> Option<Bench> {
        let bench = Bench::new();
        let launcher = launcher().with_cgroups();
        if launcher.tracking() != "cgroup" {
            println!("skipped: no cgroup can be made here");
            return None;
        }
        let book = ProcessBook::open(bench.folder.path().join("processes"), new_id()).unwrap();
        let environment = Environment::of(std::env::vars_os(), &[]);
        Some(Bench { runner: Arc::new(ProcessRunner::new(book, environment, launcher)), ..bench })
    }

    pub(crate) fn shell(&self) -> Shell {
        Shell::new(self.runner.clone(), None)
    }

    /// Runs a shell input to its end.
    pub(crate) async fn run(&self, input: Value) -> (Result<Value, Failure>, Vec<LogLine>) {
        run(&self.shell(), input).await
    }

    pub(crate) fn records(&self) -> Vec<String> {
        records(&self.folder)
    }
}

/// The launcher as a program of its own: a test has no `main` that could be one.
pub(crate) fn launcher() -> Launcher {
    Launcher::at(env!("CARGO_BIN_EXE_ordo-launcher"))
}

pub(crate) fn records(folder: &TempDir) -> Vec<String> {
    let files = fs::read_dir(folder.path().join("processes")).unwrap();
    files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
}

pub(crate) async fn run(tool: &dyn Tool, input: Value) -> (Result<Value, Failure>, Vec<LogLine>) {
    assert_eq!(tool.check(&input), Ok(()));
    let (work, log) = attempt(input);
    let outcome = in_time(tool.run(work.clone())).await;
    work.log.finish();
    drop(work);
    (outcome, log.lines())
}

pub(crate) fn attempt(input: Value) -> (Work, Log) {
    static TOKENS: AtomicU64 = AtomicU64::new(1);
    let run_id = RunId(new_id());
    let (to, from) = unbounded_channel();
    let work = Work {
        job_id: JobId(new_id()),
        run_id,
        label: "a label".to_owned(),
        attempt: 1,
        token: FencingToken(TOKENS.fetch_add(1, Ordering::Relaxed)),
        scheduled_for: None,
        shard: None,
        input,
        trace: RunTrace::of(run_id, None, Sampling::ALL),
        payload: None,
        log: LogSink::new(run_id, Arc::new(SystemClock), to),
        cancel: CancellationToken::new(),
    };
    (work, Log(from))
}

impl Log {
    /// Everything written so far.
    pub(crate) fn lines(mut self) -> Vec<LogLine> {
        std::iter::from_fn(|| self.0.try_recv().ok()).map(|(_, line)| line).collect()
    }

    /// The next line of the command itself.
    pub(crate) async fn next(&mut self) -> String {
        let (_, line) = in_time(self.0.recv()).await.expect("a line");
        line.text
    }
}

pub(crate) fn texts(lines: &[LogLine], stream: LogStream) -> Vec<&str> {
    lines.iter().filter(|line| line.stream == stream).map(|line| line.text.as_str()).collect()
}

pub(crate) async fn in_time<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, what).await.expect("in time")
}

/// Until a process has ended, whoever reaps it: its handle is readable then.
pub(crate) async fn gone(pid: i32) {
    let handle = match pidfd_open(Pid::from_raw(pid).expect("a process"), PidfdFlags::NONBLOCK) {
        // No stream, but whatever can be waited for is waited for alike; nothing is read from it.
        Ok(handle) => UnixStream::from_std(handle.into()).unwrap(),
        Err(Errno::SRCH) => return,
        Err(error) => panic!("process {pid}: {error}"),
    };
    in_time(handle.readable()).await.unwrap();
}

/// Whether a process runs; one that waits to be reaped does not.
pub(crate) fn is_alive(pid: i32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let (_, rest) = stat.rsplit_once(')').unwrap();
    !matches!(rest.split_ascii_whitespace().next(), Some("Z" | "X"))
}

/// Variables a command printed with `env`.
pub(crate) fn variables(output: &[&str]) -> BTreeMap<String, String> {
    output.iter().filter_map(|line| line.split_once('=')).map(|(name, value)| (name.into(), value.into())).collect()
}
