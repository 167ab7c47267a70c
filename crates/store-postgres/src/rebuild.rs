//! Rebuilding what is derived: snapshots, alarms and rows, from what a fold over the events found.
//!
//! Invariant: from the moment the derived tables are emptied until the end of the rebuild every partition says that it is
//! incomplete, and commits are refused: a crash in between cannot become a silent miss.

use ordo_store::{Fault, Partition, Rebuilt};
use uuid::Uuid;

use crate::connection::connect::ConnectionPools;
use crate::connection::session::DatabaseSession;
use crate::fault::Trouble;
use crate::tables;
use crate::write::commit::write;
use crate::write::plan::{SnapshotWrite, Writes};

/// Why nothing is committed.
pub(crate) const INCOMPLETE: &str = "the derived tables are incomplete, because a rebuild did not come to its end or an earlier \
     version made them otherwise: stop all nodes and run `ordo store reindex`";

/// How often a step is tried; each is the same twice as once.
const TRIES: usize = 4;

const CLEAR: &str = "SELECT partition FROM partitions ORDER BY partition FOR UPDATE; \
     UPDATE partitions SET rebuilding = true; TRUNCATE entities, rows, stored_jobs, stored_runs, stored_incidents; COMMIT";
const END: &str = "SELECT partition FROM partitions ORDER BY partition FOR UPDATE; \
     UPDATE partitions SET rebuilding = false; COMMIT";

pub(crate) async fn clear(database: &ConnectionPools) -> Result<(), Fault> {
    run(database, RebuildStep::Command(CLEAR)).await
}

pub(crate) async fn end(database: &ConnectionPools) -> Result<(), Fault> {
    run(database, RebuildStep::Command(END)).await
}

pub(crate) async fn put(database: &ConnectionPools, found: &[Rebuilt]) -> Result<(), Fault> {
    tables::check(found.iter().flat_map(|rebuilt| &rebuilt.rows))?;
    let mut writes = Writes::default();
    for Rebuilt { entity, snapshot, rows } in found {
        let write =
            SnapshotWrite { expected: 0, version: snapshot.version, alarm: snapshot.alarm, state: &snapshot.state };
        writes.entities.insert(*entity, Some(write));
        writes.put_rows(Partition::of(*entity), rows);
    }
    if writes.is_empty() { Ok(()) } else { run(database, RebuildStep::Write(&writes)).await }
}

#[derive(Clone, Copy)]
enum RebuildStep<'a> {
    Command(&'static str),
    Write(&'a Writes<'a>),
}

async fn run(database: &ConnectionPools, step: RebuildStep<'_>) -> Result<(), Fault> {
    let mut tries = 1;
    loop {
        match try_once(database, step).await {
            Err(Trouble::Passing(_)) if tries < TRIES => tries += 1,
            done => return done.map_err(|trouble| trouble.into_fault("rebuilding")),
        }
    }
}

async fn try_once(database: &ConnectionPools, step: RebuildStep<'_>) -> Result<(), Trouble> {
    let client = database.writer().await?;
    let done = match step {
        RebuildStep::Command(sql) => command_once(&client, sql).await,
        RebuildStep::Write(writes) => put_once(&client, writes).await,
    };
    if done.is_err() {
        client.close();
    }
    done
}

async fn command_once(client: &DatabaseSession, sql: &str) -> Result<(), Trouble> {
    client.begin().await?;
    Ok(client.command(sql).await?)
}

async fn put_once(client: &DatabaseSession, writes: &Writes<'_>) -> Result<(), Trouble> {
    client.begin().await?;
    write(client, writes, Uuid::new_v4(), None).await
}
