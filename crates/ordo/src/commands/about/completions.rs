//! `ordo completions SHELL`, and what a shell asks for while somebody types: labels of the daemon's jobs.
//!
//! Invariant: a shell never waits long and never sees an error: without a daemon there is nothing to complete.

use std::ffi::OsStr;
use std::time::Duration;

use clap_complete::CompletionCandidate;
use clap_complete::env::Shells;
use serde_json::Value;

use crate::cli::{Common, Format};
use crate::commands::find::text;
use crate::commands::talk::CommandSession;
use crate::error::{Error, Exit, Result};
use crate::locate::query;
use crate::output;

/// The variable by which the shell's script asks.
pub(crate) const VARIABLE: &str = "COMPLETE";
/// Nobody waits longer for a list.
const PATIENCE: Duration = Duration::from_millis(800);
const SHOWN: usize = 100;

pub(crate) fn run(shell: clap_complete::Shell) -> Result<Exit> {
    let shells = Shells::builtins();
    let completer =
        shells.completer(&shell.to_string()).ok_or_else(|| Error::misused(format!("no completions for {shell}")))?;
    let mut script = Vec::new();
    completer
        .write_registration(VARIABLE, "ordo", "ordo", "ordo", &mut script)
        .map_err(|error| Error::failed("the completions cannot be written").detail(error.to_string()))?;
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

/// Labels that begin with what was typed.
pub(crate) fn labels(typed: &OsStr) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else { return Vec::new() };
    let common = Common {
        output: Format::Json,
        server: crate::environment::var("ORDO_SERVER"),
        ca_file: crate::environment::var("ORDO_CA_FILE").map(Into::into),
        config: None,
    };
    let asked = async {
        let talk = CommandSession::new(&common)?;
        let filters = [("label_prefix", Some(typed.to_owned())), ("limit", Some(SHOWN.to_string()))];
        talk.get(&format!("/v1/jobs{}", query(&filters))).await
    };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return Vec::new() };
    let answered = runtime.block_on(async { tokio::time::timeout(PATIENCE, asked).await });
    let Ok(Ok(page)) = answered else { return Vec::new() };
    let jobs = page["items"].as_array().cloned().unwrap_or_default();
    let candidate = |job: &Value| CompletionCandidate::new(text(job, "label")).help(Some(text(job, "state").into()));
    jobs.iter().map(candidate).collect()
}
