//! The account: every target in one column, and the columns add up.

use std::collections::BTreeMap;

use super::{JudgedTarget, TrialRecord};
use crate::lab::drawing::thousands;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::torture) enum TargetEnd {
    /// Its first attempt began so many milliseconds after its time.
    OnTime {
        late_ms: i64,
    },
    Late {
        late_ms: i64,
    },
    /// Fired, but no attempt had begun when it was read.
    Waiting,
    Skipped {
        reason: String,
    },
    StillDue,
    Unexplained,
}

#[derive(Debug, Default)]
pub(in crate::torture) struct TargetAccount {
    pub(in crate::torture) targets: usize,
    pub(in crate::torture) on_time: usize,
    pub(in crate::torture) late: usize,
    pub(in crate::torture) waiting: usize,
    pub(in crate::torture) skipped: BTreeMap<String, usize>,
    pub(in crate::torture) still_due: usize,
    pub(in crate::torture) unexplained: usize,
    pub(in crate::torture) runs: usize,
    pub(in crate::torture) executions: usize,
    pub(in crate::torture) faults: usize,
    pub(in crate::torture) deeds: usize,
    pub(in crate::torture) events_followed: u64,
    /// Sorted.
    pub(in crate::torture) lateness_ms: Vec<i64>,
}

impl TargetAccount {
    pub(super) fn close(&mut self, targets: &[JudgedTarget], trial: &TrialRecord, runs: usize) {
        self.targets = targets.len();
        for target in targets {
            match &target.end {
                TargetEnd::OnTime { late_ms } => {
                    self.on_time += 1;
                    self.lateness_ms.push(*late_ms);
                }
                TargetEnd::Late { late_ms } => {
                    self.late += 1;
                    self.lateness_ms.push(*late_ms);
                }
                TargetEnd::Waiting => self.waiting += 1,
                TargetEnd::Skipped { reason } => *self.skipped.entry(reason.clone()).or_default() += 1,
                TargetEnd::StillDue => self.still_due += 1,
                TargetEnd::Unexplained => self.unexplained += 1,
            }
        }
        self.lateness_ms.sort_unstable();
        self.runs = runs;
        self.executions = trial.evidence.executions.len();
        self.faults = trial.faults.len();
        self.deeds = trial.jobs.iter().map(|job| job.deeds.len()).sum();
        self.events_followed = trial.followed.heard;
    }

    /// The value that so many of a hundred do not exceed.
    pub(in crate::torture) fn lateness(&self, percent: usize) -> i64 {
        let last = self.lateness_ms.len().saturating_sub(1);
        self.lateness_ms.get(last * percent / 100).copied().unwrap_or(0)
    }

    pub(in crate::torture) fn rows(&self) -> Vec<(String, usize)> {
        let mut rows = vec![
            ("targets".to_owned(), self.targets),
            ("on time".to_owned(), self.on_time),
            ("late".to_owned(), self.late),
        ];
        rows.extend(self.skipped.iter().map(|(reason, count)| (format!("skipped: {reason}"), *count)));
        rows.push(("fired, not begun yet".to_owned(), self.waiting));
        rows.push(("still due".to_owned(), self.still_due));
        rows.push(("unexplained".to_owned(), self.unexplained));
        rows
    }
}

impl std::fmt::Display for TargetAccount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rows = self.rows().into_iter().filter(|(name, count)| *count > 0 || name == "unexplained");
        let rows: Vec<String> = rows.map(|(name, count)| format!("{name} {}", thousands(count))).collect();
        writeln!(f, "  {}", rows.join(", "))?;
        writeln!(
            f,
            "  {} runs, {} attempts seen by the jobs themselves, {} events followed, {} requests, {} faults",
            thousands(self.runs),
            thousands(self.executions),
            thousands(self.events_followed),
            thousands(self.deeds),
            self.faults,
        )?;
        write!(
            f,
            "  begun after their time: p50 {} ms, p99 {} ms, max {} ms",
            self.lateness(50),
            self.lateness(99),
            self.lateness(100)
        )
    }
}
