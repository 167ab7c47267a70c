//! Where channels stand in the index: by name. One that was removed is not there.

use ordo_model::channel::Channel;
use ordo_store::RowWrite;
use uuid::Uuid;

use super::{Stored, index_row};

impl Stored for Channel {
    fn rows(&self, id: Uuid) -> Vec<RowWrite> {
        let key = [self.name.as_bytes(), &[0], id.as_bytes()].concat();
        let row = index_row::<Channel>(Self::LIST, &key, Vec::new());
        (!self.is_removed).then_some(row).into_iter().collect()
    }

    fn audited_as(&self, _event: &str) -> Option<&str> {
        Some(self.name.as_str())
    }
}
