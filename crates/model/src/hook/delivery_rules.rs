//! What happens to a delivery, and how that moves it.

use super::delivery::{Bound, Delivery, DeliveryCommand, DeliveryEvent, DeliveryOutcome, DeliveryRefusal};
use crate::id::JobId;
use crate::limits::{
    DELIVERY_CHECK_MAX, DELIVERY_CHECK_MIN, DELIVERY_WAIT_MAX, DELIVERY_WAIT_MIN, SENDER_ID_MAX_BYTES,
};
use crate::object::Misplaced;
use crate::text::{shortened, visible};
use crate::time::{Millis, Timestamp};

pub(super) fn decide(
    before: Option<&Delivery>,
    command: DeliveryCommand,
    now: Timestamp,
) -> Result<Vec<DeliveryEvent>, DeliveryRefusal> {
    match (command, before) {
        (DeliveryCommand::Receive { .. }, Some(_)) => Err(DeliveryRefusal::Duplicate),
        (DeliveryCommand::Receive { hook, sender_id, content_type, bytes, payload, passes, jobs }, None) => {
            Ok(vec![DeliveryEvent::DeliveryReceived {
                hook,
                sender_id: sender_id.as_deref().map(shown),
                content_type: content_type.as_deref().map(shown),
                bytes,
                payload: passes.then_some(payload),
                jobs: if passes { jobs } else { Vec::new() },
            }])
        }
        (DeliveryCommand::Check { .. } | DeliveryCommand::Replay { .. }, None) => Err(DeliveryRefusal::NoSuchDelivery),
        (DeliveryCommand::Check { found }, Some(delivery)) => Ok(check(delivery, found, now)),
        (DeliveryCommand::Replay { jobs }, Some(delivery)) => replay(delivery, jobs),
    }
}

fn replay(delivery: &Delivery, jobs: Vec<JobId>) -> Result<Vec<DeliveryEvent>, DeliveryRefusal> {
    if delivery.is_open() {
        return Err(DeliveryRefusal::NotOver);
    }
    match delivery.payload {
        Some(_) => Ok(vec![DeliveryEvent::DeliveryReplayed { jobs }]),
        None => Err(DeliveryRefusal::PayloadGone),
    }
}

fn check(delivery: &Delivery, found: Vec<Bound>, now: Timestamp) -> Vec<DeliveryEvent> {
    let news: Vec<Bound> = found.into_iter().filter(|found| is_news(delivery, found)).collect();
    let mut after = delivery.clone();
    lay(&mut after.bound, &news);
    let check_at = now.plus(pause(&after, now));
    let mut events = Vec::new();
    if !news.is_empty() {
        events.push(match delivery.has_waiting() {
            true => DeliveryEvent::DeliveryRouted { bound: news, check_at },
            false => DeliveryEvent::DeliveryRunsEnded { bound: news, check_at },
        });
    } else if after.is_open() && delivery.check_at <= now {
        events.push(DeliveryEvent::DeliveryLookedAfter { check_at });
    }
    if !after.is_open() {
        if after.expires_at() <= now {
            events.push(DeliveryEvent::DeliveryForgotten {});
        } else if after.payload.is_some() && is_done_with(&after) {
            events.push(DeliveryEvent::PayloadForgotten {});
        }
    }
    events
}

/// Something open moved on. What is over stays as it is.
fn is_news(delivery: &Delivery, found: &Bound) -> bool {
    delivery
        .bound
        .iter()
        .any(|known| known.job == found.job && known.outcome.is_open() && known.outcome != found.outcome)
}

/// A delivery that no job heard is kept: somebody may have forgotten to bind the job.
fn is_done_with(delivery: &Delivery) -> bool {
    !delivery.bound.is_empty() && delivery.bound.iter().all(|bound| bound.outcome.is_done_with())
}

/// How long until somebody must look again: the longer it lasts, the less often.
fn pause(delivery: &Delivery, now: Timestamp) -> Millis {
    let lasted = now.since(delivery.since);
    match delivery.has_waiting() {
        true => lasted.clamp(DELIVERY_WAIT_MIN, DELIVERY_WAIT_MAX),
        false => lasted.clamp(DELIVERY_CHECK_MIN, DELIVERY_CHECK_MAX),
    }
}

pub(super) fn apply(before: Option<Delivery>, event: &DeliveryEvent, at: Timestamp) -> Result<Delivery, Misplaced> {
    let misplaced = Misplaced { event: event.name() };
    let Some(mut delivery) = before else {
        return match event {
            DeliveryEvent::DeliveryReceived { hook, sender_id, content_type, bytes, payload, jobs } => Ok(Delivery {
                hook: hook.clone(),
                sender_id: sender_id.clone(),
                content_type: content_type.clone(),
                bytes: *bytes,
                payload: *payload,
                received_at: at,
                filtered: payload.is_none(),
                bound: waiting(jobs),
                replays: 0,
                since: at,
                check_at: at,
                forgotten: false,
            }),
            _ => Err(misplaced),
        };
    };
    match event {
        DeliveryEvent::DeliveryReceived { .. } => return Err(misplaced),
        DeliveryEvent::DeliveryRouted { bound, check_at } | DeliveryEvent::DeliveryRunsEnded { bound, check_at } => {
            lay(&mut delivery.bound, bound);
            delivery.check_at = *check_at;
        }
        DeliveryEvent::DeliveryLookedAfter { check_at } => delivery.check_at = *check_at,
        DeliveryEvent::PayloadForgotten {} => delivery.payload = None,
        DeliveryEvent::DeliveryReplayed { jobs } => {
            delivery.bound = waiting(jobs);
            delivery.replays += 1;
            delivery.since = at;
            delivery.check_at = at;
        }
        DeliveryEvent::DeliveryForgotten {} => delivery.forgotten = true,
    }
    Ok(delivery)
}

fn waiting(jobs: &[JobId]) -> Vec<Bound> {
    jobs.iter().map(|job| Bound { job: *job, outcome: DeliveryOutcome::Waiting }).collect()
}

fn lay(bound: &mut [Bound], news: &[Bound]) {
    for new in news {
        if let Some(known) = bound.iter_mut().find(|known| known.job == new.job) {
            known.outcome = new.outcome.clone();
        }
    }
}

/// What a sender says is shown up to a limit, with what cannot be seen written out.
fn shown(text: &str) -> String {
    shortened(&visible(text), SENDER_ID_MAX_BYTES).to_owned()
}
