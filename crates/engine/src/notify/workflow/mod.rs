//! The workflow: hands what stands in an outbox on, in order, and marks it as published.
//!
//! Invariant: an entry is marked only after every notification it leads to is durable. Handing on twice does no harm: a
//! notification is written once, whatever else is done carries a key.

mod chain;
pub(crate) mod incident;
pub(crate) mod job;
mod job_incidents;
pub(crate) mod monitor;
mod trouble;

use futures_util::future::try_join_all;
use ordo_model::Timestamp;
use ordo_model::notification::{Message, Notification, NotificationCommand};
use ordo_store::Fault;

use crate::commit::command::SubmitError;
use crate::engine::Engine;

/// How many entries one pass hands on before it marks them.
const ENTRIES_PER_PASS: usize = 100;

/// Writes a notification for each sender that wants the message. All of them are durable when this answers, and so the
/// notifications of the next message come behind them.
async fn write_notifications(engine: &Engine, message: Message) -> Result<(), Fault> {
    let senders = engine.interested(&message).await?;
    if senders.is_empty() {
        return Ok(());
    }
    let silenced_by = engine.queries().silence_of(&message, engine.clock().now()).await?;
    let notifications = senders.into_iter().map(|sender| {
        let id = Notification::id(&message, &sender);
        let command = NotificationCommand::Write { sender, message: Box::new(message.clone()), silenced_by };
        async move { engine.command::<Notification>(id, command).await.map_err(fault_of) }
    });
    try_join_all(notifications).await.map(drop)
}

fn handed_on(engine: &Engine, happened_at: impl Iterator<Item = Timestamp>) {
    let now = engine.clock().now();
    happened_at.for_each(|at| engine.metrics().outbox_lag_ms.observe(now.since(at).ms()));
}

/// Why something could not be done now; it is tried again.
pub(crate) fn fault_of<R: std::error::Error>(error: SubmitError<R>) -> Fault {
    match error {
        SubmitError::Store(fault) => Fault::clone(&fault),
        SubmitError::Contended
        | SubmitError::Overloaded
        | SubmitError::Stopped
        | SubmitError::Duplicate(_)
        | SubmitError::Refused(_) => Fault::unavailable("handing news on", error.to_string()),
    }
}
