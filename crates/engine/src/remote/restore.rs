//! What a new process must know of remote executors before it begins: who was there, and what they have.
//!
//! Invariant: leases count anew from now. A restart of the server alone costs no healthy run.

use std::collections::BTreeSet;

use ordo_model::executor::{ExecutorCommand, Presence};
use ordo_store::Fault;
use uuid::Uuid;

use super::lease::ask;
use super::roll::InHand;
use crate::core::{Input, News};
use crate::dispatch::Restored;
use crate::engine::Engine;
use crate::recovery::RunningAttempt;

/// Brings the executors back that were there; answers their ids.
pub(crate) async fn executors(engine: &Engine) -> Result<BTreeSet<Uuid>, Fault> {
    let mut there = BTreeSet::new();
    for listed in engine.executors().await?.into_iter().filter(|listed| listed.executor.is_there()) {
        ask(engine, listed.id, ExecutorCommand::Renew).await?;
        let draining = listed.executor.presence == Presence::Draining;
        let offer = listed.executor.offer;
        engine.roll().enroll(listed.id, offer.clone(), draining, engine.clock().now());
        engine.tell_core(listed.id, News::Enrolled(offer));
        if draining {
            engine.tell_core(listed.id, News::Draining);
        }
        there.insert(listed.id);
    }
    Ok(there)
}

/// Puts what they run back into their hands.
pub(crate) fn attempts(engine: &Engine, running: &[RunningAttempt], there: &BTreeSet<Uuid>) {
    let theirs = running.iter().filter(|attempt| there.contains(&attempt.executor.life));
    let restored = theirs.map(|attempt| {
        let held = InHand::new(attempt.job_id, attempt.token, attempt.attempt, attempt.started_at);
        engine.roll().put_in_hand(attempt.executor.life, attempt.run_id, held);
        Restored {
            job_id: attempt.job_id,
            run_id: attempt.run_id,
            token: attempt.token,
            executor: attempt.executor.life,
            key: attempt.key.clone(),
        }
    });
    let restored: Vec<Restored> = restored.collect();
    if !restored.is_empty() {
        engine.tell(Input::Restored(restored));
    }
}
