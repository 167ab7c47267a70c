//! Which type stands behind which kind.

use std::sync::Arc;

use ordo_model::incident::Incident;
use ordo_model::letter::Letter;
use ordo_model::monitor::Monitor;
use ordo_model::secret::Secret;
use ordo_model::subscription::Subscription;
use ordo_model::{EntityId, JobId, Kind};
use ordo_store::{Event, Fault, Snapshot};

use crate::attend::Attended;
use crate::engine::Engine;
use crate::{post, workflow};

use super::state::{State, decode_as, fold_as};

type Shared = Arc<dyn State>;

/// Reads a snapshot.
pub(crate) fn decode(entity: EntityId, snapshot: &Snapshot) -> Result<Shared, Fault> {
    match entity.kind {
        Kind::Job => Err(Fault::misuse(format!("{entity} is not an object"))),
        Kind::Secret => decode_as::<Secret>(entity, snapshot),
        Kind::Subscription => decode_as::<Subscription>(entity, snapshot),
        Kind::Incident => decode_as::<Incident>(entity, snapshot),
        Kind::Letter => decode_as::<Letter>(entity, snapshot),
        Kind::Monitor => decode_as::<Monitor>(entity, snapshot),
    }
}

/// Moves a state on by one recorded event.
pub(crate) fn fold(before: Option<Shared>, stored: &Event) -> Result<Shared, Fault> {
    match stored.entity.kind {
        Kind::Job => Err(Fault::misuse(format!("{} is not an object", stored.entity))),
        Kind::Secret => fold_as::<Secret>(before, stored),
        Kind::Subscription => fold_as::<Subscription>(before, stored),
        Kind::Incident => fold_as::<Incident>(before, stored),
        Kind::Letter => fold_as::<Letter>(before, stored),
        Kind::Monitor => fold_as::<Monitor>(before, stored),
    }
}

/// Does what an entity wants done. Whatever is decided goes through an ask of its own.
pub(crate) async fn attend(engine: &Engine, entity: EntityId) -> Result<Attended, Fault> {
    match entity.kind {
        Kind::Job => workflow::job::attend(engine, JobId(entity.id)).await,
        Kind::Incident => workflow::incident::attend(engine, entity.id).await,
        Kind::Letter => post::attend(engine, entity.id).await,
        Kind::Secret | Kind::Subscription => Err(Fault::misuse(format!("{entity} needs nobody to attend to it"))),
        Kind::Monitor => workflow::monitor::attend(engine, entity.id).await,
    }
}
