//! The statement that is a whole commit, and its parameters in the order of its numbers.
//!
//! Invariant: every part writes only where the partitions are locked and none of them is being rebuilt (`g.ok`); at the end each part that
//! changes what is there must have found as many rows as it was given.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use ordo_store::{Partition, View};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::codes;
use crate::tables::{NewTableRow, array_types, column_names, table_name, table_params};
use crate::write::pipeline::params;
use crate::write::plan::{SnapshotWrite, Writes};

/// Tables whose rows it writes. Those of the others change too seldom.
pub(super) const TABLES: [View; 2] = [View::Jobs, View::Runs];

/// View, key, partition and value.
type ViewRow<'a> = (i32, &'a [u8], Partition, &'a [u8]);
type StatementParam<'a> = Box<dyn ToSql + Sync + Send + 'a>;

/// Numbers the parameters of a statement.
#[derive(Default)]
struct Placeholders(usize);

impl Placeholders {
    fn one(&mut self, sql_type: &str) -> String {
        self.0 += 1;
        format!("${}::{sql_type}", self.0)
    }

    fn arrays<'t>(&mut self, types: impl IntoIterator<Item = &'t str>) -> String {
        let arrays = types.into_iter().map(|sql_type| self.one(&format!("{sql_type}[]")));
        arrays.collect::<Vec<_>>().join(", ")
    }
}

/// Made once; the same for all commits, so that it is planned once for each session. Where nothing is to be done to a table,
/// its arrays are empty.
pub(super) static STATEMENT: LazyLock<String> = LazyLock::new(|| {
    let mut numbers = Placeholders::default();
    let (writer, name) = (numbers.one("uuid"), numbers.one("uuid"));
    let (partitions, counts) = (numbers.arrays(["smallint"]), numbers.arrays(["bigint"]));
    let mut parts = vec![
        format!("w AS (UPDATE writers SET committed = {name} WHERE writer = {writer} RETURNING 1)"),
        // In the order of the arrays, and after the writer.
        format!(
            "p AS (UPDATE partitions s SET last = s.last + k.count FROM unnest({partitions}, {counts}) AS k (partition, count) \
             WHERE s.partition = k.partition AND (SELECT count(*) FROM w) = 1 RETURNING s.partition, s.last, s.rebuilding)"
        ),
        format!(
            "g AS MATERIALIZED (SELECT array_agg(last ORDER BY partition) AS lasts, \
             count(*) = cardinality({partitions}) AND NOT coalesce(bool_or(rebuilding), false) AS ok FROM p)"
        ),
    ];
    let mut guards = Vec::new();
    let arrays =
        numbers.arrays(["integer", "bigint", "smallint", "uuid", "bigint", "bigint", "text", "bytea", "bytea"]);
    parts.push(format!(
        "v AS (INSERT INTO events (partition, number, kind, id, version, at, name, data, actor) \
         SELECT ({partitions})[k.place], g.lasts[k.place] - k.back, k.kind, k.id, k.version, k.at, k.name, k.data, k.actor \
         FROM g, unnest({arrays}) AS k (place, back, kind, id, version, at, name, data, actor) WHERE g.ok)"
    ));
    let arrays = numbers.arrays(["smallint", "uuid", "smallint", "bigint", "bigint", "smallint", "bytea"]);
    parts.push(format!(
        "e AS (INSERT INTO entities (kind, id, partition, version, committed, alarm_at, alarm_rank, state) \
         SELECT k.kind, k.id, k.partition, k.version, {name}, k.at, k.rank, k.state \
         FROM g, unnest({arrays}) AS k (kind, id, partition, version, at, rank, state) WHERE g.ok)"
    ));
    let first = numbers.0 + 1;
    let arrays = numbers.arrays(["smallint", "uuid", "bigint", "bigint", "bigint", "smallint", "bytea"]);
    parts.push(format!(
        "f AS (UPDATE entities o SET version = k.version, committed = {name}, alarm_at = k.at, alarm_rank = k.rank, \
         claimed_until = 0, state = k.state FROM g, unnest({arrays}) AS k (kind, id, expected, version, at, rank, state) \
         WHERE g.ok AND o.kind = k.kind AND o.id = k.id AND o.version = k.expected RETURNING 1)"
    ));
    guards.push(format!("(SELECT count(*) FROM f) = cardinality(${first}::smallint[])"));
    for (place, table) in TABLES.into_iter().enumerate() {
        let (stored, columns) = (table_name(table), column_names(table));
        let names = columns.join(", ");
        let arrays = numbers.arrays(array_types(table));
        parts.push(format!(
            "i{place} AS (INSERT INTO {stored} (id, partition, value, {names}) \
             SELECT k.* FROM g, unnest({arrays}) AS k (id, partition, value, {names}) WHERE g.ok)"
        ));
        let first = numbers.0 + 1;
        let arrays = numbers.arrays(array_types(table));
        let updates: String = columns.iter().map(|column| format!(", {column} = k.{column}")).collect();
        parts.push(format!(
            "u{place} AS (UPDATE {stored} o SET partition = k.partition, value = k.value{updates} \
             FROM g, unnest({arrays}) AS k (id, partition, value, {names}) WHERE g.ok AND o.id = k.id RETURNING 1)"
        ));
        guards.push(format!("(SELECT count(*) FROM u{place}) = cardinality(${first}::uuid[])"));
    }
    let arrays = numbers.arrays(["integer", "bytea"]);
    parts.push(format!(
        "x AS (DELETE FROM rows o USING g, unnest({arrays}) AS k (view, key) WHERE g.ok AND o.view = k.view AND o.key = k.key)"
    ));
    for (name, conflict) in [
        ("y", ""),
        ("z", " ON CONFLICT (view, key) DO UPDATE SET partition = excluded.partition, value = excluded.value"),
    ] {
        let arrays = numbers.arrays(["integer", "bytea", "smallint", "bytea"]);
        parts.push(format!(
            "{name} AS (INSERT INTO rows (view, key, partition, value) \
             SELECT k.* FROM g, unnest({arrays}) AS k (view, key, partition, value) WHERE g.ok{conflict})"
        ));
    }
    let first = numbers.0 + 1;
    let arrays = numbers.arrays(["bytea", "smallint", "bigint", "bytea", "bigint"]);
    let at = first + 4;
    // A key that was taken and has expired may be taken again.
    parts.push(format!(
        "d AS (INSERT INTO dedup AS o (key, partition, until, value) SELECT k.key, k.partition, k.until, k.value \
         FROM g, unnest({arrays}) AS k (key, partition, until, value, at) WHERE g.ok \
         ON CONFLICT (key) DO UPDATE SET until = excluded.until, value = excluded.value \
         WHERE o.until <= (SELECT min(at) FROM unnest(${at}::bigint[]) AS at) RETURNING 1)"
    ));
    guards.push(format!("(SELECT count(*) FROM d) = cardinality(${first}::bytea[])"));
    let arrays = numbers.arrays(["uuid", "bigint", "smallint", "bytea"]);
    parts.push(format!(
        "c AS (INSERT INTO chunks (owner, seq, partition, bytes) \
         SELECT k.* FROM g, unnest({arrays}) AS k (owner, seq, partition, bytes) WHERE g.ok \
         ON CONFLICT (owner, seq) DO UPDATE SET bytes = excluded.bytes)"
    ));
    format!(
        "WITH {} SELECT g.lasts FROM g WHERE 1 = 1 / CASE WHEN g.ok AND {} THEN 1 ELSE 0 END",
        parts.join(", "),
        guards.join(" AND ")
    )
});

