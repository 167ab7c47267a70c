//! What becomes the command, when something has to be set that a process can only set for itself.
//!
//! Invariant: nothing of a command runs before everything that confines it is in force, and it is not started if
//! anything of it cannot be.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use nix::sched::{CloneFlags, unshare};
use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::process::{Gid, Resource, Rlimit, Uid, getppid, setrlimit};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use serde::{Deserialize, Serialize};

use super::protocol::{LaunchOrder, LaunchStep, NotStarted};
use super::{CONFINE, THIS_PROGRAM};
use crate::confinement::Limits;

/// What one attempt is confined by.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Confined {
    pub(crate) user: Option<Identity>,
    pub(crate) limits: Limits,
    /// A folder made for this attempt: its parts become `/tmp` and `/var/tmp`.
    pub(crate) private_tmp: Option<PathBuf>,
}

/// As whom a command runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// All of the user's groups, and nobody else's.
    pub(crate) groups: Vec<u32>,
}

/// What is passed on besides the command; the command's input is a file of the supervisor until it is the command's.
#[derive(Serialize, Deserialize)]
struct Passed {
    confined: Confined,
    cwd: Option<PathBuf>,
    stdin: Option<i32>,
}

/// The parts of a private folder, and what each hides.
const PRIVATE: [(&str, &str); 2] = [("tmp", "/tmp"), ("var-tmp", "/var/tmp")];

/// Makes the folders that will be `/tmp` and `/var/tmp`, below one that nobody else can enter.
pub(crate) fn make_private_tmp(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    std::fs::DirBuilder::new().mode(0o700).create(folder)?;
    for (part, _) in PRIVATE {
        let part = folder.join(part);
        std::fs::create_dir(&part)?;
        std::fs::set_permissions(&part, std::fs::Permissions::from_mode(0o1777))?;
    }
    Ok(())
}

/// Starts the command by way of a process that confines itself first. Returns when it has become the command.
pub(super) fn spawn(order: &LaunchOrder, confined: &Confined) -> Result<Child, NotStarted> {
    let supervising = |error: io::Error| NotStarted::at(LaunchStep::Supervise, &error);
    let (mut ours, theirs) = UnixStream::pair().map_err(supervising)?;
    let stdin = order.stdin.map(|_| io::pipe()).transpose().map_err(supervising)?;
    let passed = Passed {
        confined: confined.clone(),
        cwd: order.cwd.clone(),
        stdin: stdin.as_ref().map(|(reader, _)| reader.as_raw_fd()),
    };
    let passed = serde_json::to_string(&passed).map_err(|error| supervising(error.into()))?;
    let mut command = Command::new(THIS_PROGRAM);
    command.arg0("ordo").args([CONFINE, &passed, &order.program]).args(&order.args);
    command.env_clear().envs(order.env.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::from(OwnedFd::from(theirs))).process_group(0);
    // All that is longer than the command's own is little: what is too long for us is too long for it.
    let refused = |error: io::Error| match error.kind() {
        io::ErrorKind::ArgumentListTooLong => NotStarted::at(LaunchStep::Execute, &error),
        _ => supervising(error),
    };
    let mut child = command.spawn().map_err(refused)?;
    drop(command);
    let mut refused = Vec::new();
    ours.read_to_end(&mut refused).map_err(supervising)?;
    if !refused.is_empty() {
        drop(child.wait());
        return Err(serde_json::from_slice(&refused).map_err(|error| supervising(error.into()))?);
    }
    child.stdin = stdin.map(|(_, writer)| OwnedFd::from(writer).into());
    Ok(child)
}

/// Confines this process and becomes the command. What it says on the way goes to the supervisor, whose socket closes
/// when the command begins.
pub(super) fn main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let passed = arguments.next().and_then(|passed| serde_json::from_str(passed.to_str()?).ok());
    let (Some(passed), Some(program)) = (passed, arguments.next()) else {
        eprintln!("ordo: this is started by the tools, not by people");
        return ExitCode::from(2);
    };
    let Ok(socket) = io::stdin().as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    let not_started = become_command(passed, &program, arguments);
    if let Ok(line) = serde_json::to_vec(&not_started) {
        drop(UnixStream::from(socket).write_all(&line));
    }
    ExitCode::FAILURE
}

