//! The rows of a batch, written by a bare loop: no guards, no decisions, no counters. What a store could reach at best
//! with these tables on this server; `ordo bench` compares itself with it.
//!
//! Only new entities: each item begins its stream.

use std::collections::BTreeMap;

use ordo_store::{Batch, Disposition, Fault, Partition};
use uuid::Uuid;

use crate::connection::connect::ConnectionPools;
use crate::connection::session::DatabaseSession;
use crate::connection::source::ConnectionSource;
use crate::connection::url::{BadUrl, ConnectTarget};
use crate::migrate;
use crate::write::commit::write;
use crate::write::plan::{Appended, SnapshotWrite, Writes};

/// Removes a throw-away schema with everything in it.
pub async fn drop_schema(url: &str) -> Result<(), Fault> {
    let (client, target) = connect(url).await?;
    let dropped = client.command(&format!("DROP SCHEMA IF EXISTS {} CASCADE", target.schema)).await;
    dropped.map_err(|error| crate::fault::Trouble::from(error).into_fault("removing a schema"))
}

async fn connect(url: &str) -> Result<(DatabaseSession, ConnectTarget), Fault> {
    let target: ConnectTarget = url.parse().map_err(|error: BadUrl| Fault::Misuse { what: error.to_string() })?;
    let client = ConnectionPools::new(&ConnectionSource::Url(Box::new(target.clone())), 1)?.writer().await;
    Ok((client.map_err(|trouble| trouble.into_fault("opening the database"))?, target))
}

#[derive(Debug)]
pub struct PostgresRawLoop {
    client: DatabaseSession,
    last: BTreeMap<Partition, u64>,
}

impl PostgresRawLoop {
    /// On new tables.
    pub async fn open(url: &str) -> Result<PostgresRawLoop, Fault> {
        let (client, target) = connect(url).await?;
        let made = migrate::run(&client, &target.schema).await;
        made.map_err(|trouble| trouble.into_fault("opening the database"))?;
        Ok(PostgresRawLoop { client, last: BTreeMap::new() })
    }

    /// Writes one batch in one durable transaction.
    pub async fn write(&mut self, batch: &Batch) -> Result<(), Fault> {
        let mut writes = Writes::default();
        for item in &batch.items {
            let partition = Partition::of(item.entity);
            let last = self.last.entry(partition).or_default();
            let mut version = 0;
            for event in &item.events {
                (version, *last) = (version + 1, *last + 1);
                writes.events.entry(item.entity).or_default().push(Appended { number: *last, version, event });
            }
            if let Disposition::Keep { snapshot, alarm } = &item.disposition {
                writes
                    .entities
                    .insert(item.entity, Some(SnapshotWrite { expected: 0, version, alarm: *alarm, state: snapshot }));
            }
            writes.put_rows(partition, &item.rows);
        }
        let failed = |trouble: crate::fault::Trouble| trouble.into_fault("writing");
        self.client.begin().await.map_err(|error| failed(error.into()))?;
        write(&self.client, &writes, Uuid::nil(), None).await.map_err(failed)
    }
}