/// In the order of the statement's numbers.
pub(super) fn params_of<'a>(
    writes: &Writes<'a>,
    counts: &BTreeMap<Partition, u64>,
    writer: Uuid,
    name: Uuid,
) -> Vec<StatementParam<'a>> {
    let numbers: Vec<i16> = counts.keys().map(|partition| codes::partition(*partition)).collect();
    let added: Vec<i64> = counts.values().map(|count| codes::version(*count)).collect();
    let mut all: Vec<StatementParam<'a>> = params![writer, name, numbers, added];
    add_events(&mut all, writes, counts);
    add_entities(&mut all, writes);
    for table in TABLES {
        let of_table = writes.tables.range((table, Uuid::nil())..=(table, Uuid::max()));
        let rows = of_table.filter_map(|((_, id), (partition, row))| Some((*id, *partition, (*row)?)));
        let (new, old): (Vec<(Uuid, Partition, NewTableRow<'a>)>, Vec<_>) =
            rows.partition(|(id, ..)| writes.is_new(table, *id));
        all.extend(table_params(table, &new));
        all.extend(table_params(table, &old));
    }
    add_rows(&mut all, writes);
    add_beside(&mut all, writes);
    all
}

fn add_events<'a>(all: &mut Vec<StatementParam<'a>>, writes: &Writes<'a>, counts: &BTreeMap<Partition, u64>) {
    let places: BTreeMap<Partition, (i32, u64)> =
        counts.iter().zip(1..).map(|((partition, count), place)| (*partition, (place, *count))).collect();
    let (mut place, mut back, mut kinds, mut ids) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut versions, mut at, mut names) = (Vec::new(), Vec::new(), Vec::new());
    let (mut data, mut actors): (Vec<&'a [u8]>, Vec<Option<&'a [u8]>>) = (Vec::new(), Vec::new());
    for (entity, events) in &writes.events {
        let (of_partition, count) = places.get(&Partition::of(*entity)).copied().unwrap_or_default();
        for appended in events {
            let event = appended.event;
            place.push(of_partition);
            back.push(codes::version(count.saturating_sub(appended.number)));
            kinds.push(codes::kind(entity.kind));
            ids.push(entity.id);
            versions.push(codes::version(appended.version));
            at.push(event.at.ms());
            names.push(event.kind.as_str());
            data.push(event.data.as_slice());
            actors.push(codes::actor(&event.actor));
        }
    }
    all.extend(params![place, back, kinds, ids, versions, at, names, data, actors]);
}

