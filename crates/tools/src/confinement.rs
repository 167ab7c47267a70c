//! As whom, within which limits and with which `/tmp` the commands of a tool run: what an admin configures.
//!
//! Invariant: whoever writes a job can narrow the limits, and change nothing else of it.

use std::ffi::OsString;
use std::path::PathBuf;

use nix::unistd::{User, getgrouplist};
use serde::{Deserialize, Serialize};

use crate::launcher::confine::{Confined, Identity};

/// `limits` of a tool, and of an input of `shell`. Each holds for one process, but for that of processes, which counts
/// all processes of the user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Time on a processor.
    pub cpu_seconds: Option<u64>,
    /// Address space.
    pub memory_bytes: Option<u64>,
    pub open_files: Option<u64>,
    pub processes: Option<u64>,
    /// The largest file that can be written.
    pub file_bytes: Option<u64>,
}

/// What the configuration of a tool says about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConfinementOptions<'a> {
    pub(crate) user: Option<&'a str>,
    pub(crate) private_tmp: bool,
    pub(crate) limits: Limits,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfinementError {
    #[error("{0}: only a server that runs as root can do this; leave it out, or run the server as root")]
    NotRoot(&'static str),
    #[error("user: there is no user {0:?} on this machine")]
    NoSuchUser(String),
    #[error("user: cannot look up {name:?}: {reason}")]
    Lookup { name: String, reason: String },
    #[error("limits.{0}: must be at least 1")]
    Zero(&'static str),
}

/// What holds for every command of one tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confinement {
    user: Option<CommandUser>,
    private_tmp: bool,
    limits: Limits,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct CommandUser {
    identity: Identity,
    name: String,
    home: PathBuf,
    shell: PathBuf,
}

impl Limits {
    /// The narrower of each.
    pub(crate) fn narrowed_by(self, other: Limits) -> Limits {
        let narrower = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
        Limits {
            cpu_seconds: narrower(self.cpu_seconds, other.cpu_seconds),
            memory_bytes: narrower(self.memory_bytes, other.memory_bytes),
            open_files: narrower(self.open_files, other.open_files),
            processes: narrower(self.processes, other.processes),
            file_bytes: narrower(self.file_bytes, other.file_bytes),
        }
    }

    /// The name of one that would let nothing run.
    pub(crate) fn zero(&self) -> Option<&'static str> {
        let Limits { cpu_seconds, memory_bytes, open_files, processes, file_bytes } = *self;
        let all = [
            ("cpu_seconds", cpu_seconds),
            ("memory_bytes", memory_bytes),
            ("open_files", open_files),
            ("processes", processes),
            ("file_bytes", file_bytes),
        ];
        all.into_iter().find(|(_, limit)| *limit == Some(0)).map(|(name, _)| name)
    }
}

impl Confinement {
    pub(crate) fn of(options: ConfinementOptions<'_>) -> Result<Confinement, ConfinementError> {
        let is_root = rustix::process::geteuid().is_root();
        let asked = [("user", options.user.is_some()), ("private_tmp", options.private_tmp)];
        if let Some((field, _)) = asked.into_iter().find(|(_, is_asked)| *is_asked && !is_root) {
            return Err(ConfinementError::NotRoot(field));
        }
        if let Some(limit) = options.limits.zero() {
            return Err(ConfinementError::Zero(limit));
        }
        let user = options.user.map(CommandUser::named).transpose()?;
        Ok(Confinement { user, private_tmp: options.private_tmp, limits: options.limits })
    }

    /// Variables that follow from it.
    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut all: Vec<(OsString, OsString)> = Vec::new();
        if let Some(user) = &self.user {
            all.extend([
                ("HOME".into(), user.home.clone().into()),
                ("USER".into(), user.name.clone().into()),
                ("LOGNAME".into(), user.name.clone().into()),
                ("SHELL".into(), user.shell.clone().into()),
            ]);
        }
        if self.private_tmp {
            all.push(("TMPDIR".into(), "/tmp".into()));
        }
        all
    }

    pub(crate) fn has_private_tmp(&self) -> bool {
        self.private_tmp
    }

    /// What is to be set for one attempt; nothing, where there is nothing to set.
    pub(crate) fn of_attempt(&self, narrower: Limits, private_tmp: Option<PathBuf>) -> Option<Confined> {
        let user = self.user.as_ref().map(|user| user.identity.clone());
        let confined = Confined { user, limits: self.limits.narrowed_by(narrower), private_tmp };
        (confined != Confined::default()).then_some(confined)
    }
}

impl CommandUser {
    /// Asks whatever the system asks for its users, not a file alone.
    fn named(name: &str) -> Result<CommandUser, ConfinementError> {
        let failed = |reason: String| ConfinementError::Lookup { name: name.to_owned(), reason };
        let user = User::from_name(name).map_err(|error| failed(error.to_string()))?;
        let user = user.ok_or_else(|| ConfinementError::NoSuchUser(name.to_owned()))?;
        let c_name = std::ffi::CString::new(name).map_err(|error| failed(error.to_string()))?;
        let groups = getgrouplist(&c_name, user.gid).map_err(|error| failed(error.to_string()))?;
        let identity = Identity {
            uid: user.uid.as_raw(),
            gid: user.gid.as_raw(),
            groups: groups.into_iter().map(nix::unistd::Gid::as_raw).collect(),
        };
        Ok(CommandUser { identity, name: user.name, home: user.dir, shell: user.shell })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_can_narrow_limits_and_not_widen_them() {
        let admin = Limits { cpu_seconds: Some(10), open_files: Some(100), ..Limits::default() };
        let job = Limits { cpu_seconds: Some(3), open_files: Some(1_000), file_bytes: Some(5), ..Limits::default() };
        let both = Limits { cpu_seconds: Some(3), open_files: Some(100), file_bytes: Some(5), ..Limits::default() };
        assert_eq!(admin.narrowed_by(job), both);
        assert_eq!(job.narrowed_by(admin), both);
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_field() {
        let of = |user, limits| Confinement::of(ConfinementOptions { user, private_tmp: false, limits });
        let zero = Limits { processes: Some(0), ..Limits::default() };
        assert_eq!(of(None, zero).unwrap_err().to_string(), "limits.processes: must be at least 1");
        if rustix::process::geteuid().is_root() {
            let unknown = of(Some("nobody-of-that-name"), Limits::default());
            assert!(unknown.unwrap_err().to_string().contains("no user"), "root learns of a slip");
        } else {
            assert_eq!(of(Some("nobody"), Limits::default()), Err(ConfinementError::NotRoot("user")));
        }
    }

    #[test]
    fn where_nothing_is_to_be_set_nothing_is() {
        assert_eq!(Confinement::default().of_attempt(Limits::default(), None), None);
        let narrower = Limits { open_files: Some(5), ..Limits::default() };
        assert!(Confinement::default().of_attempt(narrower, None).is_some());
    }
}
