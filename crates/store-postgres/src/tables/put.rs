//! Rows of tables are put and taken away, many in one statement.

use std::collections::BTreeMap;

use ordo_store::{Partition, TableCell, View};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::{cells, table_name};
use crate::codes;
use crate::fault::Trouble;
use crate::write::pipeline::Pipeline;

/// One row: what Ordo reads of it, and what people see.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewTableRow<'a> {
    pub(crate) value: &'a [u8],
    pub(crate) cells: &'a [TableCell],
}

/// By table and id; None: it goes.
pub(crate) type TableWrites<'a> = BTreeMap<(View, Uuid), (Partition, Option<NewTableRow<'a>>)>;

pub(crate) async fn put_tables<'a>(pipeline: &mut Pipeline<'a>, writes: &TableWrites<'a>) -> Result<(), Trouble> {
    for table in View::ALL.into_iter().filter(|view| view.is_table()) {
        let of_table = writes.range((table, Uuid::nil())..=(table, Uuid::max()));
        let gone: Vec<Uuid> = of_table.clone().filter(|(_, (_, row))| row.is_none()).map(|((_, id), _)| *id).collect();
        if !gone.is_empty() {
            let sql = format!("DELETE FROM {} WHERE id = ANY($1::uuid[])", table_name(table));
            pipeline.add(&sql, vec![Box::new(gone)]).await?;
        }
        let kept = of_table.filter_map(|((_, id), (partition, row))| Some((*id, *partition, (*row)?)));
        let kept: Vec<(Uuid, Partition, NewTableRow<'a>)> = kept.collect();
        if !kept.is_empty() {
            pipeline.add(&put_statement(table), table_params(table, &kept)).await?;
        }
    }
    Ok(())
}

/// Id, partition, value and the columns of rows, each as an array; [`array_types`] says of what.
pub(crate) fn table_params<'a>(
    table: View,
    rows: &[(Uuid, Partition, NewTableRow<'a>)],
) -> Vec<Box<dyn ToSql + Sync + Send + 'a>> {
    let mut params: Vec<Box<dyn ToSql + Sync + Send + 'a>> = vec![
        Box::new(rows.iter().map(|(id, ..)| *id).collect::<Vec<Uuid>>()),
        Box::new(rows.iter().map(|(_, partition, _)| codes::partition(*partition)).collect::<Vec<i16>>()),
        Box::new(rows.iter().map(|(.., row)| row.value).collect::<Vec<&[u8]>>()),
    ];
    for (place, column) in table.columns().iter().enumerate() {
        let column_cells = rows.iter().map(|(.., row)| row.cells.get(place).unwrap_or(&TableCell::Null));
        params.push(cells::array(column.cell_type, column_cells));
    }
    params
}

pub(crate) fn column_names(table: View) -> Vec<&'static str> {
    table.columns().iter().map(|column| column.name).collect()
}

pub(crate) fn array_types(table: View) -> impl Iterator<Item = &'static str> {
    let columns = table.columns().iter().map(|column| cells::sql_type(column.cell_type));
    ["uuid", "smallint", "bytea"].into_iter().chain(columns)
}

fn put_statement(table: View) -> String {
    let names = column_names(table);
    let arrays: Vec<String> =
        array_types(table).zip(1..).map(|(sql_type, number)| format!("${number}::{sql_type}[]")).collect();
    let updates: String = names.iter().map(|name| format!(", {name} = excluded.{name}")).collect();
    format!(
        "INSERT INTO {} (id, partition, value, {}) SELECT * FROM unnest({}) \
         ON CONFLICT (id) DO UPDATE SET partition = excluded.partition, value = excluded.value{updates}",
        table_name(table),
        names.join(", "),
        arrays.join(", "),
    )
}
