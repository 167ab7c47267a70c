//! Views: derived rows in key order, so that lists and look-ups need no scan.
//!
//! Invariant: the name and code of a view never change once released; keys and values are the engine's, opaque here. What a
//! store with tables shows of a view, and where it finds its rows, is declared in `table.rs`.

use crate::TableCell;

/// Which view a row belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum View {
    /// job → nothing, in stores with tables only: a row of columns
    Jobs,
    /// label, job → nothing
    JobsByLabel,
    /// state, job → nothing
    JobsByState,
    /// run → the run, packed
    Runs,
    /// job, run → nothing
    RunsByJob,
    /// status (all but completed), run → nothing
    RunsByStatus,
    /// group, pool, tool, turn, rank, run → job and terms: runs that wait for a free slot
    Queue,
    /// due time, job → nothing: jobs whose history is to be trimmed
    Retention,
    /// kind of entity, number of the index, key → value: the small indexes, of jobs (hook, chain, trigger, tag) and of all
    /// other things
    Index,
    /// incident → nothing, in stores with tables only: a row of columns
    Incidents,
    /// time, entity, version → who did what: changes by people and programs. Stays when its event is gone
    Audit,
}

impl View {
    pub const ALL: [View; 11] = [
        View::Jobs,
        View::JobsByLabel,
        View::JobsByState,
        View::Runs,
        View::RunsByJob,
        View::RunsByStatus,
        View::Queue,
        View::Retention,
        View::Index,
        View::Incidents,
        View::Audit,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            View::Jobs => "jobs",
            View::JobsByLabel => "jobs_by_label",
            View::JobsByState => "jobs_by_state",
            View::Runs => "runs",
            View::RunsByJob => "runs_by_job",
            View::RunsByStatus => "runs_by_status",
            View::Queue => "queue",
            View::Retention => "retention",
            View::Index => "index",
            View::Incidents => "incidents",
            View::Audit => "audit",
        }
    }
}

/// Puts a row, or deletes it when `value` is None.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowWrite {
    pub view: View,
    pub key: Vec<u8>,
    pub value: Option<Vec<u8>>,
    /// One for each of [`View::columns`] where a row is put into a store with tables; otherwise none.
    pub cells: Vec<TableCell>,
}

impl RowWrite {
    pub const fn put(view: View, key: Vec<u8>, value: Vec<u8>) -> RowWrite {
        RowWrite { view, key, value: Some(value), cells: Vec::new() }
    }

    pub const fn delete(view: View, key: Vec<u8>) -> RowWrite {
        RowWrite { view, key, value: None, cells: Vec::new() }
    }

    /// What takes the same row away.
    #[must_use]
    pub fn gone(self) -> RowWrite {
        RowWrite::delete(self.view, self.key)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub key: Vec<u8>,
    pub value: Vec<u8>,
}

/// Keys from `from` (included) to `to` (not included; None: to the end of the view).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyRange {
    pub from: Vec<u8>,
    pub to: Option<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Ascending,
    Descending,
}

impl KeyRange {
    pub fn all() -> KeyRange {
        KeyRange::default()
    }

    /// All keys that begin with `prefix`.
    pub fn prefix(prefix: &[u8]) -> KeyRange {
        KeyRange { from: prefix.to_vec(), to: successor(prefix) }
    }
}

/// The smallest key greater than every key that begins with `prefix`.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let kept = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut next = prefix[..=kept].to_vec();
    next[kept] += 1;
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_range_ends_before_the_next_prefix() {
        assert_eq!(KeyRange::prefix(b"ab"), KeyRange { from: b"ab".to_vec(), to: Some(b"ac".to_vec()) });
        assert_eq!(KeyRange::prefix(&[1, 0xff]).to, Some(vec![2]));
        assert_eq!(KeyRange::prefix(&[0xff]).to, None);
    }
}
