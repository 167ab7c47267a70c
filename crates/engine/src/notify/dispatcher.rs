//! The notification dispatcher: brings notifications to their senders, in order for one entity and sender, and writes down what came of it.
//!
//! Invariant: a notification is sent only when every notification of the same queue (sender and entity) before it is settled:
//! delivered or dead-lettered. Whoever settles one nudges the next; whoever wrote one has it looked at. Both write before
//! they look, so one of them sees the other.

use ordo_model::incident::{Incident, IncidentCommand};
use ordo_model::limits::NOTIFICATION_RETRY_DELAY_MAX;
use ordo_model::notification::{Message, Notification, NotificationCommand, NotificationState, Subject};
use ordo_model::{EntityId, Kind, Timestamp};
use ordo_store::{Direction, Fault};
use serde_json::Value;
use uuid::Uuid;

use crate::commit::command::SubmitError;
use crate::commit::kinds::notification::{QUEUES, queue_prefix};
use crate::commit::state::Versioned;
use crate::engine::Engine;
use crate::notify::channels::gone;
use crate::notify::reconciler::Reconciled;
use crate::notify::sender::{OutgoingMessage, SendError, Sender, Sent};
use crate::notify::workflow::fault_of;
use crate::read::metrics::Metrics;
use crate::read::object_queries::IndexRange;

/// Looks at a notification: whether it is its turn. Never waits for anybody outside.
pub(crate) async fn reconcile(engine: &Engine, id: Uuid) -> Result<Reconciled, Fault> {
    let Some(notification) = engine.queries().object::<Notification>(id).await? else { return Ok(Reconciled::Done) };
    let now = engine.clock().now();
    match &notification.state {
        NotificationState::Waiting { next_try } if *next_try > now => {
            if engine.is_due(Some(*next_try), notification.frame) {
                // Only its clock is put right by that: it is not settled yet.
                submit(engine, id, NotificationCommand::Forget).await?;
            }
            Ok(Reconciled::Done)
        }
        NotificationState::Waiting { .. } => {
            let in_turn = !ordo_model::is_planted!(NotificationOutOfTurn) && notification.holds_its_place();
            if in_turn && first_in_queue(engine, &notification).await? != Some(id) {
                return Ok(Reconciled::Asleep);
            }
            Ok(Reconciled::Through(notification.value.sender))
        }
        NotificationState::Delivered { .. }
        | NotificationState::DeadLettered { .. }
        | NotificationState::Silenced { .. } => {
            if notification.is_past_its_time(now) {
                submit(engine, id, NotificationCommand::Forget).await?;
            }
            Ok(Reconciled::Done)
        }
        NotificationState::Forgotten => Ok(Reconciled::Done),
    }
}

/// Sends a notification whose turn it is.
pub(crate) async fn deliver(engine: &Engine, id: Uuid) -> Result<Reconciled, Fault> {
    let Some(notification) = engine.queries().object::<Notification>(id).await? else { return Ok(Reconciled::Done) };
    if !notification.is_waiting() {
        return Ok(Reconciled::Done);
    }
    let tried = match engine.sender(&notification.sender).await? {
        Some(sender) => try_once(engine, sender.as_ref(), &notification).await?,
        None => Err(Failed { error: gone(&notification.sender), retry_at: None }),
    };
    let command = match tried {
        Ok(sent) => {
            if let Some(value) = sent.remember {
                remember(engine, &notification, value).await?;
            }
            Metrics::count(&engine.metrics().notifications_sent);
            engine.metrics().notification_lag_ms.observe(engine.clock().now().since(notification.message.at).ms());
            NotificationCommand::Delivered { note: sent.note }
        }
        Err(Failed { error, retry_at }) => {
            Metrics::count(&engine.metrics().notifications_failed);
            tracing::warn!(notification = %id, sender = notification.sender, %error, ?retry_at, "a notification could not be sent");
            NotificationCommand::Failed { error, retry_at }
        }
    };
    let after = submit(engine, id, command).await?;
    if let Some(after) = after.filter(|after| !after.is_waiting()) {
        if matches!(after.state, NotificationState::DeadLettered { .. }) {
            Metrics::count(&engine.metrics().notifications_dead_lettered);
        }
        if let Some(next) = first_in_queue(engine, &after).await? {
            engine.nudge(EntityId { kind: Kind::Notification, id: next });
        }
    }
    Ok(Reconciled::Done)
}

