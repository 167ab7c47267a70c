//! `ordo watch --monitor NAME -- COMMAND`: runs the command and pings the monitor with its outcome.
//!
//! Invariant: the command runs and its exit code is passed on, whatever the server does. What it prints goes where it
//! would have gone; the end of it goes to the monitor too.

use std::io::{Read, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ordo_model::limits::PING_BODY_MAX_BYTES;

use crate::cli::alerting::monitor::WatchArgs;
use crate::commands::talk::CommandSession;
use crate::error::{Error, Exit, Result};
use crate::output;

/// How long a server may keep the command waiting.
const PATIENCE: Duration = Duration::from_secs(3);
/// The shell's own codes for a command that is not there or cannot be run.
const NOT_FOUND: i32 = 127;
const NOT_RUN: i32 = 126;

pub(crate) async fn run(talk: Result<CommandSession>, args: &WatchArgs) -> Result<Exit> {
    let talk = match talk {
        Ok(talk) => talk,
        Err(error) => {
            unreported(&args.monitor, &error);
            std::process::exit(execute(&args.command).code)
        }
    };
    watched(&talk, args).await
}

fn unreported(monitor: &str, error: &Error) {
    output::note(&format!("ordo watch: monitor {monitor} cannot be pinged: {}", error.title()));
}

async fn watched(talk: &CommandSession, args: &WatchArgs) -> Result<Exit> {
    let path = ping_path(talk, &args.monitor).await;
    if let Some(path) = &path {
        ping(talk, &format!("{path}/start"), "").await;
    }
    let ended = execute(&args.command);
    // A server that was away when it began may be back.
    let path = match path {
        Some(path) => Some(path),
        None => ping_path(talk, &args.monitor).await,
    };
    if let Some(path) = path {
        let suffix = if ended.code == 0 { "" } else { "/fail" };
        ping(talk, &format!("{path}{suffix}"), &ended.said).await;
    }
    std::process::exit(ended.code)
}

struct EndedProcess {
    code: i32,
    said: String,
}

async fn ping_path(talk: &CommandSession, name: &str) -> Option<String> {
    let found = tokio::time::timeout(PATIENCE, talk.get(&format!("/v1/monitors/{name}"))).await;
    let signalled = match found {
        Ok(found) => found,
        Err(_) => Err(Error::failed(format!("no answer within {PATIENCE:?}"))),
    };
    match signalled {
        Ok(monitor) => {
            let path = monitor["ping_path"].as_str().map(str::to_owned);
            if path.is_none() {
                unreported(name, &Error::failed("the token may only read; pinging a monitor needs the role operator"));
            }
            path
        }
        Err(error) => {
            unreported(name, &error);
            None
        }
    }
}

async fn ping(talk: &CommandSession, path: &str, said: &str) {
    let sent = tokio::time::timeout(PATIENCE, talk.client.post_text(path, said)).await;
    match sent {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => output::note(&format!("ordo watch: the monitor was not pinged: {error}")),
        Err(_) => output::note(&format!("ordo watch: the monitor was not pinged: no answer within {PATIENCE:?}")),
    }
}

fn execute(command: &[String]) -> EndedProcess {
    let (program, arguments) = command.split_first().map_or(("", command), |(first, rest)| (first.as_str(), rest));
    let spawned = Command::new(program).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => {
            let said = format!("{program}: {error}");
            output::note(&format!("ordo watch: {said}"));
            let code = if error.kind() == std::io::ErrorKind::NotFound { NOT_FOUND } else { NOT_RUN };
            return EndedProcess { code, said };
        }
    };
    let tail = Arc::new(Mutex::new(Vec::new()));
    let readers = [
        child.stdout.take().map(|from| copy(from, std::io::stdout(), tail.clone())),
        child.stderr.take().map(|from| copy(from, std::io::stderr(), tail.clone())),
    ];
    let status = child.wait();
    for reader in readers.into_iter().flatten() {
        // A reader that panicked has printed why.
        drop(reader.join());
    }
    let code = status.map_or(NOT_RUN, code_of);
    let said = String::from_utf8_lossy(&tail.lock().unwrap_or_else(PoisonError::into_inner)).into_owned();
    EndedProcess { code, said: format!("{said}\nexit code {code}\n") }
}

/// Hands on what comes, and keeps the end of it.
fn copy(
    mut from: impl Read + Send + 'static,
    mut to: impl Write + Send + 'static,
    tail: Arc<Mutex<Vec<u8>>>,
) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let mut buffer = [0; 8 * 1024];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            // Nobody may be left to read it; the command goes on all the same.
            let _ = to.write_all(&buffer[..count]).and_then(|()| to.flush());
            let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
            tail.extend_from_slice(&buffer[..count]);
            let extra = tail.len().saturating_sub(PING_BODY_MAX_BYTES);
            tail.drain(..extra);
        }
    })
}

/// As a shell reports it: a signal is 128 plus its number.
fn code_of(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}
