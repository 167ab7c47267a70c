//! What `/proc` says about processes.
//!
//! Invariant: a process that cannot be read is not there; nothing is concluded from a read that failed.

use std::fs;

use ordo_model::{FencingToken, RunId};
use serde::{Deserialize, Serialize};

/// A process, distinguished from a later one with the same number: field 22 of its `stat`, in ticks since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessIdentity {
    pub(crate) pid: i32,
    pub(crate) started_ticks: u64,
}

/// One process, as `/proc/<pid>/stat` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    pub(crate) id: ProcessIdentity,
    pub(crate) pgid: i32,
    /// Whose child it is.
    pub(crate) parent: i32,
    pub(crate) alive: bool,
}

/// The attempt a process says it belongs to, by the environment it was started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AttemptMark {
    pub(crate) run: String,
    pub(crate) fence: String,
}

impl AttemptMark {
    pub(crate) fn of(run: RunId, token: FencingToken) -> AttemptMark {
        AttemptMark { run: run.to_string(), fence: token.0.to_string() }
    }
}

pub(crate) fn see(pid: i32) -> Option<ProcessStat> {
    parse_stat(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

pub(crate) fn see_all() -> Vec<ProcessStat> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).filter_map(see).collect()
}

/// The living among these whose line of parents leads to `root`, which is not among them itself.
pub(crate) fn descendants_of(processes: &[ProcessStat], root: i32) -> Vec<ProcessStat> {
    let mut found: Vec<ProcessStat> = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        // The dead have no children: those went to somebody else when their parent died.
        let children = processes.iter().filter(|seen| seen.alive && seen.parent == parent && seen.id.pid != root);
        for child in children {
            if !found.iter().any(|known| known.id == child.id) {
                parents.push(child.id.pid);
                found.push(*child);
            }
        }
    }
    found
}

pub(crate) fn mark(pid: i32) -> Option<AttemptMark> {
    parse_mark(&fs::read(format!("/proc/{pid}/environ")).ok()?)
}

/// Names this boot: process numbers and start times of another one mean nothing.
pub(crate) fn boot() -> Option<String> {
    Some(fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned())
}

pub(crate) fn myself() -> Option<ProcessStat> {
    see(i32::try_from(std::process::id()).ok()?)
}

/// The command's name stands in parentheses and may itself hold spaces and parentheses: fields count from the last one.
fn parse_stat(pid: i32, stat: &str) -> Option<ProcessStat> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let state = *fields.first()?;
    let id = ProcessIdentity { pid, started_ticks: fields.get(19)?.parse().ok()? };
    let (parent, pgid) = (fields.get(1)?.parse().ok()?, fields.get(2)?.parse().ok()?);
    Some(ProcessStat { id, pgid, parent, alive: !matches!(state, "Z" | "X" | "x") })
}

fn parse_mark(environ: &[u8]) -> Option<AttemptMark> {
    let find = |name: &[u8]| {
        let value = environ.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(name))?;
        String::from_utf8(value.to_vec()).ok()
    };
    Some(AttemptMark { run: find(b"ORDO_RUN_ID=")?, fence: find(b"ORDO_FENCE=")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_is_read_past_any_command_name() {
        let tail = "S 1 77 77 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 4242 0 0";
        for name in ["(sh)", "(a b)", "(x) R 5 5 (y))"] {
            let seen = parse_stat(80, &format!("80 {name} {tail}")).unwrap();
            assert_eq!(
                seen,
                ProcessStat { id: ProcessIdentity { pid: 80, started_ticks: 4242 }, pgid: 77, parent: 1, alive: true },
                "command name {name}"
            );
        }
        assert!(!parse_stat(80, &format!("80 (sh) {}", tail.replacen('S', "Z", 1))).unwrap().alive);
        assert_eq!(parse_stat(80, "80 (sh) S 1"), None);
    }

    #[test]
    fn descendants_are_found_through_every_generation_and_strangers_are_not() {
        let process = |pid, parent, alive| ProcessStat {
            id: ProcessIdentity { pid, started_ticks: 1 },
            pgid: pid,
            parent,
            alive,
        };
        let all = [
            process(50, 1, true),
            process(51, 50, true),
            process(52, 51, true),
            process(53, 50, false),
            process(60, 1, true),
            process(61, 60, true),
        ];
        let found: Vec<i32> = descendants_of(&all, 50).iter().map(|seen| seen.id.pid).collect();
        assert_eq!(found, [51, 52]);
    }

    #[test]
    fn a_mark_needs_the_run_and_the_fence_at_the_start_of_an_entry() {
        let mark = AttemptMark { run: "r".into(), fence: "7".into() };
        assert_eq!(parse_mark(b"A=1\0ORDO_RUN_ID=r\0ORDO_FENCE=7\0"), Some(mark));
        assert_eq!(parse_mark(b"ORDO_RUN_ID=r\0"), None);
        assert_eq!(parse_mark(b"XORDO_RUN_ID=r\0ORDO_FENCE=7\0"), None);
    }

    #[test]
    fn this_process_sees_itself() {
        let me = myself().unwrap();
        assert!(me.alive && me.id.started_ticks > 0);
        assert!(see_all().contains(&me));
        assert_eq!(boot().unwrap().len(), 36);
    }
}
