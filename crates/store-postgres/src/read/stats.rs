//! How much is stored: counted for commands that must be sure, estimated for whoever looks often.
//!
//! Invariant: an estimate reads a bounded number of rows, however many there are.

use std::time::Duration;

use ordo_store::{Fault, Stats, TableShape, View};
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_postgres::Row as Found;

use crate::codes;
use crate::connection::connect::ConnectionPools;
use crate::migrate::LAYOUT;
use crate::tables::bounds::named;
use crate::tables::table_name;

/// Up to so many rows an estimate is exact.
const COUNTED_MAX: i64 = 1_000;

const BYTES: &str = "(SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c \
     JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = current_schema() AND c.relkind = 'r')";

/// Reads every row.
pub(crate) async fn stats(database: &ConnectionPools) -> Result<Stats, Fault> {
    let sql = format!(
        "SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM entities), \
         (SELECT count(*) FROM entities WHERE alarm_at IS NOT NULL), (SELECT count(*) FROM chunks), {BYTES}"
    );
    let mut counted = one(database, &sql, &[]).await.map(|row| totals(&row))?;
    let by_view = database.query("counting", "SELECT view, count(*) FROM rows GROUP BY view", &[]).await?;
    for view in View::ALL {
        let rows = match view.shape() {
            Some(shape) => count_table(database, &shape).await?,
            None => by_view.iter().find(|row| row.get::<_, i32>(0) == codes::view(view)).map_or(0, |row| count(row, 1)),
        };
        counted.rows.push((view, rows));
    }
    Ok(counted)
}

/// The rows of a view that is a table or an index of one.
async fn count_table(database: &ConnectionPools, shape: &TableShape) -> Result<u64, Fault> {
    let left_out = named(shape).zip(shape.left_out);
    let condition = left_out.map_or(String::new(), |((column, _), name)| format!(" WHERE {column} <> '{name}'"));
    let sql = format!("SELECT count(*) FROM {}{condition}", table_name(shape.table));
    one(database, &sql, &[]).await.map(|row| count(&row, 0))
}

/// An estimate is good for so long: the sizes of all tables and indexes cost milliseconds, however often they are asked for.
const GOOD_FOR: Duration = Duration::from_secs(2);

/// The last estimate. Whoever asks while one is being made gets that.
#[derive(Debug, Default)]
pub(crate) struct LatestEstimate(Mutex<Option<(Instant, Stats)>>);

impl LatestEstimate {
    pub(crate) async fn get(&self, database: &ConnectionPools) -> Result<Stats, Fault> {
        let mut latest = self.0.lock().await;
        if let Some((_, stats)) = latest.as_ref().filter(|(made_at, _)| made_at.elapsed() < GOOD_FOR) {
            return Ok(stats.clone());
        }
        let stats = estimate(database).await?;
        *latest = Some((Instant::now(), stats.clone()));
        Ok(stats)
    }
}

/// What the server believes, where there is more than it takes a moment to count. Views are left out.
async fn estimate(database: &ConnectionPools) -> Result<Stats, Fault> {
    let sql = format!(
        "SELECT {}, {}, {}, {}, {BYTES}",
        estimated("events", "events", "true"),
        estimated("entities", "entities", "true"),
        estimated("entities", "entities_by_partition_and_alarm", "alarm_at IS NOT NULL"),
        estimated("chunks", "chunks", "true"),
    );
    one(database, &sql, &[&COUNTED_MAX]).await.map(|row| totals(&row))
}

/// The number of rows of a table under a condition; `relation` is the table, or the index of that condition.
fn estimated(table: &str, relation: &str, condition: &str) -> String {
    format!(
        "(SELECT CASE WHEN few.counted < $1 THEN few.counted ELSE greatest(few.counted, (SELECT c.reltuples::bigint \
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE n.nspname = current_schema() AND c.relname = '{relation}')) END \
         FROM (SELECT count(*) AS counted FROM (SELECT 1 FROM {table} WHERE {condition} LIMIT $1) found) few)"
    )
}

async fn one(
    database: &ConnectionPools,
    sql: &str,
    params: crate::connection::connect::SqlParams<'_>,
) -> Result<Found, Fault> {
    let mut rows = database.query("counting", sql, params).await?;
    rows.pop().ok_or_else(|| Fault::damaged("the database does not count"))
}

fn totals(row: &Found) -> Stats {
    Stats {
        driver: "postgres",
        format: LAYOUT,
        events: count(row, 0),
        entities: count(row, 1),
        alarms: count(row, 2),
        chunks: count(row, 3),
        bytes_on_disk: count(row, 4),
        rows: Vec::new(),
        journal: None,
    }
}

fn count(row: &Found, column: usize) -> u64 {
    u64::try_from(row.get::<_, i64>(column)).unwrap_or(0)
}
