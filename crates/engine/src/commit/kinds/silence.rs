//! Where silences stand in the index: by age. One that has ended is not there.

use ordo_model::silence::Silence;
use ordo_store::RowWrite;
use uuid::Uuid;

use super::{Stored, index_row};

impl Stored for Silence {
    fn rows(&self, id: Uuid) -> Vec<RowWrite> {
        let row = index_row::<Silence>(Self::LIST, id.as_bytes(), Vec::new());
        (!self.is_ended).then_some(row).into_iter().collect()
    }

    fn audited_as(&self, event: &str) -> Option<&str> {
        (event != "SilenceExpired").then_some(self.matching.as_str())
    }
}
