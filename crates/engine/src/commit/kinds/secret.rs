//! Where secrets stand in the index: by name.

use ordo_model::secret::Secret;
use ordo_store::RowWrite;
use uuid::Uuid;

use super::{Stored, index_row};

impl Stored for Secret {
    fn rows(&self, id: Uuid) -> Vec<RowWrite> {
        vec![index_row::<Secret>(Self::LIST, &[self.name.as_bytes(), &[0], id.as_bytes()].concat(), Vec::new())]
    }

    fn audited_as(&self, _event: &str) -> Option<&str> {
        Some(self.name.as_str())
    }
}
