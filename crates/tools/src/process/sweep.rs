//! Ends what a former generation of the executor left running.
//!
//! Invariant: nothing is killed whose identity is not proven, either by number and start time within this boot
//! or by the run and fence in the environment it was started with.

use std::io;
use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use uuid::Uuid;

use super::book::{Belongings, OpenRecord, ProcessBook, ProcessRecord};
use super::group::{has_members, poll};
use super::proc::{self, AttemptMark, ProcessIdentity, ProcessStat};
use crate::limits::SWEEP_GRACE;

/// All processes at one moment, and who is looking.
struct ProcessTable {
    me: Option<ProcessStat>,
    generation: Uuid,
    boot: Option<String>,
    processes: Vec<(ProcessStat, Option<AttemptMark>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum KillTarget {
    Group(i32),
    Process(i32),
}

#[derive(Debug, PartialEq, Eq)]
enum RecordVerdict {
    /// The generation that wrote the record is going on.
    InUse,
    /// It has ended; what is left of it, if anything, is to be killed.
    LeftBehind(Vec<KillTarget>),
}

impl ProcessBook {
    /// Kills what former generations left, and clears their records. Returns how many groups and single processes it killed.
    pub async fn sweep(&self) -> io::Result<usize> {
        self.wait_for_supervisors().await?;
        let book = self.clone();
        let left = aside(move || book.left_behind()).await??;
        let killed = left.iter().flat_map(|left| &left.targets).filter(|target| target.kill()).count();
        left.iter().for_each(|left| left.belongings.kill());
        let all_gone = || left.iter().all(LeftBehind::is_gone);
        if tokio::time::timeout(SWEEP_GRACE, poll(all_gone)).await.is_err() {
            tracing::warn!("some left-over processes do not die: tried again at the next start");
        }
        for left in left.iter().filter(|left| left.is_gone()) {
            forget(&left.path).await?;
        }
        Ok(killed)
    }

    /// Their executor is gone, so they are about to end what is below them, also what only they can find.
    async fn wait_for_supervisors(&self) -> io::Result<()> {
        let book = self.clone();
        let supervisors = aside(move || book.supervisors_left()).await??;
        let all_gone =
            || !supervisors.iter().any(|id| proc::see(id.pid).is_some_and(|seen| seen.id == *id && seen.alive));
        if tokio::time::timeout(SWEEP_GRACE, poll(all_gone)).await.is_err() {
            tracing::warn!("a launcher of a former generation does not end: killed");
        }
        Ok(())
    }

    fn supervisors_left(&self) -> io::Result<Vec<ProcessIdentity>> {
        let records = self.records()?;
        if !records.iter().any(|(_, record)| record.supervised) {
            return Ok(Vec::new());
        }
        let snapshot = ProcessTable::take(self.generation());
        let left = records.into_iter().map(|(_, record)| record).filter(|record| {
            let is_of_this_boot = record.boot == snapshot.boot;
            record.supervised && is_of_this_boot && snapshot.judge(record) != RecordVerdict::InUse
        });
        Ok(left.filter_map(|record| record.leader).collect())
    }

    /// Records of former generations, each with what is still alive of it.
    fn left_behind(&self) -> io::Result<Vec<LeftBehind>> {
        let records = self.records()?;
        if records.is_empty() {
            return Ok(Vec::new());
        }
        let snapshot = ProcessTable::take(self.generation());
        let judged = records.into_iter().filter_map(|(path, record)| match snapshot.judge(&record) {
            RecordVerdict::InUse => None,
            RecordVerdict::LeftBehind(mut targets) => {
                targets.retain(|target| target.is_alive());
                Some(LeftBehind { path, targets, belongings: record.belongings })
            }
        });
        Ok(judged.collect())
    }
}

/// What an attempt of a former generation has left.
struct LeftBehind {
    path: PathBuf,
    targets: Vec<KillTarget>,
    belongings: Belongings,
}

impl LeftBehind {
    /// Removes what can be removed: a cgroup cannot be as long as somebody is in it.
    fn is_gone(&self) -> bool {
        !self.targets.iter().any(|target| target.is_alive()) && self.belongings.remove().is_ok()
    }
}

async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)
}

