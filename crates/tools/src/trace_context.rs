//! The W3C trace context a tool is given: a trace for each run, a span for each attempt.
//!
//! Invariant: derived, not drawn. The trace id is the run's id without its dashes, so whoever looks at a trace finds
//! the run, and the other way round.

use ordo_engine::tool::Work;

/// `TRACEPARENT` of a command.
pub(crate) const VARIABLE: &str = "TRACEPARENT";
/// `traceparent` of a request.
pub(crate) const HEADER: &str = "traceparent";

pub(crate) fn traceparent(work: &Work) -> String {
    let run = work.run_id.0;
    // The upper bits of this half say which kind of UUID it is: the span id is never zero.
    let (_, low) = run.as_u64_pair();
    format!("00-{}-{:016x}-01", run.simple(), low ^ u64::from(work.attempt))
}
