//! Which type stands behind which kind.

use std::sync::Arc;

use ordo_model::executor::Executor;
use ordo_model::secret::Secret;
use ordo_model::{EntityId, Kind};
use ordo_store::{Event, Fault, Snapshot};

use crate::engine::Engine;

use super::state::{State, decode_as, fold_as};

type Shared = Arc<dyn State>;

/// Reads a snapshot.
pub(crate) fn decode(entity: EntityId, snapshot: &Snapshot) -> Result<Shared, Fault> {
    match entity.kind {
        Kind::Job => Err(Fault::misuse(format!("{entity} is not an object"))),
        Kind::Secret => decode_as::<Secret>(entity, snapshot),
        Kind::Executor => decode_as::<Executor>(entity, snapshot),
    }
}

/// Moves a state on by one recorded event.
pub(crate) fn fold(before: Option<Shared>, stored: &Event) -> Result<Shared, Fault> {
    match stored.entity.kind {
        Kind::Job => Err(Fault::misuse(format!("{} is not an object", stored.entity))),
        Kind::Secret => fold_as::<Secret>(before, stored),
        Kind::Executor => fold_as::<Executor>(before, stored),
    }
}

/// Does what an entity wants done. Whatever is decided goes through an ask of its own.
pub(crate) async fn attend(engine: &Engine, entity: EntityId) -> Result<(), Fault> {
    match entity.kind {
        Kind::Executor => crate::remote::attend(engine, entity.id).await,
        Kind::Job | Kind::Secret => Err(Fault::misuse(format!("{entity} needs nobody to attend to it: {engine:?}"))),
    }
}