fn add_entities<'a>(all: &mut Vec<StatementParam<'a>>, writes: &Writes<'a>) {
    let kept = writes.entities.iter().filter_map(|(entity, kept)| Some((*entity, (*kept)?)));
    let (new, old): (Vec<(_, SnapshotWrite<'a>)>, Vec<_>) = kept.partition(|(_, kept)| kept.expected == 0);
    for (is_new, rows) in [(true, new), (false, old)] {
        let kinds: Vec<i16> = rows.iter().map(|(entity, _)| codes::kind(entity.kind)).collect();
        let ids: Vec<Uuid> = rows.iter().map(|(entity, _)| entity.id).collect();
        all.extend(params![kinds, ids]);
        match is_new {
            true => {
                let partitions = rows.iter().map(|(entity, _)| codes::partition(Partition::of(*entity)));
                all.extend(params![partitions.collect::<Vec<i16>>()]);
            }
            false => {
                let expected = rows.iter().map(|(_, kept)| codes::version(kept.expected));
                all.extend(params![expected.collect::<Vec<i64>>()]);
            }
        }
        let versions: Vec<i64> = rows.iter().map(|(_, kept)| codes::version(kept.version)).collect();
        let at: Vec<Option<i64>> = rows.iter().map(|(_, kept)| kept.alarm.map(|alarm| alarm.at.ms())).collect();
        let ranks: Vec<i16> =
            rows.iter().map(|(_, kept)| kept.alarm.map_or(0, |alarm| i16::from(alarm.rank))).collect();
        let states: Vec<&'a [u8]> = rows.iter().map(|(_, kept)| kept.state).collect();
        all.extend(params![versions, at, ranks, states]);
    }
}

/// A row without a value says nothing but that it is there: it is put once. One with a value may replace another.
fn add_rows<'a>(all: &mut Vec<StatementParam<'a>>, writes: &Writes<'a>) {
    let (mut gone_views, mut gone_keys): (Vec<i32>, Vec<&'a [u8]>) = (Vec::new(), Vec::new());
    let (mut new, mut put): (Vec<ViewRow<'a>>, Vec<ViewRow<'a>>) = (Vec::new(), Vec::new());
    for ((view, key), (partition, value)) in &writes.rows {
        match value {
            None => {
                gone_views.push(*view);
                gone_keys.push(*key);
            }
            Some(value) if value.is_empty() => new.push((*view, *key, *partition, *value)),
            Some(value) => put.push((*view, *key, *partition, *value)),
        }
    }
    all.extend(params![gone_views, gone_keys]);
    for rows in [new, put] {
        let views: Vec<i32> = rows.iter().map(|(view, ..)| *view).collect();
        let keys: Vec<&'a [u8]> = rows.iter().map(|(_, key, ..)| *key).collect();
        let partitions: Vec<i16> = rows.iter().map(|(_, _, partition, _)| codes::partition(*partition)).collect();
        let values: Vec<&'a [u8]> = rows.iter().map(|(.., value)| *value).collect();
        all.extend(params![views, keys, partitions, values]);
    }
}

/// Dedup keys and chunks.
fn add_beside<'a>(all: &mut Vec<StatementParam<'a>>, writes: &Writes<'a>) {
    let keys: Vec<&'a [u8]> = writes.dedup.keys().copied().collect();
    let partitions: Vec<i16> = keys.iter().map(|key| codes::partition(Partition::of_key(key))).collect();
    let until: Vec<i64> = writes.dedup.values().map(|entry| entry.until.ms()).collect();
    let values: Vec<&'a [u8]> = writes.dedup.values().map(|entry| entry.value.as_slice()).collect();
    let at: Vec<i64> = writes.dedup.values().map(|entry| entry.at.ms()).collect();
    all.extend(params![keys, partitions, until, values, at]);
    let owners: Vec<Uuid> = writes.chunks.keys().map(|(owner, _)| *owner).collect();
    let seqs: Vec<i64> = writes.chunks.keys().map(|(_, seq)| codes::seq(*seq)).collect();
    let partitions: Vec<i16> = owners.iter().map(|owner| codes::partition(Partition::of_id(*owner))).collect();
    let bytes: Vec<&'a [u8]> = writes.chunks.values().copied().collect();
    all.extend(params![owners, seqs, partitions, bytes]);
}