/// Returns only if it could not.
fn become_command(passed: Passed, program: &OsString, arguments: impl Iterator<Item = OsString>) -> NotStarted {
    let Passed { confined, cwd, stdin } = passed;
    let mut command = Command::new(program);
    command.args(arguments);
    if let Some(cwd) = cwd {
        command.current_dir(cwd);
    }
    let confine = || -> Result<(), NotStarted> {
        take_input(stdin, confined.user.as_ref()).map_err(|error| NotStarted::at(LaunchStep::Supervise, &error))?;
        if let Some(folder) = &confined.private_tmp {
            hide_tmp(folder).map_err(|error| NotStarted::at(LaunchStep::PrivateTmp, &error))?;
        }
        if let Some(user) = &confined.user {
            become_user(user).map_err(|error| NotStarted::at(LaunchStep::User, &error))?;
        }
        limit(&confined.limits).map_err(|error| NotStarted::at(LaunchStep::Limits, &error))
    };
    match confine() {
        Ok(()) => NotStarted::at(LaunchStep::Execute, &command.exec()),
        Err(not_started) => not_started,
    }
}

/// The supervisor's end of the pipe becomes our standard input; who the command runs as may open all three again.
fn take_input(stdin: Option<i32>, user: Option<&Identity>) -> io::Result<()> {
    let input = match (stdin, getppid()) {
        (Some(number), Some(parent)) => File::open(format!("/proc/{parent}/fd/{number}"))?,
        (Some(_), None) => return Err(io::Error::from(io::ErrorKind::NotFound)),
        (None, _) => File::open("/dev/null")?,
    };
    if let Some(user) = user {
        let owner = (Some(Uid::from_raw(user.uid)), Some(Gid::from_raw(user.gid)));
        rustix::fs::fchown(io::stdout(), owner.0, owner.1)?;
        rustix::fs::fchown(io::stderr(), owner.0, owner.1)?;
        if stdin.is_some() {
            rustix::fs::fchown(&input, owner.0, owner.1)?;
        }
    }
    rustix::stdio::dup2_stdin(&input).map_err(io::Error::from)
}

/// What is mounted here from now on is seen by this process and its children alone.
fn hide_tmp(folder: &Path) -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
    // Opened before the first of them hides where they are.
    let parts: Vec<(File, &str)> = (PRIVATE.iter())
        .map(|(part, hidden)| Ok((File::open(folder.join(part))?, *hidden)))
        .collect::<io::Result<_>>()?;
    for (part, hidden) in &parts {
        mount_bind(format!("/proc/self/fd/{}", part.as_raw_fd()), *hidden)?;
    }
    Ok(())
}

/// This process has one thread: what is set for the thread is set for the process.
fn become_user(user: &Identity) -> io::Result<()> {
    let groups: Vec<Gid> = user.groups.iter().map(|group| Gid::from_raw(*group)).collect();
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    set_thread_groups(&groups)?;
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)?;
    Ok(())
}

fn limit(limits: &Limits) -> io::Result<()> {
    let Limits { cpu_seconds, memory_bytes, open_files, processes, file_bytes } = *limits;
    // A second between the signal that can be handled and the one that cannot.
    let cpu = cpu_seconds.map(|seconds| (seconds, seconds.saturating_add(1)));
    let same = |limit: Option<u64>| limit.map(|limit| (limit, limit));
    let all = [
        (Resource::Cpu, cpu),
        (Resource::Nofile, same(open_files)),
        (Resource::Nproc, same(processes)),
        (Resource::Fsize, same(file_bytes)),
        (Resource::As, same(memory_bytes)),
    ];
    for (resource, wanted) in all {
        if let Some((soft, hard)) = wanted {
            lower(resource, soft, hard)?;
        }
    }
    Ok(())
}

/// Limits that are narrower already stay as they are.
fn lower(resource: Resource, soft: u64, hard: u64) -> io::Result<()> {
    let now = rustix::process::getrlimit(resource);
    let narrower = |now: Option<u64>, wanted: u64| Some(now.map_or(wanted, |now| now.min(wanted)));
    let maximum = narrower(now.maximum, hard);
    setrlimit(resource, Rlimit { current: narrower(now.current, soft).min(maximum), maximum })?;
    Ok(())
}
