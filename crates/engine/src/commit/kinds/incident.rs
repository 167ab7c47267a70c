//! Where incidents stand in the index: by time, by status, by severity, by identifier; those that are worked on by
//! severity.

use ordo_model::incident::Incident;
use ordo_store::{RowWrite, View};
use uuid::Uuid;

use super::{Stored, index_row};
use crate::commit::encoding::columns;

/// created, id
pub(crate) const INCIDENTS: u8 = 0;
/// status, created, id
pub(crate) const INCIDENTS_BY_STATUS: u8 = 1;
/// severity, created, id
pub(crate) const INCIDENTS_BY_SEVERITY: u8 = 2;
/// identifier, generation, id
pub(crate) const INCIDENTS_BY_IDENTIFIER: u8 = 3;

/// severity, created, id: only those that have not ended
pub(crate) const INCIDENTS_WORKED_ON: u8 = 4;

impl Stored for Incident {
    const LIST: u8 = INCIDENTS;

    fn rows(&self, id: Uuid) -> Vec<RowWrite> {
        let place = [&self.created_at.ms().to_be_bytes()[..], id.as_bytes()].concat();
        let row = |index, code: u8| index_row::<Incident>(index, &[&[code], &place[..]].concat(), Vec::new());
        let mut rows = vec![
            index_row::<Incident>(INCIDENTS, &place, Vec::new()),
            row(INCIDENTS_BY_STATUS, self.status.code()),
            row(INCIDENTS_BY_SEVERITY, self.severity.code()),
        ];
        if !self.status.is_ended() {
            rows.push(row(INCIDENTS_WORKED_ON, self.severity.code()));
        }
        if let Some(identifier) = &self.identifier {
            let key = [&identifier_prefix(identifier)[..], &self.generation.to_be_bytes(), id.as_bytes()].concat();
            rows.push(index_row::<Incident>(INCIDENTS_BY_IDENTIFIER, &key, Vec::new()));
        }
        rows
    }

    fn table_row(&self, id: Uuid) -> Option<RowWrite> {
        let row = RowWrite::put(View::Incidents, id.as_bytes().to_vec(), Vec::new());
        Some(RowWrite { cells: columns::incident(self), ..row })
    }

    fn audited_as(&self, event: &str) -> Option<&str> {
        let is_bookkeeping = matches!(event, "Retitled" | "Remembered" | "ClockStepped" | "Published");
        (!is_bookkeeping).then_some(self.title.as_str())
    }
}

/// All incidents of an identifier. It has no control characters, so none is the beginning of another.
pub(crate) fn identifier_prefix(identifier: &str) -> Vec<u8> {
    [identifier.as_bytes(), &[0]].concat()
}
