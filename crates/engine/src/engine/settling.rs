//! What a generation that is over left behind: its processes are ended, its attempts settled by the model's rule.

use std::collections::BTreeSet;

use ordo_store::Fault;
use uuid::Uuid;

use crate::commit::command::SubmitError;
use crate::dispatch::executors::restore;
use crate::engine::Engine;
use crate::maintenance::recovery;
use crate::maintenance::recovery::{RunningAttempt, Whose};
use crate::run::runner::Tools;

impl Engine {
    /// Attempts of generations that are over are settled by the model's rule; what remote executors have, they keep.
    pub(super) async fn recover(&self) -> Result<(), Fault> {
        let me = &self.shared.me;
        let shared = self.shared.queries.store().is_shared();
        let there = restore::executors(self).await?;
        let running = recovery::attempts(&self.shared.queries).await?;
        restore::attempts(self, &running).await?;
        self.settle(if shared { Whose::FormerGenerationsOf(me) } else { Whose::Everybodys(me) }, &running, &there).await
    }

    /// A node is gone: what it was running is settled.
    pub(crate) async fn settle_attempts_of(&self, node: &str) -> Result<(), Fault> {
        let there = restore::living(self).await?;
        let running = recovery::attempts(&self.shared.queries).await?;
        self.settle(Whose::Node(node), &running, &there).await
    }

    async fn settle(&self, whose: Whose<'_>, running: &[RunningAttempt], there: &BTreeSet<Uuid>) -> Result<(), Fault> {
        let settle_after = self.shared.options.tick_rate.saturating_mul(2);
        let orders = recovery::orders(running, whose, there, settle_after);
        let found = orders.len();
        for answer in self.send_all(orders).await {
            match answer {
                Ok(_) | Err(SubmitError::Refused(_)) => {}
                Err(SubmitError::Store(fault)) => return Err(Fault::clone(&fault)),
                Err(error) => return Err(Fault::damaged(format!("recovery stopped: {error}"))),
            }
        }
        if found > 0 {
            tracing::info!(jobs = found, "attempts of a former generation are being settled");
        }
        Ok(())
    }
}

pub(super) async fn sweep(tools: &Tools) {
    for (name, tool) in tools {
        match tool.sweep().await {
            Ok(0) => {}
            Ok(killed) => tracing::warn!(tool = %name, killed, "ended what a former generation left running"),
            Err(error) => {
                tracing::error!(tool = %name, %error, "could not look for what a former generation left running");
            }
        }
    }
}
