//! The real binary in a folder of its own: start a daemon, run commands, wait for what must come.

#![allow(dead_code)]

pub(crate) mod tls;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use ordo_engine::clock::Stopwatch;
use serde_json::Value;

/// Nothing in these tests takes this long, unless it is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// Between two questions.
const ASKED_EVERY: Duration = Duration::from_millis(20);

/// A folder in which Ordo lives.
#[derive(Debug)]
pub(crate) struct World {
    folder: tempfile::TempDir,
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    #[track_caller]
    pub(crate) fn done(self) -> Ran {
        assert_eq!(self.code, 0, "{self:#?}");
        self
    }

    /// Ended with this code, having said each of these.
    #[track_caller]
    pub(crate) fn refused(&self, code: i32, said: &[&str]) {
        assert_eq!(self.code, code, "{self:#?}");
        for words in said {
            assert!(self.err.contains(words), "not said: {words}\n{self:#?}");
        }
        assert!(!self.err.contains("panicked"), "{self:#?}");
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ran { code: code_of(output.status), out: text(output.stdout), err: text(output.stderr) }
    }
}

fn code_of(status: ExitStatus) -> i32 {
    status.code().unwrap_or(-1)
}

impl World {
    pub(crate) fn new() -> World {
        World { folder: tempfile::Builder::new().prefix("ordo-").tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.file(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    /// The binary, with an environment that says nothing about Ordo.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ordo"));
        for (name, _) in std::env::vars_os() {
            if ["ORDO_", "OTEL_", "TRACEPARENT"].iter().any(|ours| name.to_string_lossy().starts_with(ours)) {
                command.env_remove(name);
            }
        }
        command.args(args).current_dir(self.path()).env("TZ", "UTC").stdin(Stdio::null());
        command
    }

    pub(crate) fn ordo(&self, args: &[&str]) -> Ran {
        self.command(args).output().unwrap().into()
    }

    /// The answer of a command as JSON.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        // In front: what stands behind `--` belongs to a command.
        let args: Vec<&str> = ["--output", "json"].iter().chain(args).copied().collect();
        self.ordo(&args).done().json()
    }

    /// A daemon on a free port that looks twice a second.
    pub(crate) fn serve(&self) -> Daemon {
        self.serve_with(&[])
    }

    pub(crate) fn serve_with(&self, more: &[&str]) -> Daemon {
        self.serve_on("127.0.0.1:0", more)
    }

    /// A daemon on a port that it finds free when it comes back.
    pub(crate) fn serve_lastingly(&self, more: &[&str]) -> Daemon {
        self.serve_on(&lasting_address(), more)
    }

    pub(crate) fn serve_on(&self, listen: &str, more: &[&str]) -> Daemon {
        let args: Vec<&str> =
            ["serve", "--listen", listen, "--tick-rate", "500ms"].into_iter().chain(more.iter().copied()).collect();
        Daemon::start(self.command(&args))
    }

    /// The runs of a job, newest first.
    pub(crate) fn runs(&self, job: &str) -> Vec<Value> {
        self.json(&["run", "list", "--job", job, "--all"]).as_array().unwrap().clone()
    }

    /// The newest run of a job, once it is over.
    #[track_caller]
    pub(crate) fn over(&self, job: &str) -> Value {
        eventually(&format!("{job} is over"), || {
            let run = self.runs(job).into_iter().next()?;
            (!["pending", "running"].contains(&run["status"]["type"].as_str()?)).then_some(run)
        })
    }

    pub(crate) fn client(&self) -> ordo_client::Client {
        ordo_client::Client::new(ordo_client::Target::Socket(self.file(".ordo/orchestrator.sock")), None)
    }
}

/// An address below the ports that the system gives to connections (32768 and above): none takes it while its daemon is
/// away. Each process of tests begins at another.
fn lasting_address() -> String {
    let first = 10_000 + std::process::id() * 16 % 20_000;
    let is_free = |port: &u32| std::net::TcpListener::bind(("127.0.0.1", *port as u16)).is_ok();
    let port = (first..32_768).find(is_free).expect("a free port below 32768");
    format!("127.0.0.1:{port}")
}

/// A running daemon. Killed when dropped.
#[derive(Debug)]
pub(crate) struct Daemon {
    child: Child,
    said: Arc<Transcript>,
    reader: Option<JoinHandle<()>>,
    pub(crate) place: String,
}

/// What a process has said so far; whoever waits for a word is woken at every line, and at the end.
#[derive(Debug, Default)]
struct Transcript {
    said: Mutex<(String, bool)>,
    more: Condvar,
}

impl Transcript {
    fn read(&self, from: impl std::io::Read) {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            self.said.lock().unwrap().0.push_str(&format!("{line}\n"));
            self.more.notify_all();
        }
        self.said.lock().unwrap().1 = true;
        self.more.notify_all();
    }

