//! The last part of a world: first nothing goes wrong any more, then nothing is asked any more, then it is looked at.

use crate::actors::node::SimNode;
use crate::happening::Happening;
use crate::record::history::FactKind;
use crate::world::{Crash, Simulation};

/// How long everything goes well before the world is asked to stand still.
const CALM_MS: i64 = 4 * 60_000;
/// By then at the latest every run must have come to its end once nothing new is asked: timeouts, graces, retries.
const SETTLE_MS: i64 = 40 * 60_000;

impl Simulation {
    pub(crate) fn begin_calm(&mut self) -> Result<(), Crash> {
        self.calm = true;
        self.plug.clear_fuse();
        self.slow_until = 0;
        self.stalled_until = 0;
        if let Some(node) = &mut self.node {
            node.crash_in = None;
        } else {
            self.after(1, Happening::Boot);
        }
        self.release_deaf();
        self.trouble(self.mono);
        self.fact(FactKind::Calm);
        self.after(CALM_MS, Happening::Quiet);
        Ok(())
    }

    pub(crate) fn begin_quiet(&mut self) -> Result<(), Crash> {
        self.fact(FactKind::Quiet);
        self.quiet_since = Some(self.mono);
        self.after(1_000, Happening::Watch);
        self.submit_pauses()
    }

    pub(crate) fn watch(&mut self) -> Result<(), Crash> {
        self.after(2_000, Happening::Watch);
        Ok(())
    }

    /// Nothing is under way any more, or it should long not have been.
    pub(crate) fn is_over(&self) -> bool {
        let Some(since) = self.quiet_since else { return false };
        let quiet = self.mono - since;
        let idle = self.active.is_empty() && self.client.is_idle() && self.node.as_ref().is_some_and(SimNode::is_idle);
        (idle && quiet > 5_000) || quiet > SETTLE_MS + self.set_back_ms
    }

    pub(crate) fn end(&mut self) {
        let Some(node) = self.node.take() else {
            self.history.end.differences.push("the node is down at the end".into());
            return;
        };
        self.tail(node.store.as_ref(), None);
        self.history.end.mono = self.mono;
        self.history.end.wall = self.wall_ms();
        self.history.end.wall_max = self.wall_max;
        node.close(&mut self.history.end);
        let end = format!("{:?}", self.history.end);
        self.note(format_args!("{end}"));
    }
}
