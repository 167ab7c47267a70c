//! Where executors stand in the index: by group, then by name.

use ordo_model::executor::Executor;
use ordo_store::RowWrite;
use uuid::Uuid;

use super::{Stored, index_row};

impl Stored for Executor {
    fn rows(&self, id: Uuid) -> Vec<RowWrite> {
        let key = [self.offer.group.as_bytes(), &[0], self.offer.name.as_bytes(), &[0], id.as_bytes()].concat();
        vec![index_row::<Executor>(Self::LIST, &key, Vec::new())]
    }

    fn audited_as(&self, event: &str) -> Option<&str> {
        (event == "ExecutorDraining").then_some(self.offer.name.as_str())
    }
}
