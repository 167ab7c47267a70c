//! The kinds of entities: where each stands in the indexes, and which type stands behind which kind.
//!
//! Invariant: whatever is stored of an entity besides its events follows from its state (`rows`, alarm, chunks).
//! To add a kind: `Object` in the model, [`Stored`] here, its line in `registry.rs`.

pub(crate) mod api_token;
mod channel;
mod escalation_chain;
mod executor;
mod hook;
pub(crate) mod incident;
mod login;
pub(crate) mod monitor;
pub(crate) mod notification;
mod registry;
mod secret;
mod silence;
mod subscription;

use ordo_model::object::Object;
use ordo_store::{RowWrite, View};
use uuid::Uuid;

pub use hook::deliveries_prefix;
pub(crate) use registry::{decode, fold, reconcile};

/// An entity with its rows in the views.
pub trait Stored: Object {
    /// Which index its list is read from.
    const LIST: u8 = 0;

    /// The rows that follow from its state.
    fn rows(&self, id: Uuid) -> Vec<RowWrite>;

    /// What it is called in the audit, if the event is a change that somebody made: not a ping, a use or a message.
    fn audited_as(&self, _event: &str) -> Option<&str> {
        None
    }

    /// Its row in a table for people, if it has one: only a store with tables is given it.
    fn table_row(&self, _id: Uuid) -> Option<RowWrite> {
        None
    }
}

/// A row of an index. `key` sorts; it must be unique inside the index, so most end with the id.
pub(crate) fn index_row<T: Object>(index: u8, key: &[u8], value: Vec<u8>) -> RowWrite {
    RowWrite::put(View::Index, index_key::<T>(index, key), value)
}

/// The key of such a row, or the prefix of many.
pub(crate) fn index_key<T: Object>(index: u8, key: &[u8]) -> Vec<u8> {
    [&[T::KIND.code(), index], key].concat()
}
