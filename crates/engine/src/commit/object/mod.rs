//! Entities other than jobs, as the engine keeps them: one way to decide, commit, read, fold and reconcile them all.
//!
//! Invariant: whatever is stored of an object besides its events follows from its state (`rows`, alarm, chunks).
//! To add a kind: `Object` in the model, [`Stored`] here, its line in `kinds.rs`.

pub(crate) mod api_token;
pub(crate) mod ask;
mod executor;
mod hook;
pub(crate) mod incident;
mod kinds;
pub(crate) mod monitor;
pub(crate) mod notification;
pub(crate) mod planner;
mod secret;
pub(crate) mod state;
mod subscription;

use ordo_model::object::Object;
use ordo_store::{RowWrite, View};
use uuid::Uuid;

pub use ask::{CommandError, CommitExtras, Committed};
pub use hook::deliveries_prefix;
pub(crate) use kinds::{decode, fold, reconcile};
pub use state::Versioned;

/// An object with its rows in the views.
pub trait Stored: Object {
    /// Which index its list is read from.
    const LIST: u8 = 0;

    /// The rows that follow from its state.
    fn rows(&self, id: Uuid) -> Vec<RowWrite>;
}

/// A row of an object's index. `key` sorts; it must be unique inside the index, so most end with the id.
pub fn index_row<T: Object>(index: u8, key: &[u8], value: Vec<u8>) -> RowWrite {
    RowWrite { view: View::Index, key: index_key::<T>(index, key), value: Some(value) }
}

/// The key of such a row, or the prefix of many.
pub fn index_key<T: Object>(index: u8, key: &[u8]) -> Vec<u8> {
    [&[T::KIND.code(), index], key].concat()
}