impl OpenRecord {
    /// Kills what can be found of an attempt whose supervisor was killed. Returns how many groups and processes that were.
    pub(crate) async fn kill_strays(&self) -> usize {
        let record = self.record().clone();
        record.belongings.kill();
        let targets = aside(move || ProcessTable::take(record.generation).left_of(&record));
        let targets = targets.await.unwrap_or_default();
        targets.iter().filter(|target| target.is_alive() && target.kill()).count()
    }
}

async fn forget(path: &PathBuf) -> io::Result<()> {
    match tokio::fs::remove_file(path).await {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

impl ProcessTable {
    fn take(generation: Uuid) -> ProcessTable {
        let processes = proc::see_all().into_iter().map(|seen| (seen, proc::mark(seen.id.pid))).collect();
        ProcessTable { me: proc::myself(), generation, boot: proc::boot(), processes }
    }

    fn judge(&self, record: &ProcessRecord) -> RecordVerdict {
        if record.generation == self.generation {
            return RecordVerdict::InUse;
        }
        if record.boot.is_none() || record.boot != self.boot {
            return RecordVerdict::LeftBehind(Vec::new());
        }
        if record.owner.is_some_and(|owner| self.is_another_alive(owner)) {
            return RecordVerdict::InUse;
        }
        RecordVerdict::LeftBehind(self.left_of(record))
    }

    /// A second executor that shares the folder still attends to its own.
    fn is_another_alive(&self, owner: ProcessIdentity) -> bool {
        self.me.is_none_or(|me| me.id != owner) && self.processes.iter().any(|(seen, _)| seen.id == owner && seen.alive)
    }

    fn left_of(&self, record: &ProcessRecord) -> Vec<KillTarget> {
        let mark = record.mark();
        let ours = |seen: &ProcessStat, its: &Option<AttemptMark>| {
            Some(seen.id) == record.leader || its.as_ref() == Some(&mark)
        };
        let mut targets: Vec<KillTarget> = (self.processes.iter())
            .filter(|(seen, its)| ours(seen, its))
            .map(|(seen, _)| match self.leader_of(seen.pgid) {
                Some((leader, its)) if !ours(leader, its) => KillTarget::Process(seen.id.pid),
                None | Some(_) => KillTarget::Group(seen.pgid),
            })
            .filter(|target| self.may_kill(*target))
            .collect();
        targets.sort_unstable();
        targets.dedup();
        targets
    }

    fn leader_of(&self, pgid: i32) -> Option<&(ProcessStat, Option<AttemptMark>)> {
        self.processes.iter().find(|(seen, _)| seen.id.pid == pgid)
    }

    /// Never ourselves, whoever started us; never everybody (0) nor init.
    fn may_kill(&self, target: KillTarget) -> bool {
        match target {
            KillTarget::Group(pgid) => pgid > 1 && self.me.is_some_and(|me| me.pgid != pgid),
            KillTarget::Process(pid) => pid > 1 && self.me.is_some_and(|me| me.id.pid != pid),
        }
    }
}

impl KillTarget {
    fn kill(self) -> bool {
        let sent = match self {
            KillTarget::Group(pgid) => Pid::from_raw(pgid).map(|pgid| kill_process_group(pgid, Signal::KILL)),
            KillTarget::Process(pid) => Pid::from_raw(pid).map(|pid| kill_process(pid, Signal::KILL)),
        };
        tracing::info!(what = ?self, ?sent, "killed what an attempt left running");
        matches!(sent, Some(Ok(())))
    }

    fn is_alive(self) -> bool {
        match self {
            KillTarget::Group(pgid) => Pid::from_raw(pgid).is_some_and(has_members),
            KillTarget::Process(pid) => proc::see(pid).is_some_and(|seen| seen.alive),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_model::{FencingToken, RunId};

    const RUN: RunId = RunId(Uuid::from_u128(1));

    fn process(pid: i32, pgid: i32, started_ticks: u64, fence: Option<u64>) -> (ProcessStat, Option<AttemptMark>) {
        let seen = ProcessStat { id: ProcessIdentity { pid, started_ticks }, pgid, parent: 1, alive: true };
        (seen, fence.map(|fence| AttemptMark::of(RUN, FencingToken(fence))))
    }

    fn snapshot(processes: &[(ProcessStat, Option<AttemptMark>)]) -> ProcessTable {
        let me = process(10, 10, 1, None);
        let processes = processes.iter().cloned().chain([me.clone()]).collect();
        ProcessTable { me: Some(me.0), generation: Uuid::from_u128(2), boot: Some("boot".into()), processes }
    }

    fn record(leader: Option<(i32, u64)>) -> ProcessRecord {
        let identity = |(pid, started_ticks)| ProcessIdentity { pid, started_ticks };
        ProcessRecord {
            run_id: RUN,
            attempt: 1,
            token: FencingToken(7),
            generation: Uuid::from_u128(1),
            owner: Some(identity((9, 5))),
            boot: Some("boot".into()),
            supervised: false,
            belongings: Belongings::default(),
            leader: leader.map(identity),
        }
    }

    fn left(record: &ProcessRecord, processes: &[(ProcessStat, Option<AttemptMark>)]) -> Vec<KillTarget> {
        match snapshot(processes).judge(record) {
            RecordVerdict::LeftBehind(targets) => targets,
            RecordVerdict::InUse => panic!("in use"),
        }
    }

    #[test]
    fn a_leader_is_proven_by_its_start_time_even_without_an_environment() {
        assert_eq!(left(&record(Some((50, 99))), &[process(50, 50, 99, None)]), [KillTarget::Group(50)]);
    }

    #[test]
    fn a_reused_number_is_not_killed() {
        assert_eq!(left(&record(Some((50, 99))), &[process(50, 50, 100, None), process(51, 50, 101, None)]), []);
    }

    #[test]
    fn members_that_survive_their_leader_are_proven_by_run_and_fence() {
        assert_eq!(left(&record(Some((50, 99))), &[process(51, 50, 100, Some(7))]), [KillTarget::Group(50)]);
        assert_eq!(left(&record(Some((50, 99))), &[process(51, 50, 100, None)]), []);
        assert_eq!(left(&record(Some((50, 99))), &[process(51, 50, 100, Some(8))]), [], "a later attempt");
    }

    #[test]
    fn an_intent_without_a_group_finds_its_processes_by_their_mark() {
        let seen = [process(60, 60, 1, Some(7)), process(61, 60, 2, Some(7)), process(62, 62, 2, None)];
        assert_eq!(left(&record(None), &seen), [KillTarget::Group(60)]);
    }

    #[test]
    fn a_marked_process_in_a_strangers_group_is_killed_alone() {
        let seen = [process(60, 60, 1, None), process(61, 60, 2, Some(7))];
        assert_eq!(left(&record(None), &seen), [KillTarget::Process(61)]);
    }

    #[test]
    fn we_never_kill_ourselves_even_if_a_run_started_us() {
        assert_eq!(left(&record(None), &[process(11, 10, 2, Some(7))]), [KillTarget::Process(11)]);
        let mut started_by_a_run = snapshot(&[]);
        started_by_a_run.processes = vec![process(10, 10, 1, Some(7))];
        assert_eq!(started_by_a_run.judge(&record(None)), RecordVerdict::LeftBehind(vec![]));
    }

    #[test]
    fn another_boot_leaves_nothing_behind() {
        let old = ProcessRecord { boot: Some("before".into()), ..record(Some((50, 99))) };
        assert_eq!(left(&old, &[process(50, 50, 99, Some(7))]), []);
    }

    #[test]
    fn what_a_living_executor_looks_after_is_left_alone() {
        let record = record(Some((50, 99)));
        let neighbour = snapshot(&[process(9, 9, 5, None), process(50, 50, 99, Some(7))]);
        assert_eq!(neighbour.judge(&record), RecordVerdict::InUse);
        let own = ProcessTable { generation: record.generation, ..snapshot(&[process(50, 50, 99, Some(7))]) };
        assert_eq!(own.judge(&record), RecordVerdict::InUse);
        let reused = snapshot(&[process(9, 9, 6, None), process(50, 50, 99, Some(7))]);
        assert_eq!(reused.judge(&record), RecordVerdict::LeftBehind(vec![KillTarget::Group(50)]));
    }
}
