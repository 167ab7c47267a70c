//! Which type stands behind which kind.

use std::sync::Arc;

use ordo_model::api_token::{ApiToken, ApiTokenCommand};
use ordo_model::channel::Channel;
use ordo_model::executor::Executor;
use ordo_model::hook::{Delivery, Hook};
use ordo_model::incident::{EscalationChain, Incident};
use ordo_model::login::{Login, LoginCommand};
use ordo_model::monitor::Monitor;
use ordo_model::notification::Notification;
use ordo_model::object::Object;
use ordo_model::secret::Secret;
use ordo_model::silence::{Silence, SilenceCommand};
use ordo_model::subscription::Subscription;
use ordo_model::{EntityId, JobId, Kind};
use ordo_store::{Fault, Snapshot, StoredEvent};

use crate::dispatch::deliveries;
use crate::engine::Engine;
use crate::notify::dispatcher;
use crate::notify::reconciler::Reconciled;
use crate::notify::workflow;

use crate::commit::command::SubmitError;
use crate::commit::encoding::codec;
use crate::commit::entity_command::Committed;
use crate::commit::state::{EntityRef, decode_as, fold_as};

/// Reads a snapshot.
pub(crate) fn decode(entity: EntityId, snapshot: &Snapshot) -> Result<EntityRef, Fault> {
    match entity.kind {
        Kind::Job => Ok(Arc::new(codec::decode_job(&snapshot.state)?)),
        Kind::Hook => decode_as::<Hook>(entity, snapshot),
        Kind::Delivery => decode_as::<Delivery>(entity, snapshot),
        Kind::ApiToken => decode_as::<ApiToken>(entity, snapshot),
        Kind::Secret => decode_as::<Secret>(entity, snapshot),
        Kind::Executor => decode_as::<Executor>(entity, snapshot),
        Kind::Subscription => decode_as::<Subscription>(entity, snapshot),
        Kind::Incident => decode_as::<Incident>(entity, snapshot),
        Kind::Notification => decode_as::<Notification>(entity, snapshot),
        Kind::Monitor => decode_as::<Monitor>(entity, snapshot),
        Kind::Silence => decode_as::<Silence>(entity, snapshot),
        Kind::Login => decode_as::<Login>(entity, snapshot),
        Kind::EscalationChain => decode_as::<EscalationChain>(entity, snapshot),
        Kind::Channel => decode_as::<Channel>(entity, snapshot),
    }
}

/// Moves a state on by one recorded event.
pub(crate) fn fold(before: Option<EntityRef>, stored: &StoredEvent) -> Result<EntityRef, Fault> {
    match stored.entity.kind {
        Kind::Job => Err(Fault::misuse(format!("{} is not an object", stored.entity))),
        Kind::Hook => fold_as::<Hook>(before, stored),
        Kind::Delivery => fold_as::<Delivery>(before, stored),
        Kind::ApiToken => fold_as::<ApiToken>(before, stored),
        Kind::Secret => fold_as::<Secret>(before, stored),
        Kind::Executor => fold_as::<Executor>(before, stored),
        Kind::Subscription => fold_as::<Subscription>(before, stored),
        Kind::Incident => fold_as::<Incident>(before, stored),
        Kind::Notification => fold_as::<Notification>(before, stored),
        Kind::Monitor => fold_as::<Monitor>(before, stored),
        Kind::Silence => fold_as::<Silence>(before, stored),
        Kind::Login => fold_as::<Login>(before, stored),
        Kind::EscalationChain => fold_as::<EscalationChain>(before, stored),
        Kind::Channel => fold_as::<Channel>(before, stored),
    }
}

/// Does what an entity wants done. Whatever is decided goes through an ask of its own.
pub(crate) async fn reconcile(engine: &Engine, entity: EntityId) -> Result<Reconciled, Fault> {
    match entity.kind {
        Kind::Executor => crate::dispatch::executors::reconcile(engine, entity.id).await.map(|()| Reconciled::Done),
        Kind::Job => workflow::job::reconcile(engine, JobId(entity.id)).await,
        Kind::Incident => workflow::incident::reconcile(engine, entity.id).await,
        Kind::Notification => dispatcher::reconcile(engine, entity.id).await,
        Kind::Monitor => workflow::monitor::reconcile(engine, entity.id).await,
        Kind::Delivery => deliveries::reconcile(engine, entity.id).await.map(|()| Reconciled::Done),
        Kind::ApiToken => done(engine.command::<ApiToken>(entity.id, ApiTokenCommand::Forget).await),
        Kind::Silence => done(engine.command::<Silence>(entity.id, SilenceCommand::Wake).await),
        Kind::Login => done(engine.command::<Login>(entity.id, LoginCommand::Forget).await),
        Kind::Hook | Kind::Secret | Kind::Subscription | Kind::EscalationChain | Kind::Channel => {
            Err(Fault::misuse(format!("{entity} needs nobody to reconcile it")))
        }
    }
}

/// What was asked was done, or somebody else did it first.
fn done<T: Object>(answer: Result<Committed<T>, SubmitError<T::Refusal>>) -> Result<Reconciled, Fault> {
    match answer {
        Ok(_)
        | Err(
            SubmitError::Refused(_)
            | SubmitError::Contended
            | SubmitError::Duplicate(_)
            | SubmitError::Overloaded
            | SubmitError::Stopped,
        ) => Ok(Reconciled::Done),
        Err(SubmitError::Store(fault)) => Err(Fault::clone(&fault)),
    }
}
