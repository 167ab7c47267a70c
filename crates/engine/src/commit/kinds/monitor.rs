//! Where monitors stand in the index: by name, and by the token that pings carry.

use ordo_model::monitor::Monitor;
use ordo_store::RowWrite;
use uuid::Uuid;

use super::{Stored, index_row};

/// name, id
pub(crate) const MONITORS: u8 = 0;
/// token, id
pub(crate) const MONITORS_BY_TOKEN: u8 = 1;

impl Stored for Monitor {
    const LIST: u8 = MONITORS;

    fn rows(&self, id: Uuid) -> Vec<RowWrite> {
        let row = |index, text: &str| {
            index_row::<Monitor>(index, &[text.as_bytes(), &[0], id.as_bytes()].concat(), Vec::new())
        };
        vec![row(MONITORS, &self.settings.name), row(MONITORS_BY_TOKEN, &self.token)]
    }

    fn audited_as(&self, event: &str) -> Option<&str> {
        matches!(event, "MonitorAdded" | "MonitorUpdated" | "MonitorRemoved").then_some(self.settings.name.as_str())
    }
}

/// The key of one token.
pub(crate) fn token_prefix(token: &str) -> Vec<u8> {
    [token.as_bytes(), &[0]].concat()
}
