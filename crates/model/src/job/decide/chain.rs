//! A job that this one waits for has ended.

use super::draft::Draft;
use super::{fire, refuse_cancelled};
use crate::id::RunId;
use crate::job::after::{AfterMode, UpstreamEnd, input_with};
use crate::job::command::Refusal;
use crate::job::event::{Cause, Event, SkipReason, Timeliness};
use crate::job::state::Phase;
use crate::job::verdict::Verdict;
use crate::limits::CHAIN_DEPTH_MAX;

/// Brings a run about if this was the end it waits for, or remembers it. An end that does not count changes nothing.
pub(super) fn arrive(draft: &mut Draft, end: UpstreamEnd) -> Result<(), Refusal> {
    refuse_cancelled(&draft.job)?;
    let Some(after) = draft.job.definition.after.clone() else { return Ok(()) };
    if !after.jobs.contains(&end.job_id) || !after.on.takes(&end.status) {
        return Ok(());
    }
    if end.depth >= CHAIN_DEPTH_MAX {
        return Err(Refusal::ChainTooLong);
    }
    match after.mode {
        AfterMode::Any => bring_about(draft, end.run_id, &[end]),
        AfterMode::All => {
            let others = draft.job.arrived.iter().filter(|known| known.job_id != end.job_id);
            let ends: Vec<UpstreamEnd> = others.cloned().chain([end.clone()]).collect();
            let place = |job| ends.iter().position(|end: &UpstreamEnd| end.job_id == job);
            match after.jobs.iter().map(|job| place(*job)).collect::<Option<Vec<usize>>>() {
                Some(places) => {
                    let ends: Vec<UpstreamEnd> = places.into_iter().map(|place| ends[place].clone()).collect();
                    bring_about(draft, end.run_id, &ends);
                }
                None => draft.emit(Event::UpstreamEnded { end }),
            }
        }
    }
    Ok(())
}

/// A paused or held job records that it did not run, as for a webhook.
fn bring_about(draft: &mut Draft, of: RunId, ends: &[UpstreamEnd]) {
    let depth = ends.iter().map(|end| end.depth).max().unwrap_or_default() + 1;
    let cause = Cause::After { of, depth };
    let skipped = match draft.job.phase {
        Phase::Paused { .. } => Some(SkipReason::Paused),
        Phase::Held => Some(SkipReason::Held),
        Phase::Active | Phase::Cancelled => None,
    };
    if let Some(reason) = skipped {
        draft.emit(Event::JobSkipped {
            run_id: draft.next_run_id(),
            reason,
            cause,
            gap: None,
            verdict: Verdict::default(),
        });
        return;
    }
    let tool_input = Some(input_with(&draft.job.definition.tool_input, ends));
    let traceparent = ends.iter().find_map(|end| end.traceparent);
    fire::trigger(draft, cause, Timeliness::OnTime, fire::Given { tool_input, traceparent });
}
