//! Our own program once more, between the executor and a command: it sets what only a process can set for itself, and
//! stays as the parent of everything that the command starts.
//!
//! Invariant: when the supervisor has ended, nothing that descends from its command is alive, whoever ordered the end:
//! the executor, or the end of the executor.

pub(crate) mod confine;
pub(crate) mod protocol;
mod supervisor;
mod tree;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;

use crate::process::cgroup::CgroupHome;

/// The first argument of a supervisor, and of what becomes a confined command.
const SUPERVISE: &str = "__supervise";
const CONFINE: &str = "__confine";

/// This program, whatever has been installed in its place since it was started.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// How commands are supervised: by which program, one whose `main` begins with [`main_if_asked`], and by which means
/// it knows what belongs to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    program: PathBuf,
    cgroups: Option<CgroupHome>,
}

impl Launcher {
    /// The program that asks, with the best means that there is.
    pub fn this_program() -> Launcher {
        Launcher::at(THIS_PROGRAM).with_cgroups()
    }

    /// Another program, which is a subreaper and has no cgroups.
    pub fn at(program: impl Into<PathBuf>) -> Launcher {
        Launcher { program: program.into(), cgroups: None }
    }

    /// With a cgroup for each attempt, where this process may make them.
    pub fn with_cgroups(self) -> Launcher {
        Launcher { cgroups: CgroupHome::find(), ..self }
    }

    /// How processes that belong to a command are known.
    pub fn tracking(&self) -> &'static str {
        match &self.cgroups {
            Some(_) => "cgroup",
            None => "subreaper",
        }
    }

    pub(crate) fn cgroups(&self) -> Option<&CgroupHome> {
        self.cgroups.as_ref()
    }

    /// A supervisor that is about to be started; it reads its order from its standard input.
    pub(crate) fn command(&self) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(&self.program);
        command.arg0("ordo").arg(SUPERVISE);
        command
    }
}

/// What a program with tools does first: if it was executed as a launcher, it is one and nothing else.
pub fn main_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let asked: OsString = arguments.next()?;
    if asked == OsStr::new(SUPERVISE) {
        return Some(supervisor::main());
    }
    (asked == OsStr::new(CONFINE)).then(|| confine::main(arguments))
}
