//! The parent of one command, and of whatever the command starts and forgets.
//!
//! Invariant: it ends only when it has no child left. It is a subreaper: what loses its parent below it becomes its
//! child, in whatever session, group and environment.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, kill_process_group, set_child_subreaper,
};

use super::confine;
use super::protocol::{KILL, LaunchOrder, LaunchReport, LaunchStep, NotStarted, TERMINATE};
use super::tree;
use crate::process::cgroup;
use crate::process::proc::ProcessStat;

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

/// Whatever can fail is done before there is a command that would have to be ended for it.
fn run(order: &LaunchOrder, stdin: Option<Vec<u8>>, socket: &mut UnixStream) -> io::Result<()> {
    let leader = Arc::new(Leader::default());
    let prepared = prepare(order, &leader, socket).map_err(|error| NotStarted::at(LaunchStep::Supervise, &error));
    let started = prepared.and_then(|prepared| launch(order).map(|started| (prepared, started)));
    let ((nothing, obeying), (mut child, in_cgroup)) = match started {
        Ok(started) => started,
        Err(not_started) => return say(socket, &LaunchReport::NotStarted(not_started)),
    };
    leader.is(Pid::from_child(&child));
    let begun = let_go_of_output(&nothing)
        .and_then(|()| feed(stdin, child.stdin.take()))
        .and_then(|()| say(socket, &LaunchReport::Started { in_cgroup }));
    if begun.is_err() {
        end_now(order.cgroup.as_ref().map(|cgroup| cgroup.own.as_path()));
        return begun;
    }
    reap_all(&leader, &obeying, socket)
}

/// From here on orders are followed, and orphans come to us.
fn prepare(order: &LaunchOrder, leader: &Arc<Leader>, socket: &UnixStream) -> io::Result<(File, Thread)> {
    set_child_subreaper(Some(getpid()))?;
    let (orders, leader) = (socket.try_clone()?, leader.clone());
    let cgroup = order.cgroup.as_ref().map(|cgroup| cgroup.own.clone());
    let obeying = thread::Builder::new().spawn(move || obey(orders, &leader, cgroup.as_deref()))?;
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    Ok((nothing, obeying.thread().clone()))
}

/// Who reads the output is to see its end when the last of those who write has ended.
fn let_go_of_output(nothing: &File) -> io::Result<()> {
    rustix::stdio::dup2_stdin(nothing)?;
    rustix::stdio::dup2_stdout(nothing)?;
    rustix::stdio::dup2_stderr(nothing)?;
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

/// Starts the command, and says whether it is in its cgroup: children begin where their parent is, so this process goes
/// in, starts the command, and is outside again to see its end.
fn launch(order: &LaunchOrder) -> Result<(Child, bool), NotStarted> {
    let inside = order.cgroup.as_ref().filter(|cgroup| cgroup::enter(&cgroup.own).is_ok());
    let started = match &order.confined {
        None => command(order).spawn().map_err(|error| NotStarted::at(LaunchStep::Execute, &error)),
        Some(confined) => confine::spawn(order, confined),
    };
    if let Some(cgroup) = inside {
        // Who stays inside is killed with the others, and the executor learns of it by the end of the socket.
        drop(cgroup::enter(&cgroup.outside));
    }
    started.map(|child| (child, inside.is_some()))
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

/// Beside everything else. A command that does not read its input is fine.
fn feed(stdin: Option<Vec<u8>>, pipe: Option<ChildStdin>) -> io::Result<()> {
    let Some((bytes, mut pipe)) = stdin.zip(pipe) else { return Ok(()) };
    thread::Builder::new().spawn(move || drop(pipe.write_all(&bytes)))?;
    Ok(())
}

/// The command itself, which leads its process group.
#[derive(Default)]
struct Leader(Mutex<Option<Pid>>);

impl Leader {
    fn is(&self, pid: Pid) {
        *self.lock() = Some(pid);
    }

    /// Its number is its own until it has been reaped, which nobody does while this is held.
    fn lock(&self) -> MutexGuard<'_, Option<Pid>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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

/// TERM to all of the command's group at once, so that nobody who forks is passed over, and to everybody else below us.
fn terminate(leader: &Leader) {
    let known = leader.lock();
    let group = *known;
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::TERM);
    }
    drop(known);
    let is_signalled = |one: &ProcessStat| group.is_some_and(|group| one.pgid == group.as_raw_nonzero().get());
    for one in tree::descendants().iter().filter(|one| !is_signalled(one)) {
        tree::send(one, Signal::TERM);
    }
}

/// Round after round, since those who are killed may just have started others. The process ends beneath this when the
/// last of them has been reaped.
fn kill_all(cgroup: Option<&Path>) {
    let mut pause = ROUND_MIN;
    loop {
        kill_round(cgroup);
        // Until somebody was reaped: what he had started is ours now. Who is further below is not announced to us.
        thread::park_timeout(pause);
        pause = (pause * 2).min(ROUND_MAX);
    }
}

fn kill_round(cgroup: Option<&Path>) {
    if let Some(cgroup) = cgroup {
        drop(cgroup::kill(cgroup));
    }
    tree::descendants().iter().for_each(|one| tree::send(one, Signal::KILL));
}

/// The same, reaping what was killed.
fn end_now(cgroup: Option<&Path>) {
    loop {
        kill_round(cgroup);
        if rustix::process::wait(WaitOptions::empty()).is_err_and(|error| error == Errno::CHILD) {
            return;
        }
    }
}

/// Reaps children, born here or adopted, until there is none left; says when the command was among them.
fn reap_all(leader: &Leader, obeying: &Thread, socket: &mut UnixStream) -> io::Result<()> {
    loop {
        // Looks without reaping: whoever signals the group needs the leader's number to stay its own meanwhile.
        match rustix::process::waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Err(Errno::CHILD) => return Ok(()),
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
            Ok(_) => {}
        }
        let mut known = leader.lock();
        if let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG)
            && *known == Some(pid)
        {
            *known = None;
            drop(known);
            // Nobody listens if the executor is gone; the rest is reaped all the same.
            drop(say(socket, &LaunchReport::Ended { status: status.as_raw() }));
        }
        obeying.unpark();
    }
}
