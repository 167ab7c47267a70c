//! For whoever sets the clock: say that it moved, and hear when its work is done.

use tokio::sync::oneshot;

use crate::commit::batcher::BatcherMessage;
use crate::core::Input;
use crate::engine::Engine;
use crate::engine::shell::CoreMessage;
use crate::notify::reconciler::ReconcilerMessage;

impl Engine {
    /// The process is gone: nothing is ended or written down. What was spawned on its own ends where it next waits for the
    /// store, which a dead process must not be given any more.
    #[cfg(feature = "sim")]
    pub fn die(&self) {
        let mut tasks = self.shared.tasks.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        tasks.drain(..).chain(self.reconciler().take()).for_each(|task| task.abort());
    }

    /// Has the core see what time it is.
    pub fn look_at_the_clock(&self) {
        self.send_input(Input::Time);
    }

    /// Until nothing runs here, nothing is about to, nothing waits in memory for a slot, and nothing that was committed is being
    /// carried on, as from the end of a job to those that come after it; or the engine is gone.
    pub async fn idle(&self) {
        let mut looked_at = None;
        loop {
            self.core_idle().await;
            let (reply, quiet) = oneshot::channel();
            drop(self.shared.reconcile.send(ReconcilerMessage::Quiet(reply)));
            let now = quiet.await.ok();
            // What was looked at since may have begun something.
            if now.is_none() || now == looked_at {
                return;
            }
            looked_at = now;
        }
    }

    async fn core_idle(&self) {
        // What can be read may not have come to the core yet: it does before a round that carries nothing is settled.
        let (reply, settled) = oneshot::channel();
        let empty = BatcherMessage::Chunks { chunks: Vec::new(), reply };
        if self.batcher().send(empty).is_ok() {
            // It cannot fail; an engine that is gone is idle.
            drop(settled.await);
        }
        let (reply, idle) = oneshot::channel();
        drop(self.shared.core.send(CoreMessage::Idle(reply)));
        idle.await.unwrap_or(());
    }
}
