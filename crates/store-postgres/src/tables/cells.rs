//! Cells as parameters of a statement, and back.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ordo_model::Timestamp;
use ordo_store::{CellType, Fault, TableCell, TableColumn};
use tokio_postgres::Row as Found;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

pub(super) fn sql_type(cell_type: CellType) -> &'static str {
    match cell_type {
        CellType::Text => "text",
        CellType::Id => "uuid",
        CellType::Time => "timestamptz",
        CellType::Integer => "bigint",
    }
}

/// One column of many rows, as an array. A cell of another type is none.
pub(super) fn array<'a>(
    cell_type: CellType,
    cells: impl Iterator<Item = &'a TableCell>,
) -> Box<dyn ToSql + Sync + Send + 'a> {
    match cell_type {
        CellType::Text => Box::new(cells.map(text).collect::<Vec<Option<&str>>>()),
        CellType::Id => Box::new(cells.map(id).collect::<Vec<Option<Uuid>>>()),
        CellType::Time => Box::new(cells.map(time).collect::<Vec<Option<SystemTime>>>()),
        CellType::Integer => Box::new(cells.map(integer).collect::<Vec<Option<i64>>>()),
    }
}

fn text(cell: &TableCell) -> Option<&str> {
    if let TableCell::Text(text) = cell { Some(text) } else { None }
}

fn id(cell: &TableCell) -> Option<Uuid> {
    if let TableCell::Id(id) = cell { Some(*id) } else { None }
}

fn time(cell: &TableCell) -> Option<SystemTime> {
    let TableCell::Time(time) = cell else { return None };
    Some(UNIX_EPOCH + Duration::from_millis(time.ms().unsigned_abs()))
}

fn integer(cell: &TableCell) -> Option<i64> {
    if let TableCell::Integer(number) = cell { Some(*number) } else { None }
}

/// What stands in these columns of a row, from the first on.
pub(super) fn cells(columns: &[TableColumn], row: &Found) -> Result<Vec<TableCell>, Fault> {
    let cell = |(place, column): (usize, &TableColumn)| {
        Ok(match column.cell_type {
            CellType::Text => row.get::<_, Option<&str>>(place).into(),
            CellType::Id => row.get::<_, Option<Uuid>>(place).into(),
            CellType::Time => row.get::<_, Option<SystemTime>>(place).map(timestamp).transpose()?.into(),
            CellType::Integer => row.get::<_, Option<i64>>(place).into(),
        })
    };
    columns.iter().enumerate().map(cell).collect()
}

fn timestamp(time: SystemTime) -> Result<Timestamp, Fault> {
    let since = time.duration_since(UNIX_EPOCH).ok().and_then(|since| i64::try_from(since.as_millis()).ok());
    let time = since.and_then(|ms| Timestamp::from_ms(ms).ok());
    time.ok_or_else(|| Fault::damaged("a time before 1970 or after 9999"))
}
