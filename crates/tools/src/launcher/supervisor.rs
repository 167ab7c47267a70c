//! The parent of one command, and of whatever the command starts and forgets.
//!
//! Invariant: it ends only when it has no child left. It is a subreaper: what loses its parent below it becomes its
//! child, in whatever session, group and environment.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, kill_process_group, set_child_subreaper,
};

use super::confine;
use super::protocol::{KILL, LaunchOrder, LaunchReport, LaunchStep, NotStarted, TERMINATE};
use super::tree;
use crate::process::cgroup;

/// First and longest pause between two rounds of killing.
const ROUND_MIN: Duration = Duration::from_millis(1);
const ROUND_MAX: Duration = Duration::from_millis(250);

pub(super) fn main() -> ExitCode {
    // `ps` would show how we were executed, which says nothing.
    let _ = rustix::thread::set_name(c"ordo-launcher");
    match supervise() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ordo: this is started by the tools, not by people: {error}");
            ExitCode::from(2)
        }
    }
}

fn supervise() -> io::Result<()> {
    let mut socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let (order, stdin) = LaunchOrder::read(&socket)?;
    let done = run(&order, stdin, &mut socket);
    tidy_up(&order);
    done
}

fn run(order: &LaunchOrder, stdin: Option<Vec<u8>>, socket: &mut UnixStream) -> io::Result<()> {
    let started = set_child_subreaper(Some(getpid()))
        .map_err(|error| NotStarted::at(LaunchStep::Supervise, &error.into()))
        .and_then(|()| launch(order));
    let (mut child, cgroup) = match started {
        Ok(started) => started,
        Err(not_started) => return say(socket, &LaunchReport::NotStarted(not_started)),
    };
    let leader = Arc::new(Leader::of(&child)?);
    let_go_of_output()?;
    say(socket, &LaunchReport::Started { in_cgroup: cgroup.is_some() })?;
    if let Some((bytes, pipe)) = stdin.zip(child.stdin.take()) {
        thread::spawn(move || feed(&bytes, pipe));
    }
    let (orders, of_command) = (socket.try_clone()?, leader.clone());
    thread::spawn(move || obey(orders, &of_command, cgroup.as_deref()));
    reap_all(&leader, socket)
}

/// Who reads the output is to see its end when the last of those who write has ended.
fn let_go_of_output() -> io::Result<()> {
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    rustix::stdio::dup2_stderr(&nothing)?;
    Ok(())
}

/// What the command leaves behind that is no process. The executor does the same, if it is there.
fn tidy_up(order: &LaunchOrder) {
    if let Some(cgroup) = &order.cgroup {
        drop(cgroup::remove(&cgroup.own));
    }
    if let Some(tmp) = order.confined.as_ref().and_then(|confined| confined.private_tmp.as_ref()) {
        drop(std::fs::remove_dir_all(tmp));
    }
}

/// Starts the command, and says which cgroup it can be killed by: children begin where their parent is, so this process
/// goes in, starts the command, and is outside again to see its end.
fn launch(order: &LaunchOrder) -> Result<(Child, Option<PathBuf>), NotStarted> {
    let inside = order.cgroup.as_ref().filter(|cgroup| cgroup::enter(&cgroup.own).is_ok());
    let started = match &order.confined {
        None => command(order).spawn().map_err(|error| NotStarted::at(LaunchStep::Execute, &error)),
        Some(confined) => confine::spawn(order, confined),
    };
    let left = inside.filter(|cgroup| cgroup::enter(&cgroup.outside).is_ok());
    started.map(|child| (child, left.map(|cgroup| cgroup.own.clone())))
}

fn command(order: &LaunchOrder) -> Command {
    let mut command = Command::new(&order.program);
    command.args(&order.args).env_clear().envs(order.env.iter().map(|(name, value)| (name, value)));
    command.stdin(if order.stdin.is_some() { Stdio::piped() } else { Stdio::null() }).process_group(0);
    if let Some(cwd) = &order.cwd {
        command.current_dir(cwd);
    }
    command
}

fn say(socket: &mut UnixStream, report: &LaunchReport) -> io::Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    socket.write_all(&line)
}

/// A command that does not read its input is fine.
fn feed(bytes: &[u8], mut pipe: ChildStdin) {
    drop(pipe.write_all(bytes));
}

/// The command itself, which leads its process group.
struct Leader {
    pid: Pid,
    /// Its number is its own until it has been reaped.
    is_reaped: Mutex<bool>,
}

impl Leader {
    fn of(child: &Child) -> io::Result<Leader> {
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("a process without a number"))?;
        Ok(Leader { pid, is_reaped: Mutex::new(false) })
    }

    /// TERM to all of its group at once, so that nobody who forks is passed over.
    fn terminate_group(&self) {
        let is_reaped = self.is_reaped.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_reaped {
            let _ = kill_process_group(self.pid, Signal::TERM);
        }
    }
}

/// Follows orders until there is nothing left to be ordered. An executor that is gone wants nothing to go on.
fn obey(mut orders: UnixStream, leader: &Leader, cgroup: Option<&Path>) {
    let mut order = [0];
    loop {
        match orders.read(&mut order) {
            Ok(1) if order[0] == TERMINATE => terminate(leader),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(1) if order[0] != KILL => {}
            Ok(_) | Err(_) => return kill_all(cgroup),
        }
    }
}

fn terminate(leader: &Leader) {
    leader.terminate_group();
    let group = leader.pid.as_raw_nonzero().get();
    let is_reaped = *leader.is_reaped.lock().unwrap_or_else(PoisonError::into_inner);
    for one in tree::descendants().iter().filter(|one| is_reaped || one.pgid != group) {
        tree::send(one, Signal::TERM);
    }
}

/// Round after round, since those who are killed may just have started others. The process ends beneath this when the
/// last of them has been reaped.
fn kill_all(cgroup: Option<&Path>) {
    let mut pause = ROUND_MIN;
    loop {
        if let Some(cgroup) = cgroup {
            drop(cgroup::kill(cgroup));
        }
        tree::descendants().iter().for_each(|one| tree::send(one, Signal::KILL));
        thread::sleep(pause);
        pause = (pause * 2).min(ROUND_MAX);
    }
}

/// Reaps children, born here or adopted, until there is none left; says when the command was among them.
fn reap_all(leader: &Leader, socket: &mut UnixStream) -> io::Result<()> {
    loop {
        // Looks without reaping: whoever signals the group needs the leader's number to stay its own meanwhile.
        match rustix::process::waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Err(Errno::CHILD) => return Ok(()),
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
            Ok(_) => {}
        }
        let mut is_reaped = leader.is_reaped.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = rustix::process::wait(WaitOptions::NOHANG);
        if let Ok(Some((pid, status))) = ended
            && pid == leader.pid
        {
            *is_reaped = true;
            drop(is_reaped);
            // Nobody listens if the executor is gone; the rest is reaped all the same.
            drop(say(socket, &LaunchReport::Ended { status: status.as_raw() }));
        }
    }
}
