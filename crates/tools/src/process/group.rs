//! Whether anybody of a process group still runs, and waiting for such things.

use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process_group};

use super::proc;
use crate::limits::{GROUP_LOOK_MAX, GROUP_LOOK_MIN};

/// The dead who wait to be reaped do not count.
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
