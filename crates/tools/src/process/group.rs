//! A process group of ours: signalled as a whole, and known to be gone.
//!
//! Invariant: once its leader has been reaped, the group is signalled only while no process carries the leader's
//! number: the system does not give out a number that still names a group, so a process with it is a stranger.

use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use super::proc;
use crate::limits::{GROUP_LOOK_MAX, GROUP_LOOK_MIN};

/// A group whose leader we started. Dropped before it was released, it is killed.
#[derive(Debug)]
pub(crate) struct Group {
    pgid: Pid,
    leader: Leader,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leader {
    /// Running, or dead and not yet reaped: its number is taken by it.
    Held,
    Reaped,
    /// We no longer care.
    Released,
}

impl Group {
    pub(crate) fn led_by(pid: Pid) -> Group {
        Group { pgid: pid, leader: Leader::Held }
    }

    pub(crate) fn leader_was_reaped(&mut self) {
        self.leader = Leader::Reaped;
    }

    pub(crate) fn release(&mut self) {
        self.leader = Leader::Released;
    }

    pub(crate) fn signal(&self, signal: Signal) {
        if self.is_ours() && kill_process_group(self.pgid, signal) == Err(Errno::PERM) {
            tracing::warn!(
                pgid = self.pgid.as_raw_nonzero(),
                "not permitted to signal a process group that we started"
            );
        }
    }

    pub(crate) fn has_members(&self) -> bool {
        self.is_ours() && has_members(self.pgid)
    }

    /// Returns when nobody of the group is alive.
    pub(crate) async fn gone(&self) {
        poll(|| !self.has_members()).await;
    }

    fn is_ours(&self) -> bool {
        match self.leader {
            Leader::Held => true,
            Leader::Reaped => proc::see(self.pgid.as_raw_nonzero().get()).is_none(),
            Leader::Released => false,
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// Whether anybody of the group still runs; the dead who wait to be reaped do not count.
pub(crate) fn has_members(pgid: Pid) -> bool {
    if test_kill_process_group(pgid) == Err(Errno::SRCH) {
        return false;
    }
    let number = pgid.as_raw_nonzero().get();
    proc::see_all().iter().any(|seen| seen.pgid == number && seen.alive)
}

/// Looks again and again, ever less often, until `done`. The end of a stranger's child is not announced to anybody.
pub(crate) async fn poll(mut done: impl FnMut() -> bool) {
    let mut pause: Duration = GROUP_LOOK_MIN;
    while !done() {
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(GROUP_LOOK_MAX);
    }
}
