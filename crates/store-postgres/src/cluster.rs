//! Nodes on one database: its clock, which are alive, which serves which partition, what nobody served.
//!
//! Invariant: every time is the database's own; a lease that has ended can be taken by anybody, and its epoch grows
//! whenever it changes hands or was interrupted.

use async_trait::async_trait;
use ordo_model::{Millis, Timestamp};
use ordo_store::{Cluster, DueAlarm, Fault, Hints, Lease, Node, NodeHeartbeat, Partition};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::codes;
use crate::read::alarms;
use crate::store::PostgresStore;

/// What time it is, in milliseconds.
pub(crate) const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
/// The same, asked once per statement. A clock that is read for every row cannot be the condition of an index.
pub(crate) const ONCE_NOW: &str = "(SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint)";
/// A node that has been silent for so long is forgotten.
const FORGOTTEN_AFTER_MS: i64 = 24 * 60 * 60 * 1_000;

#[async_trait]
impl Cluster for PostgresStore {
    async fn now(&self) -> Result<Timestamp, Fault> {
        let rows = self.database.query("asking for the time", &format!("SELECT {NOW}"), &[]).await?;
        let row = rows.first().ok_or_else(|| Fault::damaged("the database does not return the time"))?;
        codes::time(row.get(0))
    }

    async fn beat(&self, beat: &NodeHeartbeat) -> Result<Vec<Node>, Fault> {
        let forget = format!("DELETE FROM nodes WHERE beat_at < {NOW} - {FORGOTTEN_AFTER_MS}");
        self.database.query("forgetting nodes", &forget, &[]).await?;
        let sql = format!(
            "INSERT INTO nodes (generation, name, about, draining, joined_at, beat_at, until) \
             VALUES ($1, $2, $3, false, {NOW}, {NOW}, {NOW} + $4) ON CONFLICT (generation) DO UPDATE SET \
             name = excluded.name, about = excluded.about, beat_at = excluded.beat_at, until = excluded.until"
        );
        let params: crate::connection::connect::SqlParams<'_> =
            &[&beat.generation, &beat.name, &beat.about, &ms(beat.good_for)];
        self.database.query("registering a node", &sql, params).await?;
        self.nodes().await
    }

    async fn nodes(&self) -> Result<Vec<Node>, Fault> {
        let sql = format!(
            "SELECT generation, name, about, draining, joined_at, beat_at, until > {NOW} FROM nodes ORDER BY name, generation"
        );
        self.database.query("listing nodes", &sql, &[]).await?.iter().map(node).collect()
    }

    async fn drain(&self, name: &str, draining: bool) -> Result<usize, Fault> {
        let sql = "UPDATE nodes SET draining = $2 WHERE name = $1 RETURNING 1";
        Ok(self.database.query("draining a node", sql, &[&name, &draining]).await?.len())
    }

    async fn leave(&self, generation: Uuid) -> Result<(), Fault> {
        self.database.query("leaving", "DELETE FROM nodes WHERE generation = $1", &[&generation]).await?;
        self.database
            .query("leaving", "UPDATE leases SET until = 0 WHERE generation = $1", &[&generation])
            .await
            .map(drop)
    }

    async fn take_leases(&self, generation: Uuid, wanted: &[Partition], good_for: Millis) -> Result<Vec<Lease>, Fault> {
        let partitions: Vec<i16> = wanted.iter().map(|partition| codes::partition(*partition)).collect();
        let take = format!(
            "UPDATE leases l SET generation = $1, until = {NOW} + $3, \
             epoch = CASE WHEN l.generation = $1 AND l.until > {NOW} THEN l.epoch ELSE l.epoch + 1 END \
             FROM (SELECT partition FROM leases WHERE partition = ANY($2::smallint[]) AND (generation = $1 OR until <= {NOW}) \
             ORDER BY partition FOR UPDATE) free WHERE l.partition = free.partition"
        );
        self.database.query("taking leases", &take, &[&generation, &partitions, &ms(good_for)]).await?;
        let held = format!(
            "SELECT partition, generation, epoch, until FROM leases WHERE generation = $1 AND until > {NOW} ORDER BY partition"
        );
        self.database.query("taking leases", &held, &[&generation]).await?.iter().map(lease).collect()
    }

    async fn release_leases(&self, generation: Uuid, partitions: &[Partition]) -> Result<(), Fault> {
        let partitions: Vec<i16> = partitions.iter().map(|partition| codes::partition(*partition)).collect();
        let sql = "UPDATE leases SET until = 0 WHERE generation = $1 AND partition = ANY($2::smallint[])";
        self.database.query("releasing leases", sql, &[&generation, &partitions]).await.map(drop)
    }

    async fn leases(&self) -> Result<Vec<Lease>, Fault> {
        let sql = "SELECT partition, generation, epoch, until FROM leases WHERE epoch > 0 ORDER BY partition";
        self.database.query("listing leases", sql, &[]).await?.iter().map(lease).collect()
    }

    async fn due_in(
        &self,
        partitions: &[Partition],
        until: Timestamp,
        after: Option<DueAlarm>,
        limit: usize,
    ) -> Result<Vec<DueAlarm>, Fault> {
        alarms::due(&self.database, partitions, until, after, limit).await
    }

    async fn sweep_overdue(&self, by: Millis, claim: Millis, limit: usize) -> Result<Vec<DueAlarm>, Fault> {
        alarms::sweep(&self.database, by, claim, limit).await
    }

    fn hints(&self) -> Box<dyn Hints> {
        self.hints.listen()
    }
}

fn ms(length: Millis) -> i64 {
    i64::try_from(length.ms()).unwrap_or(i64::MAX / 2)
}

fn node(row: &Row) -> Result<Node, Fault> {
    Ok(Node {
        generation: row.get(0),
        name: row.get(1),
        about: row.get(2),
        draining: row.get(3),
        joined_at: codes::time(row.get(4))?,
        beat_at: codes::time(row.get(5))?,
        is_alive: row.get(6),
    })
}

fn lease(row: &Row) -> Result<Lease, Fault> {
    Ok(Lease {
        partition: codes::partition_of(row.get(0))?,
        generation: row.get(1),
        epoch: codes::version_of(row.get(2))?,
        until: codes::time(row.get(3))?,
    })
}
