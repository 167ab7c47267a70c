//! Where subscriptions stand in the index: by age.

use ordo_model::subscription::Subscription;
use ordo_store::RowWrite;
use uuid::Uuid;

use super::{Stored, index_row};

impl Stored for Subscription {
    fn rows(&self, id: Uuid) -> Vec<RowWrite> {
        vec![index_row::<Subscription>(Self::LIST, id.as_bytes(), Vec::new())]
    }

    fn audited_as(&self, _event: &str) -> Option<&str> {
        Some(self.terms.description.as_deref().unwrap_or_default())
    }
}
