//! Reads of views that are tables or indexes of tables.
//!
//! Invariant: the condition and the order of each statement are the columns of one index, so it reads what it returns.

use ordo_store::{Direction, Fault, KeyRange, Row, TableCell, TableShape, View};
use tokio_postgres::Row as Found;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::bounds::{self, Section, TableKey, id_columns, named, put_together, sections, take_apart};
use super::{cells, table_name};
use crate::codes;
use crate::connection::connect::ConnectionPools;
use crate::read::ordinal;

type Param<'a> = &'a (dyn ToSql + Sync);

pub(crate) async fn row(
    database: &ConnectionPools,
    view: View,
    shape: &TableShape,
    key: &[u8],
) -> Result<Option<Vec<u8>>, Fault> {
    let found = rows_by_key(database, view, shape, std::slice::from_ref(&key.to_vec())).await?;
    Ok(found.into_iter().next().flatten())
}

pub(crate) async fn cells(database: &ConnectionPools, view: View, key: &[u8]) -> Result<Option<Vec<TableCell>>, Fault> {
    let Some(shape) = view.shape().filter(|shape| shape.table == view) else { return Ok(None) };
    let Some(TableKey { ids, .. }) = take_apart(&shape, key) else { return Ok(None) };
    let names: Vec<&str> = view.columns().iter().map(|column| column.name).collect();
    let sql = format!("SELECT {} FROM {} WHERE id = $1", names.join(", "), table_name(view));
    let found = database.query("reading columns", &sql, &[&ids[0]]).await?;
    found.first().map(|row| cells::cells(view.columns(), row)).transpose()
}

/// What of a row of the table is the value of a row of the view.
fn value(view: View) -> &'static str {
    if view.is_table() { "t.value" } else { "''::bytea" }
}