    fn text(&self) -> String {
        self.said.lock().unwrap().0.clone()
    }

    /// Waits until something was said that `find` recognises.
    #[track_caller]
    fn wait_for<T>(&self, what: &str, find: impl Fn(&str) -> Option<T>) -> T {
        self.wait_within(PATIENCE, what, find)
    }

    #[track_caller]
    fn wait_within<T>(&self, patience: Duration, what: &str, find: impl Fn(&str) -> Option<T>) -> T {
        let unheard = |(said, ended): &mut (String, bool)| find(said).is_none() && !*ended;
        let (said, _) = self.more.wait_timeout_while(self.said.lock().unwrap(), patience, unheard).unwrap();
        find(&said.0).unwrap_or_else(|| panic!("the daemon never said {what}:\n{}", said.0))
    }
}

impl Daemon {
    #[track_caller]
    pub(crate) fn start(command: Command) -> Daemon {
        Daemon::start_within(PATIENCE, command)
    }

    /// The same for one that has much to do before it is ready.
    #[track_caller]
    pub(crate) fn start_within(patience: Duration, mut command: Command) -> Daemon {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let said = Arc::new(Transcript::default());
        let (stderr, transcript) = (child.stderr.take().unwrap(), said.clone());
        let reader = std::thread::spawn(move || transcript.read(stderr));
        let mut daemon = Daemon { child, said, reader: Some(reader), place: String::new() };
        daemon.place = daemon.said.wait_within(patience, "that it is ready", |said| {
            said.lines().find_map(|line| line.strip_prefix("ordo is ready at ")).map(str::to_owned)
        });
        daemon
    }

    pub(crate) fn said(&self) -> String {
        self.said.text()
    }

    /// Waits until it has said this.
    #[track_caller]
    pub(crate) fn wait_for(&self, words: &str) {
        self.said.wait_for(words, |said| said.contains(words).then_some(()));
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits for its end; its exit code and all it said.
    pub(crate) fn end(mut self) -> (i32, String) {
        let status = eventually("the daemon has ended", || self.child.try_wait().unwrap());
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        (code_of(status), self.said())
    }

    pub(crate) fn stop(self) -> (i32, String) {
        self.signal(rustix::process::Signal::TERM);
        self.end()
    }

    pub(crate) fn kill(self) {
        self.signal(rustix::process::Signal::KILL);
        self.end();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a process has ended; one that nobody collected has.
pub(crate) fn is_gone(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.is_empty() || stat.contains(") Z ")
}

/// Asks again until there is an answer. Another process cannot be awaited, only asked: this is the one place where
/// these tests ask again, and [`within`], [`try_within`] and [`within_async`] are its other forms.
#[track_caller]
pub(crate) fn eventually<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, what, ask)
}

/// The same for what may take longer.
#[track_caller]
pub(crate) fn within<T>(patience: Duration, what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    try_within(patience, || ask().ok_or(())).unwrap_or_else(|()| panic!("waited in vain until {what}"))
}

/// The same for whoever goes on without an answer; the last refusal is returned.
#[allow(clippy::disallowed_methods, reason = "another process cannot be awaited, only asked again")]
pub(crate) fn try_within<T, E>(patience: Duration, mut ask: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    let watch = Stopwatch::start();
    loop {
        let answer = ask();
        if answer.is_ok() || watch.elapsed().to_std() >= patience {
            return answer;
        }
        std::thread::sleep(ASKED_EVERY);
    }
}

/// The same beside other work; what was seen instead is shown when the patience is over.
pub(crate) async fn within_async<T>(
    patience: Duration,
    what: &str,
    mut ask: impl AsyncFnMut() -> Result<T, String>,
) -> T {
    let watch = Stopwatch::start();
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(seen) => {
                assert!(watch.elapsed().to_std() < patience, "waited in vain until {what}: {seen}");
                between_questions().await;
            }
        }
    }
}

pub(crate) async fn between_questions() {
    tokio::time::sleep(ASKED_EVERY).await;
}
