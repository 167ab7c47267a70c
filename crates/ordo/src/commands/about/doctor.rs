//! `ordo doctor`: what stands in the way of a daemon here, and what to do about it.
//!
//! Invariant: it only looks. Each finding names one thing and, unless it is fine, one thing to do.

use std::net::{TcpListener, ToSocketAddrs};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ordo_model::{Millis, Timestamp};
use serde::Serialize;
use serde_json::Value;

use crate::cli::Common;
use crate::commands::find::text;
use crate::commands::talk::{CommandSession, wire};
use crate::config::{Config, Settings};
use crate::error::{Error, Exit, Result};
use crate::folder::{StateFolder, TOKEN, shown};
use crate::output::time;
use crate::store_location::StoreLocation;
use crate::zone;

/// Below this a store may stop any minute.
const DISK_LEAST_BYTES: u64 = 64 << 20;
/// Below this it is time to act.
const DISK_LOW_BYTES: u64 = 1 << 30;
/// Two clocks farther apart than this make occurrences early or late.
const CLOCK_APART: Millis = Millis::from_secs(2);
/// Before this no Ordo was built.
const EARLIEST_NOW: &str = "2025-01-01T00:00:00Z";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum CheckHealth {
    Good,
    Warning,
    Bad,
}

#[derive(Debug, Serialize)]
struct Finding {
    check: &'static str,
    health: CheckHealth,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

impl Finding {
    fn good(check: &'static str, found: impl Into<String>) -> Finding {
        Finding { check, health: CheckHealth::Good, found: found.into(), advice: None }
    }