pub(crate) async fn rows_by_key(
    database: &ConnectionPools,
    view: View,
    shape: &TableShape,
    keys: &[Vec<u8>],
) -> Result<Vec<Option<Vec<u8>>>, Fault> {
    let asked: Vec<(i64, TableKey)> =
        (1..).zip(keys).filter_map(|(place, key)| Some((place, take_apart(shape, key)?))).collect();
    let mut found: Vec<Option<Vec<u8>>> = vec![None; keys.len()];
    if asked.is_empty() {
        return Ok(found);
    }
    let places: Vec<i64> = asked.iter().map(|(place, _)| *place).collect();
    let names: Vec<Option<&str>> = asked.iter().map(|(_, key)| key.name).collect();
    let columns = id_columns(shape);
    let ids = arrays_of_ids(columns.len(), asked.iter().map(|(_, key)| key.ids.as_slice()));
    let mut params: Vec<Param<'_>> = vec![&places, &names];
    params.extend(ids.iter().map(|ids| ids as Param<'_>));
    for row in database.query("reading rows by key", &by_key(view, shape, &columns), &params).await? {
        if let Some(slot) = ordinal(&row, &mut found) {
            *slot = Some(row.get(1));
        }
    }
    Ok(found)
}

fn by_key(view: View, shape: &TableShape, columns: &[&str]) -> String {
    let arrays: String = (3..).zip(columns).map(|(number, _)| format!(", ${number}::uuid[]")).collect();
    let asked: String = columns.iter().map(|column| format!(", {column}")).collect();
    let same: Vec<String> = columns.iter().map(|column| format!("t.{column} = k.{column}")).collect();
    let named = named(shape).map_or(String::new(), |(column, _)| format!(" AND t.{column} = k.name"));
    format!(
        "SELECT k.place, {} FROM unnest($1::bigint[], $2::text[]{arrays}) AS k (place, name{asked}) \
         JOIN {} t ON {}{named}",
        value(view),
        table_name(shape.table),
        same.join(" AND "),
    )
}

/// For each column the ids of all keys.
fn arrays_of_ids<'a>(columns: usize, keys: impl Iterator<Item = &'a [Uuid]>) -> Vec<Vec<Uuid>> {
    let mut arrays = vec![Vec::new(); columns];
    for key in keys {
        for (array, id) in arrays.iter_mut().zip(key) {
            array.push(*id);
        }
    }
    arrays
}

pub(crate) async fn rows(
    database: &ConnectionPools,
    view: View,
    shape: &TableShape,
    range: &KeyRange,
    order: Direction,
    limit: usize,
) -> Result<Vec<Row>, Fault> {
    let mut sections = sections(shape, range);
    if order == Direction::Descending {
        sections.reverse();
    }
    let mut found = Vec::new();
    for section in sections {
        if found.len() < limit {
            found.extend(rows_of_section(database, view, shape, &section, order, limit - found.len()).await?);
        }
    }
    Ok(found)
}

async fn rows_of_section(
    database: &ConnectionPools,
    view: View,
    shape: &TableShape,
    section: &Section,
    order: Direction,
    limit: usize,
) -> Result<Vec<Row>, Fault> {
    let limit = codes::limit(limit);
    let mut params: Vec<Param<'_>> = section.low.iter().map(|id| id as Param<'_>).collect();
    params.extend(section.high.iter().flatten().map(|id| id as Param<'_>));
    params.push(&limit);
    let found = database.query("reading rows", &page(view, shape, section, order), &params).await?;
    Ok(found.iter().map(|row| view_row(shape, section.name, row, 0)).collect())
}

/// A name is written out: only so the server knows that an index of some of the names has it.
fn page(view: View, shape: &TableShape, section: &Section, order: Direction) -> String {
    let columns = id_columns(shape);
    let list = columns.join(", ");
    let placeholders = |first: usize| -> String {
        let numbers: Vec<String> = (first..first + columns.len()).map(|number| format!("${number}")).collect();
        numbers.join(", ")
    };
    let name = named(shape).zip(section.name);
    let name = name.map_or(String::new(), |((column, _), name)| format!("{column} = '{name}' AND "));
    let high = section
        .high
        .as_ref()
        .map_or(String::new(), |_| format!(" AND ({list}) < ({})", placeholders(1 + columns.len())));
    let last = 1 + columns.len() * (1 + usize::from(section.high.is_some()));
    format!(
        "SELECT {list}, {} FROM {} t WHERE {name}({list}) >= ({}){high} ORDER BY {} LIMIT ${last}",
        value(view),
        table_name(shape.table),
        placeholders(1),
        ordered(&columns, order),
    )
}

fn ordered(columns: &[&str], order: Direction) -> String {
    let direction = match order {
        Direction::Ascending => "",
        Direction::Descending => " DESC",
    };
    columns.iter().map(|column| format!("{column}{direction}")).collect::<Vec<_>>().join(", ")
}

/// Ids and the value, from this column on.
fn view_row(shape: &TableShape, name: Option<&'static str>, row: &Found, first: usize) -> Row {
    let count = id_columns(shape).len();
    let ids = (first..first + count).map(|column| row.get(column)).collect();
    Row { key: put_together(shape, &TableKey { name, ids }), value: row.get(first + count) }
}

/// Ranges of ids with an end go together; others one by one.
pub(crate) async fn rows_of_ranges(
    database: &ConnectionPools,
    view: View,
    shape: &TableShape,
    ranges: &[KeyRange],
    order: Direction,
    limit: usize,
) -> Result<Vec<Vec<Row>>, Fault> {
    let mut found: Vec<Vec<Row>> = vec![Vec::new(); ranges.len()];
    let mut together = Vec::new();
    for (place, range) in ranges.iter().enumerate() {
        match bounds::sections(shape, range).as_slice() {
            [Section { name: None, low, high: Some(high) }] => together.push((place, low.clone(), high.clone())),
            [] => {}
            _ => found[place] = rows(database, view, shape, range, order, limit).await?,
        }
    }
    if together.is_empty() {
        return Ok(found);
    }
    let columns = id_columns(shape);
    let places: Vec<i64> = together.iter().map(|(place, ..)| codes::limit(*place + 1)).collect();
    let limit = codes::limit(limit);
    let lows = arrays_of_ids(columns.len(), together.iter().map(|(_, low, _)| low.as_slice()));
    let highs = arrays_of_ids(columns.len(), together.iter().map(|(.., high)| high.as_slice()));
    let mut params: Vec<Param<'_>> = vec![&places, &limit];
    params.extend(lows.iter().chain(&highs).map(|ids| ids as Param<'_>));
    for row in database.query("reading rows of ranges", &of_ranges(view, shape, &columns, order), &params).await? {
        if let Some(rows) = ordinal(&row, &mut found) {
            rows.push(view_row(shape, None, &row, 1));
        }
    }
    Ok(found)
}

fn of_ranges(view: View, shape: &TableShape, columns: &[&str], order: Direction) -> String {
    let bound = |name: &str| -> Vec<String> { (0..columns.len()).map(|number| format!("{name}{number}")).collect() };
    let (low, high) = (bound("low"), bound("high"));
    let arrays: String = (3..3 + 2 * columns.len()).map(|number| format!(", ${number}::uuid[]")).collect();
    let of_k = |names: &[String]| names.iter().map(|name| format!("k.{name}")).collect::<Vec<_>>().join(", ");
    let (list, order) = (columns.join(", "), ordered(columns, order));
    let found: String = columns.iter().map(|column| format!("r.{column}, ")).collect();
    let sorted: Vec<String> = order.split(", ").map(|column| format!("r.{column}")).collect();
    format!(
        "SELECT k.place, {found}r.value FROM unnest($1::bigint[]{arrays}) AS k (place, {}, {}), LATERAL \
         (SELECT {list}, {} AS value FROM {} t WHERE ({list}) >= ({}) AND ({list}) < ({}) \
         ORDER BY {order} LIMIT $2) r ORDER BY k.place, {}",
        low.join(", "),
        high.join(", "),
        value(view),
        table_name(shape.table),
        of_k(&low),
        of_k(&high),
        sorted.join(", "),
    )
}
