//! The environment of a daemon: what it was started with is read once, and not shown to what it starts; and what the
//! allocator is to read stands in it.
//!
//! The kernel shows every process of the same user the environment another one was executed with (`/proc/PID/environ`),
//! and a tool knows its parent. So a daemon executes itself once more with little in its environment, and is handed the
//! rest through a pipe. Invariant: after `shed` nothing but [`SHOWN`] and [`ALLOCATOR`] stands in the environment of this process, and all
//! of Ordo reads variables through here.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Says that the rest comes through standard input.
const HANDED: &str = "ORDO_HANDED_OVER";
/// What every pipe takes without a reader.
const PIPE_BYTES: usize = 60_000;

/// What may be seen by all: where things are, how to speak, whom to notify. None of it lets anybody in.
const SHOWN: [&str; 28] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PWD",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TZDIR",
    "TMPDIR",
    "TERM",
    "NO_COLOR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "NOTIFY_SOCKET",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
    "LISTEN_PID",
    "LISTEN_FDS",
    "LISTEN_FDNAMES",
    "JOURNAL_STREAM",
    "INVOCATION_ID",
    "ORDO_SERVER",
    "ORDO_CA_FILE",
    "LLVM_PROFILE_FILE",
];
/// What the allocator reads when a process begins, unless somebody has set it. Without huge pages: the kernel fills two
/// megabytes with zeros for each, and those of a burst are given back right after it. What is free is kept for a second, so
/// that a steady load does not give back and ask for the same memory a hundred times in that time.
const ALLOCATOR: [(&str, &str); 2] = [("MIMALLOC_ALLOW_THP", "0"), ("MIMALLOC_PURGE_DELAY", "1000")];
/// Read by the HTTP client itself, which looks nowhere else.
const PROXIES: [&str; 4] = ["http_proxy", "https_proxy", "all_proxy", "no_proxy"];

type Variables = BTreeMap<OsString, OsString>;

static READ: OnceLock<Variables> = OnceLock::new();

/// All variables of this process, wherever they came from.
pub(crate) fn all() -> &'static Variables {
    READ.get_or_init(|| std::env::vars_os().collect())
}

pub(crate) fn var(name: &str) -> Option<String> {
    all().get(OsStr::new(name)).and_then(|value| value.to_str()).map(str::to_owned)
}

/// Leaves the environment behind: returns in the process that has none, or where that is not possible.
pub(crate) fn shed() {
    if std::env::var_os(HANDED).is_some() {
        let handed = receive();
        // Whoever reads first fixes what is read: nobody has yet.
        let kept = std::env::vars_os().filter(|(name, _)| name != HANDED);
        drop(READ.set(kept.chain(handed).collect()));
        return;
    }
    let (shown, hidden): (Variables, Variables) = std::env::vars_os().partition(|(name, _)| is_shown(name));
    if let Err(error) = hand_over(&shown, &hidden) {
        eprintln!("warning: what Ordo is started with can be seen by the commands it starts: {error}");
    }
}

fn is_shown(name: &OsStr) -> bool {
    let lower = name.to_ascii_lowercase();
    let is_locale = name.as_bytes().starts_with(b"LC_");
    let is_allocator = ALLOCATOR.iter().any(|(shown, _)| name == *shown);
    is_locale || is_allocator || SHOWN.iter().any(|shown| name == *shown) || PROXIES.iter().any(|proxy| lower == *proxy)
}

/// Does not return if it succeeds: the process goes on from its beginning, under the same number.
fn hand_over(shown: &Variables, hidden: &Variables) -> std::io::Result<()> {
    let written = written(hidden);
    if written.len() > PIPE_BYTES {
        return Err(std::io::Error::other(format!("it is longer than {PIPE_BYTES} bytes")));
    }
    let program = std::env::current_exe()?;
    let (reader, mut writer) = std::io::pipe()?;
    writer.write_all(&written)?;
    drop(writer);
    let mut arguments = std::env::args_os();
    let mut again = Command::new(program);
    again.arg0(arguments.next().unwrap_or_else(|| "ordo".into())).args(arguments);
    again.env_clear().envs(ALLOCATOR).envs(shown).env(HANDED, "1").stdin(Stdio::from(reader));
    Err(again.exec())
}

/// `NAME=VALUE`, each ended by a zero byte, which no variable can hold.
fn written(variables: &Variables) -> Vec<u8> {
    let entry = |(name, value): (&OsString, &OsString)| [name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat();
    variables.iter().flat_map(entry).collect()
}

fn receive() -> Variables {
    let mut bytes = Vec::new();
    if let Err(error) = std::io::stdin().read_to_end(&mut bytes) {
        eprintln!("warning: a part of the environment could not be read: {error}");
    }
    read(&bytes)
}

fn read(bytes: &[u8]) -> Variables {
    let entries = bytes.split(|byte| *byte == 0).filter_map(|entry| {
        let place = entry.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (entry[..place].to_vec(), entry[place + 1..].to_vec());
        Some((OsString::from_vec(name), OsString::from_vec(value)))
    });
    entries.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_handed_over_arrives_as_it_was() {
        let variables: Variables = [("A", "1"), ("EMPTY", ""), ("LINES", "a\nb=c"), ("ORDO_TOKEN", "geheim ü")]
            .map(pair)
            .into_iter()
            .collect();
        assert_eq!(read(&written(&variables)), variables);
        assert!(read(b"").is_empty());
    }

    fn pair((name, value): (&str, &str)) -> (OsString, OsString) {
        (name.into(), value.into())
    }

    #[test]
    fn what_lets_somebody_in_is_not_shown() {
        for hidden in ["ORDO_TOKEN", "ORDO_SLACK__BOT_TOKEN", "OTEL_EXPORTER_OTLP_HEADERS", "AWS_SECRET_ACCESS_KEY"] {
            assert!(!is_shown(OsStr::new(hidden)), "{hidden}");
        }
        for shown in ["PATH", "LC_ALL", "NOTIFY_SOCKET", "HTTPS_PROXY"] {
            assert!(is_shown(OsStr::new(shown)), "{shown}");
        }
    }
}
