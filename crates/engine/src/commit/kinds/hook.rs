//! Where hooks and deliveries stand in the index: hooks by slug, deliveries by hook and time.

use ordo_model::Timestamp;
use ordo_model::hook::{Delivery, Hook};
use ordo_store::RowWrite;
use uuid::Uuid;

use super::{Stored, index_row};

/// Ends a slug inside a key; a slug has no control characters.
const END: u8 = 0;

impl Stored for Hook {
    fn rows(&self, id: Uuid) -> Vec<RowWrite> {
        vec![index_row::<Hook>(Self::LIST, &[self.slug.as_bytes(), &[END], id.as_bytes()].concat(), Vec::new())]
    }

    fn audited_as(&self, _event: &str) -> Option<&str> {
        Some(self.slug.as_str())
    }
}

impl Stored for Delivery {
    fn rows(&self, id: Uuid) -> Vec<RowWrite> {
        vec![index_row::<Delivery>(Self::LIST, &delivery_key(&self.hook, self.received_at, id), Vec::new())]
    }
}

/// All deliveries of a hook.
pub fn deliveries_prefix(slug: &str) -> Vec<u8> {
    [slug.as_bytes(), &[END]].concat()
}

fn delivery_key(slug: &str, received_at: Timestamp, id: Uuid) -> Vec<u8> {
    [deliveries_prefix(slug).as_slice(), &received_at.ms().to_be_bytes(), id.as_bytes()].concat()
}
