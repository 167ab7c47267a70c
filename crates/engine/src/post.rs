//! The post: brings letters to their senders, in order for one entity and sender, and writes down what came of it.
//!
//! Invariant: a letter is sent only when every letter of the same lane (sender and entity) before it is settled:
//! delivered or parked. Whoever settles one nudges the next; whoever wrote one has it looked at. Both write before
//! they look, so one of them sees the other.

use ordo_model::incident::{Incident, IncidentCommand};
use ordo_model::letter::{Letter, LetterCommand, LetterState, Message, Subject};
use ordo_model::limits::LETTER_WAIT_MAX;
use ordo_model::{EntityId, Kind, Timestamp};
use ordo_store::{Fault, Order};
use serde_json::Value;
use uuid::Uuid;

use crate::attend::Attended;
use crate::engine::Engine;
use crate::metrics::Metrics;
use crate::object::letter::{LANES, lane_prefix};
use crate::object::{AskError, Kept};
use crate::object_queries::Section;
use crate::sender::{Outgoing, SendError, Sender, Sent};
use crate::workflow::fault_of;

/// Looks at a letter: whether it is its turn. Never waits for anybody outside.
pub(crate) async fn attend(engine: &Engine, id: Uuid) -> Result<Attended, Fault> {
    let Some(letter) = engine.queries().object::<Letter>(id).await? else { return Ok(Attended::Done) };
    let now = engine.clock().now();
    match &letter.state {
        LetterState::Waiting { next_try } if *next_try > now => Ok(Attended::Done),
        LetterState::Waiting { .. } => {
            if letter.holds_its_place() && first_in_lane(engine, &letter).await? != Some(id) {
                return Ok(Attended::Asleep);
            }
            Ok(Attended::Through(letter.value.sender))
        }
        LetterState::Delivered { .. } | LetterState::Parked { .. } => {
            if letter.is_past_its_time(now) {
                tell(engine, id, LetterCommand::Forget).await?;
            }
            Ok(Attended::Done)
        }
        LetterState::Forgotten => Ok(Attended::Done),
    }
}

/// Sends a letter whose turn it is.
pub(crate) async fn deliver(engine: &Engine, id: Uuid) -> Result<Attended, Fault> {
    let Some(letter) = engine.queries().object::<Letter>(id).await? else { return Ok(Attended::Done) };
    if !letter.is_waiting() {
        return Ok(Attended::Done);
    }
    let tried = match engine.senders().get(&letter.sender) {
        Some(sender) => try_once(engine, sender.as_ref(), &letter).await?,
        None => Err(Failed { error: format!("there is no sender {:?}", letter.sender), retry_at: None }),
    };
    let command = match tried {
        Ok(sent) => {
            if let Some(value) = sent.remember {
                remember(engine, &letter, value).await?;
            }
            Metrics::count(&engine.metrics().letters_sent);
            engine.metrics().letter_lag_ms.observe(engine.clock().now().since(letter.message.at).ms());
            LetterCommand::Delivered { note: sent.note }
        }
        Err(Failed { error, retry_at }) => {
            Metrics::count(&engine.metrics().letters_failed);
            tracing::warn!(letter = %id, sender = letter.sender, %error, ?retry_at, "a letter could not be sent");
            LetterCommand::Failed { error, retry_at }
        }
    };
    let after = tell(engine, id, command).await?;
    if let Some(after) = after.filter(|after| !after.is_waiting()) {
        if matches!(after.state, LetterState::Parked { .. }) {
            Metrics::count(&engine.metrics().letters_parked);
        }
        if let Some(next) = first_in_lane(engine, &after).await? {
            engine.nudge(EntityId { kind: Kind::Letter, id: next });
        }
    }
    Ok(Attended::Done)
}

struct Failed {
    error: String,
    retry_at: Option<Timestamp>,
}

async fn try_once(engine: &Engine, sender: &dyn Sender, letter: &Kept<Letter>) -> Result<Result<Sent, Failed>, Fault> {
    let remembered = remembered(engine, &letter.message, &letter.sender).await?;
    let key = letter.message.key();
    let attempt = letter.attempts + 1;
    let outgoing = Outgoing { message: &letter.message, key: &key, attempt, remembered: remembered.as_ref() };
    let limit = sender.timeout();
    let sent = tokio::time::timeout(limit.to_std(), sender.send(&outgoing)).await;
    let sent = sent.unwrap_or_else(|_| Err(SendError::passing(format!("no answer within {limit}"))));
    Ok(sent.map_err(|error| failed(sender, error, attempt, engine.clock().now())))
}

/// The receiver may ask for a longer wait than the schedule has, not for a shorter one.
fn failed(sender: &dyn Sender, error: SendError, attempt: u32, now: Timestamp) -> Failed {
    let wait = sender.retries().wait_after(attempt).filter(|_| !error.permanent);
    let wait = wait.map(|wait| wait.max(error.retry_after.unwrap_or_default()).min(LETTER_WAIT_MAX));
    Failed { error: error.text, retry_at: wait.map(|wait| now.plus(wait)) }
}

async fn tell(engine: &Engine, id: Uuid, command: LetterCommand) -> Result<Option<Kept<Letter>>, Fault> {
    match engine.ask::<Letter>(id, command).await {
        Ok(told) => Ok(Some(Kept::clone(&told.kept))),
        // It was forgotten meanwhile.
        Err(AskError::Refused(_)) => Ok(None),
        Err(error) => Err(fault_of(error)),
    }
}

/// The letter of this one's lane that goes next.
async fn first_in_lane(engine: &Engine, letter: &Letter) -> Result<Option<Uuid>, Fault> {
    let lane = lane_prefix(&letter.sender, letter.message.entity());
    let section = Section { index: LANES, prefix: &lane, after: None, order: Order::Ascending, limit: 1 };
    Ok(engine.queries().object_ids::<Letter>(&section).await?.pop())
}

async fn remembered(engine: &Engine, message: &Message, sender: &str) -> Result<Option<Value>, Fault> {
    match &message.subject {
        Subject::Incident(card) => {
            let incident = engine.queries().object::<Incident>(card.id).await?;
            Ok(incident.and_then(|incident| incident.value.remembered.get(sender).cloned()))
        }
        Subject::Job(_) => Ok(None),
    }
}

async fn remember(engine: &Engine, letter: &Letter, value: Value) -> Result<(), Fault> {
    let Subject::Incident(card) = &letter.message.subject else { return Ok(()) };
    let command = IncidentCommand::Remember { sender: letter.sender.clone(), value };
    match engine.ask::<Incident>(card.id, command).await {
        Ok(_) => Ok(()),
        Err(AskError::Refused(refusal)) => {
            tracing::warn!(incident = %card.id, sender = letter.sender, %refusal, "what a sender wants kept is not kept");
            Ok(())
        }
        Err(error) => Err(fault_of(error)),
    }
}
