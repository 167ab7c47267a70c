//! Migrations: numbered, each run once, one process at a time.
//!
//! Invariant: a layout that this version does not know is left alone; a migration is there as a whole or not at all.

use ordo_store::Fault;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::fault::Trouble;

/// The layout this version reads and writes: one per migration.
pub const LAYOUT: u32 = MIGRATIONS.len() as u32;

const MIGRATIONS: [&str; 4] = [
    include_str!("../migrations/0001_the_contract.sql"),
    include_str!("../migrations/0002_partitions_and_generations.sql"),
    include_str!("../migrations/0003_actors.sql"),
    include_str!("../migrations/0004_tables.sql"),
];

/// How often two processes that make the same thing at the same moment may get into each other's way.
const TRIES: usize = 5;

pub(crate) async fn run(client: &Client, schema: &str) -> Result<(), Trouble> {
    for _ in 1..TRIES {
        match begin(client, schema).await {
            Err(error) if is_race(&error) => continue,
            begun => {
                begun?;
                break;
            }
        }
    }
    client.batch_execute("BEGIN").await?;
    let migrated = migrate(client).await;
    let end = if migrated.is_ok() { "COMMIT" } else { "ROLLBACK" };
    client.batch_execute(end).await?;
    migrated
}

/// The schema and the row that guards the rest. A user who may not make schemas can be given one.
async fn begin(client: &Client, schema: &str) -> Result<(), tokio_postgres::Error> {
    let there =
        client.query_opt("SELECT 1 FROM information_schema.schemata WHERE schema_name = $1", &[&schema]).await?;
    if there.is_none() {
        client.batch_execute(&format!("CREATE SCHEMA IF NOT EXISTS {schema}")).await?;
    }
    client
        .batch_execute(
            "CREATE TABLE IF NOT EXISTS meta (one smallint PRIMARY KEY, layout integer NOT NULL); \
             INSERT INTO meta (one, layout) VALUES (1, 0) ON CONFLICT (one) DO NOTHING",
        )
        .await
}

/// Whoever holds the row migrates; the others wait for it and find nothing left to do.
async fn migrate(client: &Client) -> Result<(), Trouble> {
    let row = client.query_one("SELECT layout FROM meta WHERE one = 1 FOR UPDATE", &[]).await?;
    let layout = row.get::<_, i32>(0);
    let done = usize::try_from(layout).map_err(|_| Fault::damaged(format!("a layout of {layout}")))?;
    if done > MIGRATIONS.len() {
        return Err(Fault::damaged(format!(
            "the database has layout {done}, this version of Ordo knows layouts up to {LAYOUT}: \
             use the version that wrote it, or a newer one"
        ))
        .into());
    }
    for migration in &MIGRATIONS[done..] {
        client.batch_execute(migration).await?;
    }
    if done < MIGRATIONS.len() {
        client.execute("UPDATE meta SET layout = $1 WHERE one = 1", &[&LAYOUT.cast_signed()]).await?;
    }
    Ok(())
}

fn is_race(error: &tokio_postgres::Error) -> bool {
    // A table comes with a type of its name, which is what two makers may meet in.
    let made_by_others =
        [SqlState::UNIQUE_VIOLATION, SqlState::DUPLICATE_SCHEMA, SqlState::DUPLICATE_TABLE, SqlState::DUPLICATE_OBJECT];
    error.code().is_some_and(|state| made_by_others.contains(state))
}
