//! What an executor and a supervisor say to each other, over the socket that is the supervisor's standard input.
//!
//! Invariant: the supervisor gets its whole order once, at its beginning; after that a byte is an order, and the end of
//! the stream is the end of the executor.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::confine::Confined;

/// TERM to all of them: they may tidy up.
pub(crate) const TERMINATE: u8 = b'T';
/// KILL to all of them.
pub(crate) const KILL: u8 = b'K';

/// The command, and what is to be set before it begins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LaunchOrder {
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) cwd: Option<PathBuf>,
    /// How many bytes of input follow.
    pub(crate) stdin: Option<usize>,
    pub(crate) cgroup: Option<CgroupOrder>,
    pub(crate) confined: Option<Confined>,
}

/// The cgroup that a command begins in, and the one that its supervisor goes back to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CgroupOrder {
    pub(crate) own: PathBuf,
    pub(crate) outside: PathBuf,
}

/// A line from the supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LaunchReport {
    Started {
        /// Whether the command is in its cgroup.
        in_cgroup: bool,
    },
    NotStarted(NotStarted),
    /// The command itself has ended, with this status of `wait`.
    Ended {
        status: i32,
    },
}

/// Why a command did not begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NotStarted {
    pub(crate) step: LaunchStep,
    pub(crate) errno: i32,
}

/// What was being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LaunchStep {
    Supervise,
    PrivateTmp,
    User,
    Limits,
    Execute,
}

impl NotStarted {
    pub(crate) fn at(step: LaunchStep, error: &io::Error) -> NotStarted {
        NotStarted { step, errno: error.raw_os_error().unwrap_or_default() }
    }

    pub(crate) fn error(&self) -> io::Error {
        io::Error::from_raw_os_error(self.errno)
    }
}

impl LaunchOrder {
    /// The length of the order, the order, the input.
    pub(crate) fn written(&self, stdin: &[u8]) -> io::Result<Vec<u8>> {
        let order = serde_json::to_vec(self)?;
        let length = u32::try_from(order.len()).map_err(io::Error::other)?;
        Ok([&length.to_be_bytes(), order.as_slice(), stdin].concat())
    }

    pub(crate) fn read(mut from: impl Read) -> io::Result<(LaunchOrder, Option<Vec<u8>>)> {
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        let mut order = vec![0; usize::try_from(u32::from_be_bytes(length)).map_err(io::Error::other)?];
        from.read_exact(&mut order)?;
        let order: LaunchOrder = serde_json::from_slice(&order)?;
        let mut stdin = order.stdin.map(|length| vec![0; length]);
        if let Some(stdin) = &mut stdin {
            from.read_exact(stdin)?;
        }
        Ok((order, stdin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    #[test]
    fn an_order_arrives_as_it_was_written_and_orders_follow() {
        let order = LaunchOrder {
            program: "sh".to_owned(),
            env: vec![("A".into(), OsString::from_vec(vec![0xff, b'=']))],
            stdin: Some(3),
            ..LaunchOrder::default()
        };
        let mut bytes = order.written(b"a\0b").unwrap();
        bytes.push(KILL);
        let mut from = bytes.as_slice();
        assert_eq!(LaunchOrder::read(&mut from).unwrap(), (order, Some(b"a\0b".to_vec())));
        assert_eq!(from, [KILL]);
        assert!(LaunchOrder::read(&bytes[..10]).is_err());
    }
}
