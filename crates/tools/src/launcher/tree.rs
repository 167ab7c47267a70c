//! All that descends from this process, signalled without ever hitting a stranger.
//!
//! Invariant: a process is signalled through a handle that was made before its identity was checked, so a number that
//! has been given out anew is never signalled.

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use crate::process::proc::{self, ProcessStat};

/// Living processes whose line of parents leads to this one.
pub(super) fn descendants() -> Vec<ProcessStat> {
    let Some(me) = proc::myself() else { return Vec::new() };
    proc::descendants_of(&proc::see_all(), me.id.pid)
}

pub(super) fn send(to: &ProcessStat, signal: Signal) {
    let Some(pid) = Pid::from_raw(to.id.pid) else { return };
    let handle = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(handle) => handle,
        // Before Linux 5.3, or forbidden: the number is all there is.
        Err(Errno::NOSYS | Errno::PERM) => {
            let _ = kill_process(pid, signal);
            return;
        }
        Err(_) => return,
    };
    if proc::see(to.id.pid).is_some_and(|seen| seen.id == to.id) {
        // Gone meanwhile, or not ours to signal: whoever waits for the end sees which.
        let _ = pidfd_send_signal(&handle, signal);
    }
}
