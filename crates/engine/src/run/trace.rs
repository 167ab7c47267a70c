//! Which trace a run belongs to, and the spans that a collector gets about its attempts.
//!
//! Invariant: derived, not drawn. A run that nobody's trace asked for is a trace of its own, under its own id; the span
//! of an attempt follows from the run and the attempt, so a tool knows it before anything is exported.

use ordo_model::job::AttemptReport;
use ordo_model::{RunId, TraceParent};
use tracing::field::Empty;
use tracing::{Level, Span};

use crate::commit::change::StartedAttempt;
use crate::run::run_log;

/// Spans under this target are for a collector of traces, not for the log.
pub const TARGET: &str = "ordo::spans";

/// The part of all traces that is recorded, where nobody else has decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampling {
    below: u64,
}

/// In ids made as UUIDs the two bits above these are always the same.
const DECIDING_BITS: u32 = 62;

impl Sampling {
    pub const ALL: Sampling = Sampling { below: 1 << DECIDING_BITS };

    /// 0 is none, 1 is all of them.
    pub fn part(part: f64) -> Sampling {
        Sampling { below: (part.clamp(0.0, 1.0) * Sampling::ALL.below as f64) as u64 }
    }

    /// The same for a trace wherever it is asked.
    pub fn takes(self, trace_id: u128) -> bool {
        (trace_id as u64) & (Sampling::ALL.below - 1) < self.below
    }
}

/// The trace of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunTrace {
    trace_id: u128,
    sampled: bool,
    /// The span that asked for the run.
    parent: Option<u64>,
}

impl RunTrace {
    /// The caller's, if the run was asked for with one.
    pub fn of(run: RunId, asked: Option<TraceParent>, sampling: Sampling) -> RunTrace {
        match asked {
            Some(caller) => {
                RunTrace { trace_id: caller.trace_id, sampled: caller.sampled, parent: Some(caller.span_id) }
            }
            None => {
                let trace_id = run.0.as_u128();
                RunTrace { trace_id, sampled: sampling.takes(trace_id), parent: None }
            }
        }
    }

    /// The context an attempt leases on to what it does.
    pub fn attempt(&self, run: RunId, attempt: u32) -> TraceParent {
        // The upper bits of this half say which kind of UUID it is: the span id is never zero.
        let (_, low) = run.0.as_u64_pair();
        TraceParent { trace_id: self.trace_id, span_id: low ^ u64::from(attempt), sampled: self.sampled }
    }
}

/// The span of an attempt; it ends when it is dropped. None, where nobody collects it.
pub(crate) fn begin(assignment: &StartedAttempt, trace: &RunTrace) -> Span {
    if !trace.sampled || !tracing::span_enabled!(target: TARGET, Level::INFO) {
        return Span::none();
    }
    let context = trace.attempt(assignment.run_id, assignment.attempt);
    tracing::info_span!(
        target: TARGET,
        parent: None,
        "attempt",
        otel.name = %format_args!("run {}", assignment.label),
        otel.kind = "internal",
        otel.status_code = Empty,
        trace_id = context.trace_id,
        span_id = context.span_id,
        parent_span_id = trace.parent,
        ordo.job.id = %assignment.job_id,
        ordo.job.label = assignment.label,
        ordo.run.id = %assignment.run_id,
        ordo.run.attempt = assignment.attempt,
        ordo.run.scheduled_for = assignment.scheduled_for.map(|at| at.to_string()),
        ordo.tool = assignment.tool_name,
        ordo.executor = assignment.executor.executor,
        ordo.run.outcome = Empty,
    )
}

/// How it ended. A reason may hold a secret: it stays with the run.
pub(crate) fn end(span: &Span, report: &AttemptReport) {
    span.record("ordo.run.outcome", run_log::outcome(report));
    match report {
        AttemptReport::Completed { .. }
        | AttemptReport::Cancelled { .. }
        | AttemptReport::Nack { .. }
        | AttemptReport::Unclaimed { .. } => {}
        AttemptReport::Failed { .. } | AttemptReport::Interrupted { .. } | AttemptReport::Lost { .. } => {
            span.record("otel.status_code", "ERROR");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn run(n: u128) -> RunId {
        RunId(Uuid::from_u128(n))
    }

    #[test]
    fn a_run_of_its_own_is_a_trace_under_its_own_id() {
        let run = RunId(crate::time::clock::new_id());
        let context = RunTrace::of(run, None, Sampling::ALL).attempt(run, 1);
        assert_eq!((context.trace_id, context.sampled), (run.0.as_u128(), true));
        assert_ne!(context.span_id, 0);
    }

    #[test]
    fn a_run_that_a_trace_asked_for_goes_on_with_it_as_its_caller_decided() {
        let caller = TraceParent { trace_id: 7, span_id: 8, sampled: false };
        let trace = RunTrace::of(run(99), Some(caller), Sampling::ALL);
        let (first, second) = (trace.attempt(run(99), 1), trace.attempt(run(99), 2));
        assert_eq!((first.trace_id, first.sampled, trace.parent), (7, false, Some(8)));
        assert_ne!(first.span_id, second.span_id);
    }

    #[test]
    fn about_the_part_that_was_asked_for_is_recorded() {
        let count = |part: f64| (0..4_000).filter(|n| Sampling::part(part).takes(scattered(*n))).count();
        assert_eq!((count(0.0), count(1.0), count(7.5), count(-1.0)), (0, 4_000, 4_000, 0));
        assert!((300..500).contains(&count(0.1)), "{}", count(0.1));
    }

    /// An id whose lower half looks as in a UUID.
    fn scattered(n: u64) -> u128 {
        let spread = n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        u128::from(spread & !(0b11 << 62) | 0b10 << 62)
    }
}
