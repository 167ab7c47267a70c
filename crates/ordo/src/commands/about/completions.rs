//! `ordo completions SHELL`, and what a shell asks for while somebody types: what the daemon has.
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

/// What can be named in a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listed {
    Jobs,
    Hooks,
    Monitors,
    Incidents,
    Executors,
    Nodes,
    Channels,
    Escalations,
    Secrets,
    Tokens,
    Silences,
    Subscriptions,
    Notifications,
}

impl Listed {
    /// Where they are listed, the field that names one, and the field that tells it from the others.
    fn place(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Listed::Jobs => ("/v1/jobs", "label", "state"),
            Listed::Hooks => ("/v1/hooks", "slug", "path"),
            Listed::Monitors => ("/v1/monitors", "name", "status"),
            Listed::Incidents => ("/v1/incidents", "id", "title"),
            Listed::Executors => ("/v1/executors", "name", "state"),
            Listed::Nodes => ("/v1/nodes", "name", "state"),
            Listed::Channels => ("/v1/channels", "name", "defined_in"),
            Listed::Escalations => ("/v1/escalations", "name", "defined_in"),
            Listed::Secrets => ("/v1/secrets", "name", "updated_at"),
            Listed::Tokens => ("/v1/tokens", "name", "role"),
            Listed::Silences => ("/v1/silences", "id", "matching"),
            Listed::Subscriptions => ("/v1/subscriptions", "id", "url"),
            Listed::Notifications => ("/v1/notifications", "id", "event"),
        }
    }

    /// Only those that begin so, where the server can look for them; never more than fit on a screen or two.
    fn path(self, typed: &str) -> String {
        let (path, _, _) = self.place();
        let begin = (self == Listed::Jobs).then(|| typed.to_owned());
        let limit = (!matches!(self, Listed::Executors | Listed::Nodes | Listed::Silences)).then(|| SHOWN.to_string());
        format!("{path}{}", query(&[("label_prefix", begin), ("limit", limit)]))
    }
}

/// The names that begin with what was typed.
pub(crate) fn names(listed: Listed, typed: &OsStr) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else { return Vec::new() };
    let common = Common {
        output: Format::Json,
        server: crate::environment::var("ORDO_SERVER"),
        ca_file: crate::environment::var("ORDO_CA_FILE").map(Into::into),
        config: None,
    };
    let asked = async { CommandSession::new(&common)?.get(&listed.path(typed)).await };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return Vec::new() };
    let answered: std::result::Result<Result<Value>, _> =
        runtime.block_on(async { tokio::time::timeout(PATIENCE, asked).await });
    let Ok(Ok(page)) = answered else { return Vec::new() };
    let (_, name, about) = listed.place();
    let items = page["items"].as_array().cloned().unwrap_or_default();
    let begins = items.iter().filter(|item| text(item, name).starts_with(typed));
    begins.map(|item| CompletionCandidate::new(text(item, name)).help(Some(text(item, about).into()))).collect()
}
