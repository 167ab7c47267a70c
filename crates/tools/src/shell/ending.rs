//! How a command ended, in words people read.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use ordo_engine::tool::Failure;
use serde_json::{Value, json};

use super::capture::Captured;
use crate::limits::{KILL_GRACE, STDERR_SHOWN_LINES};

/// Signals 1 to 31 on Linux, in order.
const SIGNALS: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM",
    "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO",
    "PWR", "SYS",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Exited(ExitStatus),
    /// Cancelled, it stopped.
    Stopped,
    /// Cancelled, it had to be killed.
    Killed,
}

impl Ending {
    pub(crate) fn outcome(self, captured: &Captured) -> Result<Value, Failure> {
        let status = match self {
            Ending::Stopped => return Err(Failure::new("stopped")),
            Ending::Killed => {
                return Err(Failure::new(format!("stopped: killed, it did not end within {KILL_GRACE:?} of TERM")));
            }
            Ending::Exited(status) => status,
        };
        if status.success() {
            return Ok(json!({"exit_code": 0, "output": captured.output.text()}));
        }
        let complaints = captured.complaints.last_lines(STDERR_SHOWN_LINES);
        let why = describe(status);
        Err(Failure::new(if complaints.is_empty() { why } else { format!("{why}: {complaints}") }))
    }
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}{}", name_of(signal)),
        (None, None) => format!("ended in an unknown way: {status}"),
    }
}

fn name_of(signal: i32) -> String {
    let place = usize::try_from(signal - 1).ok();
    place.and_then(|place| SIGNALS.get(place)).map(|name| format!(" ({name})")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_says_code_or_signal() {
        assert_eq!(describe(ExitStatus::from_raw(3 << 8)), "exit code 3");
        assert_eq!(describe(ExitStatus::from_raw(9)), "killed by signal 9 (KILL)");
        assert_eq!(describe(ExitStatus::from_raw(15)), "killed by signal 15 (TERM)");
        assert_eq!(describe(ExitStatus::from_raw(31)), "killed by signal 31 (SYS)");
        assert_eq!(describe(ExitStatus::from_raw(40)), "killed by signal 40");
    }
}