    fn warning(check: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Finding {
        Finding { check, health: CheckHealth::Warning, found: found.into(), advice: Some(advice.into()) }
    }

    fn bad(check: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Finding {
        Finding { health: CheckHealth::Bad, ..Finding::warning(check, found, advice) }
    }
}

pub(crate) async fn run(common: &Common) -> Result<Exit> {
    let talk = CommandSession::new(common)?;
    let status = talk.client.get::<Value>("/v1/status").await;
    let mut findings = Vec::new();
    let settings = match Config::load(common.config.as_deref(), &[]) {
        Ok(config) => {
            findings.push(Finding::good("configuration", "it can be read"));
            Some(config.settings)
        }
        Err(error) => {
            findings.push(Finding::bad(
                "configuration",
                error.summary(),
                "correct it; ordo config --keys lists every key",
            ));
            None
        }
    };
    findings.extend(permissions());
    findings.push(clock(&talk, status.as_ref().ok()));
    if let Some(settings) = &settings {
        let place = StoreLocation::of(&settings.store.path);
        findings.push(disk(&place));
        findings.push(port(settings, status.is_ok()));
        findings.push(store(&place, status.as_ref().ok()));
    }
    findings.extend(time_zones(status.as_ref().ok()));
    findings.push(daemon(&talk, status));
    print(&talk, &findings)?;
    Ok(if findings.iter().any(|finding| finding.health == CheckHealth::Bad) { Exit::Failed } else { Exit::Done })
}

fn print(talk: &CommandSession, findings: &[Finding]) -> Result<()> {
    let items: Vec<Value> = findings.iter().map(wire).collect();
    talk.list(&items, || {
        let line = |finding: &Finding| {
            let sign = match finding.health {
                CheckHealth::Good => talk.paint.good("ok       "),
                CheckHealth::Warning => talk.paint.warn("warning  "),
                CheckHealth::Bad => talk.paint.bad("problem  "),
            };
            let advice = finding.advice.as_ref().map(|advice| format!("\n{:24}{advice}", "")).unwrap_or_default();
            format!("{:15}{sign}{}{advice}\n", finding.check, finding.found)
        };
        findings.iter().map(line).collect()
    })
}

/// The state folder and the token in it belong to one user alone.
fn permissions() -> Vec<Finding> {
    let Some(folder) = StateFolder::nearest_with(TOKEN) else {
        return vec![Finding::good("permissions", "there is no state folder yet; ordo serve creates .ordo")];
    };
    let token = folder.path().join(TOKEN);
    let mode = |path: &Path| std::fs::metadata(path).map(|found| found.permissions().mode() & 0o777);
    match mode(&token) {
        Ok(mode) if mode & 0o077 == 0 => {
            vec![Finding::good("permissions", format!("only its owner reads {}", shown(&token)))]
        }
        Ok(mode) => vec![Finding::bad(
            "permissions",
            format!("{} can be read by others (mode {mode:o})", shown(&token)),
            format!("chmod 600 {}; then replace the token: ordo token add, ordo token revoke", shown(&token)),
        )],
        Err(error) => vec![Finding::warning(
            "permissions",
            format!("{}: {error}", shown(&token)),
            "run it as the user of the daemon",
        )],
    }
}

fn clock(talk: &CommandSession, status: Option<&Value>) -> Finding {
    let now = talk.now();
    let advice = "set the clock, and keep it right with NTP (timedatectl set-ntp true)";
    if EARLIEST_NOW.parse::<Timestamp>().is_ok_and(|earliest| now < earliest) {
        return Finding::bad("clock", format!("it shows {now}"), advice);
    }
    match status.and_then(|status| time::of(&status["now"])) {
        Some(theirs) => {
            let apart = if theirs > now { theirs.since(now) } else { now.since(theirs) };
            if apart > CLOCK_APART {
                return Finding::warning(
                    "clock",
                    format!("it is {} away from the daemon's", time::rough(apart)),
                    advice,
                );
            }
            Finding::good("clock", "it agrees with the daemon's")
        }
        None => Finding::good("clock", format!("it shows {now}")),
    }
}

fn disk(place: &StoreLocation) -> Finding {
    let StoreLocation::File(path) = place else {
        return Finding::good("disk", "the store is a database");
    };
    let existing = path.ancestors().find(|folder| !folder.as_os_str().is_empty() && folder.exists());
    let folder = existing.unwrap_or(Path::new("."));
    let Ok(found) = rustix::fs::statvfs(folder) else {
        return Finding::warning(
            "disk",
            format!("{} cannot be looked at", shown(folder)),
            "see whether the folder exists",
        );
    };
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let said = format!("{} MiB free for {}", free >> 20, shown(path));
    match free {
        0..DISK_LEAST_BYTES => {
            Finding::bad("disk", said, "free some space: the daemon stops accepting work without it")
        }
        DISK_LEAST_BYTES..DISK_LOW_BYTES => Finding::warning("disk", said, "free some space, or shorten retention"),
        _ => Finding::good("disk", said),
    }
}

fn port(settings: &Settings, is_up: bool) -> Finding {
    let listen = &settings.serve.listen;
    if is_up {
        return Finding::good("port", "the daemon answers");
    }
    let addresses = listen.to_socket_addrs().map(|addresses| addresses.collect::<Vec<_>>());
    match addresses.map(|addresses| TcpListener::bind(addresses.as_slice())) {
        Ok(Ok(_)) => Finding::good("port", format!("{listen} is free")),
        Ok(Err(error)) => Finding::bad(
            "port",
            format!("{listen}: {error}"),
            "stop what listens there, or choose another: ordo serve --listen 127.0.0.1:7071",
        ),
        Err(error) => Finding::bad("port", format!("{listen}: {error}"), "write serve.listen as 127.0.0.1:7070"),
    }
}

fn store(place: &StoreLocation, status: Option<&Value>) -> Finding {
    match (status.map(|status| status["ready"] == true), place) {
        (Some(true), _) => {
            Finding::good("store", "the daemon can write; ordo store check compares every row with the log")
        }
        (Some(false), _) => Finding::bad("store", "the daemon cannot write", "see its log; ordo store check"),
        (None, StoreLocation::File(path)) if path.exists() => {
            match std::fs::OpenOptions::new().write(true).open(path) {
                Ok(_) => Finding::good(
                    "store",
                    format!("{} can be opened; ordo store check compares every row with the log", shown(path)),
                ),
                Err(error) => Finding::bad(
                    "store",
                    format!("{}: {error}", shown(path)),
                    "give the user of the daemon the right to write it",
                ),
            }
        }
        (None, StoreLocation::File(path)) => {
            Finding::good("store", format!("{} will be made on first use", shown(path)))
        }
        (None, StoreLocation::Database(_)) => {
            Finding::warning("store", place.shown(), "start the daemon to see whether it answers")
        }
    }
}

fn time_zones(status: Option<&Value>) -> Vec<Finding> {
    let here = ordo_model::zones::current();
    let version = here.version().unwrap_or("of unknown version").to_owned();
    let mut findings = Vec::new();
    match status.and_then(|status| status["time_zones"]["version"].as_str()) {
        Some(theirs) if theirs != version => findings.push(Finding::warning(
            "time zones",
            format!("{version} here, {theirs} in the daemon"),
            "upgrade the older of the two: previews and fires may differ",
        )),
        Some(_) | None => findings.push(Finding::good("time zones", version)),
    }
    if zone::local().iana_name().is_none() {
        findings.push(Finding::warning(
            "time zone",
            "this machine's has no name",
            "set TZ, for example TZ=Europe/Berlin, or name one with --tz",
        ));
    }
    findings
}

fn daemon(talk: &CommandSession, status: std::result::Result<Value, ordo_client::Error>) -> Finding {
    let target = talk.client.target();
    match status {
        Ok(status) if text(&status, "version") == env!("CARGO_PKG_VERSION") => {
            Finding::good("daemon", format!("version {} at {target}", text(&status, "version")))
        }
        Ok(status) => Finding::warning(
            "daemon",
            format!("version {} at {target}, {} here", text(&status, "version"), env!("CARGO_PKG_VERSION")),
            "use the same version on both sides",
        ),
        Err(ordo_client::Error::Unreachable { .. }) => {
            Finding::warning("daemon", format!("nothing answers at {target}"), "start one with: ordo serve")
        }
        Err(error) => {
            Finding::bad("daemon", Error::from(error).summary(), "see whether --server and ORDO_TOKEN are right")
        }
    }
}
