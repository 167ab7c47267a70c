//! Tables: what a view shows to people and to SQL, as typed columns beside the bytes that the engine reads.
//!
//! Invariant: names and types never change once released; new columns come last. Cells follow from events as the rows do
//! that carry them. A store without tables keeps no cells and is given none.

use ordo_model::Timestamp;
use ordo_model::job::RunStatus;
use uuid::Uuid;

use crate::View;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellType {
    Text,
    Id,
    Time,
    Integer,
}

/// The value of one column in one row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum TableCell {
    Null,
    /// Without NUL, which no database takes: see [`TableCell::text`].
    Text(String),
    Id(Uuid),
    Time(Timestamp),
    Integer(i64),
}

impl TableCell {
    pub fn text(text: &str) -> TableCell {
        TableCell::Text(if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text.to_owned() })
    }
}

impl<T: Into<TableCell>> From<Option<T>> for TableCell {
    fn from(value: Option<T>) -> TableCell {
        value.map_or(TableCell::Null, Into::into)
    }
}

impl From<&str> for TableCell {
    fn from(text: &str) -> TableCell {
        TableCell::text(text)
    }
}

impl From<Uuid> for TableCell {
    fn from(id: Uuid) -> TableCell {
        TableCell::Id(id)
    }
}

impl From<Timestamp> for TableCell {
    fn from(time: Timestamp) -> TableCell {
        TableCell::Time(time)
    }
}

impl From<i64> for TableCell {
    fn from(number: i64) -> TableCell {
        TableCell::Integer(number)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableColumn {
    pub name: &'static str,
    pub cell_type: CellType,
}

const fn text(name: &'static str) -> TableColumn {
    TableColumn { name, cell_type: CellType::Text }
}

const fn id(name: &'static str) -> TableColumn {
    TableColumn { name, cell_type: CellType::Id }
}

const fn time(name: &'static str) -> TableColumn {
    TableColumn { name, cell_type: CellType::Time }
}

const fn integer(name: &'static str) -> TableColumn {
    TableColumn { name, cell_type: CellType::Integer }
}

const JOBS: [TableColumn; 10] = [
    text("label"),
    text("state"),
    text("trigger"),
    text("schedule"),
    text("timezone"),
    text("hook"),
    text("tool"),
    text("executor_group"),
    integer("priority"),
    time("created_at"),
];

const RUNS: [TableColumn; 16] = [
    id("job_id"),
    text("label"),
    text("status"),
    text("cause"),
    time("scheduled_for"),
    time("fired_at"),
    time("started_at"),
    time("finished_at"),
    integer("lateness_ms"),
    text("timeliness"),
    integer("attempt"),
    text("executor"),
    id("parent_id"),
    text("reason"),
    time("skipped_to"),
    integer("skipped_count"),
];

const INCIDENTS: [TableColumn; 12] = [
    text("title"),
    text("severity"),
    text("status"),
    text("assignee"),
    text("identifier"),
    id("job_id"),
    text("started_by"),
    text("source"),
    time("created_at"),
    time("updated_at"),
    time("acknowledged_at"),
    time("ended_at"),
];

/// One part of a key, and the column that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyPart {
    /// Sixteen bytes.
    Id(&'static str),
    /// One byte, the place of the column's text among these names.
    Name(&'static str, &'static [&'static str]),
}

/// How the rows of a view are found in a table. A view that is not a table itself is an index of one: its rows have no
/// value and follow from the columns, so that a store with tables need not keep them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableShape {
    /// The view whose table it is.
    pub table: View,
    pub key: &'static [KeyPart],
    /// Rows of the table whose first part of the key has this name are not in the view.
    pub left_out: Option<&'static str>,
}

/// The names of the states of jobs, by code.
pub const JOB_STATES: [&str; 5] = ["active", "paused", "held", "finished", "cancelled"];

impl View {
    /// The columns of a view that is a table, besides the id that is its key. None for all others.
    pub const fn columns(self) -> &'static [TableColumn] {
        match self {
            View::Jobs => &JOBS,
            View::Runs => &RUNS,
            View::Incidents => &INCIDENTS,
            View::JobsByLabel
            | View::JobsByState
            | View::RunsByJob
            | View::RunsByStatus
            | View::Queue
            | View::Retention
            | View::Index
            | View::Audit => &[],
        }
    }

    /// Where the rows of the view are in a store with tables; None for rows that only Ordo understands.
    pub const fn shape(self) -> Option<TableShape> {
        const ID: &[KeyPart] = &[KeyPart::Id("id")];
        const STATE: &[KeyPart] = &[KeyPart::Name("state", &JOB_STATES), KeyPart::Id("id")];
        const JOB: &[KeyPart] = &[KeyPart::Id("job_id"), KeyPart::Id("id")];
        const STATUS: &[KeyPart] = &[KeyPart::Name("status", &RunStatus::NAMES), KeyPart::Id("id")];
        let (table, key, left_out) = match self {
            View::Jobs | View::Runs | View::Incidents => (self, ID, None),
            View::JobsByState => (View::Jobs, STATE, None),
            View::RunsByJob => (View::Runs, JOB, None),
            View::RunsByStatus => (View::Runs, STATUS, Some("completed")),
            View::JobsByLabel | View::Queue | View::Retention | View::Index | View::Audit => return None,
        };
        Some(TableShape { table, key, left_out })
    }

    /// Whether only a store with tables is given rows of the view.
    pub const fn is_for_tables_only(self) -> bool {
        matches!(self, View::Jobs | View::Incidents)
    }

    pub fn is_table(self) -> bool {
        self.shape().is_some_and(|shape| shape.table == self)
    }
}

#[cfg(test)]
mod tests {
    use ordo_model::job::JobState;

    use super::*;

    #[test]
    fn the_names_of_states_are_in_the_order_of_their_codes() {
        for state in JobState::ALL {
            assert_eq!(JOB_STATES[usize::from(state.code())], state.name());
        }
    }

    #[test]
    fn every_part_of_a_key_is_a_column_of_its_table() {
        for shape in View::ALL.into_iter().filter_map(View::shape) {
            for part in shape.key {
                let (KeyPart::Id(name) | KeyPart::Name(name, _)) = part;
                let has_column = shape.table.columns().iter().any(|column| column.name == *name);
                assert!(*name == "id" || has_column, "{name} of {shape:?}");
            }
        }
    }

    #[test]
    fn a_text_has_no_nul() {
        assert_eq!(TableCell::text("a\0b"), TableCell::Text("a\u{fffd}b".into()));
    }
}
