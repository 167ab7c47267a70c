//! Tables with real columns, behind the views that declare them.
//!
//! Invariant: which columns there are, and which view is found by which of them, is said by the contract
//! (`ordo_store::View::columns` and `shape`); the migrations make exactly these, and a test compares the two.

pub(crate) mod bounds;
mod cells;
mod put;
pub(crate) mod read;

use ordo_store::{Fault, RowWrite, View};

pub(crate) use put::{NewTableRow, TableWrites, array_types, column_names, put_tables, table_params};

/// Internal, as its name says: people read the SQL view that is called as the view is.
pub(crate) fn table_name(view: View) -> String {
    format!("stored_{}", view.name())
}

/// A row that is put into a table has the id of its entity for key, and a cell for each column.
pub(crate) fn check<'a>(rows: impl IntoIterator<Item = &'a RowWrite>) -> Result<(), Fault> {
    let is_wrong = |row: &&RowWrite| {
        let is_put = row.view.is_table() && row.value.is_some();
        is_put && (row.key.len() != 16 || row.cells.len() != row.view.columns().len())
    };
    match rows.into_iter().find(is_wrong) {
        Some(row) => {
            Err(Fault::misuse(format!("a row of {} without its {} columns", row.view.name(), row.view.columns().len())))
        }
        None => Ok(()),
    }
}