struct Failed {
    error: String,
    retry_at: Option<Timestamp>,
}

async fn try_once(
    engine: &Engine,
    sender: &dyn Sender,
    notification: &Versioned<Notification>,
) -> Result<Result<Sent, Failed>, Fault> {
    let remembered = remembered(engine, &notification.message, &notification.sender).await?;
    let key = notification.message.key();
    let attempt = notification.attempts + 1;
    let outgoing =
        OutgoingMessage { message: &notification.message, key: &key, attempt, remembered: remembered.as_ref() };
    let limit = sender.timeout();
    let sent = tokio::time::timeout(limit.to_std(), sender.send(&outgoing)).await;
    let sent = sent.unwrap_or_else(|_| Err(SendError::passing(format!("no answer within {limit}"))));
    Ok(sent.map_err(|error| failed(sender, error, attempt, engine.clock().now())))
}

/// The receiver may ask for a longer wait than the schedule has, not for a shorter one.
fn failed(sender: &dyn Sender, error: SendError, attempt: u32, now: Timestamp) -> Failed {
    let wait = sender.retries().wait_after(attempt).filter(|_| !error.permanent);
    let wait = wait.filter(|_| !ordo_model::is_planted!(GivenUpEarly));
    let wait = wait.map(|wait| wait.max(error.retry_after.unwrap_or_default()).min(NOTIFICATION_RETRY_DELAY_MAX));
    Failed { error: error.text, retry_at: wait.map(|wait| now.plus(wait)) }
}

async fn submit(
    engine: &Engine,
    id: Uuid,
    command: NotificationCommand,
) -> Result<Option<Versioned<Notification>>, Fault> {
    match engine.command::<Notification>(id, command).await {
        Ok(committed) => Ok(Some(Versioned::clone(&committed.state))),
        // It was forgotten meanwhile.
        Err(SubmitError::Refused(_)) => Ok(None),
        Err(error) => Err(fault_of(error)),
    }
}

/// The notification of this one's queue that goes next.
async fn first_in_queue(engine: &Engine, notification: &Notification) -> Result<Option<Uuid>, Fault> {
    let queue = queue_prefix(&notification.sender, notification.message.entity());
    let section = IndexRange { index: QUEUES, prefix: &queue, after: None, order: Direction::Ascending, limit: 1 };
    Ok(engine.queries().object_ids::<Notification>(&section).await?.pop())
}

async fn remembered(engine: &Engine, message: &Message, sender: &str) -> Result<Option<Value>, Fault> {
    match &message.subject {
        Subject::Incident { incident, .. } => {
            let incident = engine.queries().object::<Incident>(incident.id).await?;
            Ok(incident.and_then(|incident| incident.value.remembered.get(sender).cloned()))
        }
        Subject::Job { .. } => Ok(None),
    }
}

async fn remember(engine: &Engine, notification: &Notification, value: Value) -> Result<(), Fault> {
    let Subject::Incident { incident, .. } = &notification.message.subject else { return Ok(()) };
    let command = IncidentCommand::Remember { sender: notification.sender.clone(), value };
    match engine.command::<Incident>(incident.id, command).await {
        Ok(_) => Ok(()),
        Err(SubmitError::Refused(refusal)) => {
            tracing::warn!(incident = %incident.id, sender = notification.sender, %refusal, "what a sender wants kept is not kept");
            Ok(())
        }
        Err(error) => Err(fault_of(error)),
    }
}
