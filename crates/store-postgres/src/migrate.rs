//! Migrations: numbered, each run once, one process at a time.
//!
//! Invariant: a layout that this version does not know is left alone; a migration is there as a whole or not at all.

use ordo_store::Fault;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use crate::connection::session::DatabaseSession;
use crate::fault::Trouble;

/// The layout this version reads and writes: one per migration.
pub const LAYOUT: u32 = MIGRATIONS.len() as u32;

const MIGRATIONS: [&str; 8] = [
    include_str!("../migrations/0001_the_contract.sql"),
    include_str!("../migrations/0002_partitions_and_generations.sql"),
    include_str!("../migrations/0003_actors.sql"),
    include_str!("../migrations/0004_tables.sql"),
    include_str!("../migrations/0005_submissions.sql"),
    include_str!("../migrations/0006_starts.sql"),
    include_str!("../migrations/0007_alarms_by_partition.sql"),
    include_str!("../migrations/0008_vacuum.sql"),
];

/// What wakes the nodes for submissions; not every database has it.
const SUBMISSION_HINT: &str = include_str!("../optional/submission_hint.sql");

/// How often two processes that make the same thing at the same moment may get into each other's way.
const TRIES: usize = 5;

pub(crate) async fn run(client: &DatabaseSession, schema: &str) -> Result<(), Trouble> {
    for _ in 1..TRIES {
        client.begin().await?;
        let begun = begin(client, schema).await;
        client.command(if begun.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
        match begun {
            Err(error) if is_race(&error) => continue,
            begun => {
                begun?;
                break;
            }
        }
    }
    client.begin().await?;
    let migrated = migrate(client).await;
    client.command(if migrated.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
    migrated
}

/// The schema and the row that guards the rest. A user who may not make schemas can be given one.
async fn begin(client: &DatabaseSession, schema: &str) -> Result<(), tokio_postgres::Error> {
    let there = "SELECT 1 FROM information_schema.schemata WHERE schema_name = $1";
    let there = client.client().query_typed(there, &[(&schema, Type::TEXT)]).await?;
    if there.is_empty() {
        client.command(&format!("CREATE SCHEMA IF NOT EXISTS {schema}")).await?;
    }
    client
        .command(
            "CREATE TABLE IF NOT EXISTS meta (one smallint PRIMARY KEY, layout integer NOT NULL); \
             INSERT INTO meta (one, layout) VALUES (1, 0) ON CONFLICT (one) DO NOTHING",
        )
        .await
}

/// Whoever holds the row migrates; the others wait for it and find nothing left to do.
async fn migrate(client: &DatabaseSession) -> Result<(), Trouble> {
    let row = client.client().query_typed_one("SELECT layout FROM meta WHERE one = 1 FOR UPDATE", &[]).await?;
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
        client.command(migration).await?;
    }
    if done < MIGRATIONS.len() {
        add_submission_hint(client).await?;
        client.command(&format!("UPDATE meta SET layout = {LAYOUT} WHERE one = 1")).await?;
    }
    Ok(())
}

/// Without it submissions are found by the sweep.
async fn add_submission_hint(client: &DatabaseSession) -> Result<(), tokio_postgres::Error> {
    client.command("SAVEPOINT hint").await?;
    match client.command(SUBMISSION_HINT).await {
        Ok(()) => client.command("RELEASE SAVEPOINT hint").await,
        Err(error) => {
            tracing::info!(%error, "this database gives no word of submissions: they are looked for every second");
            client.command("ROLLBACK TO SAVEPOINT hint").await
        }
    }
}

fn is_race(error: &tokio_postgres::Error) -> bool {
    // A table comes with a type of its name, which is what two makers may meet in.
    let made_by_others =
        [SqlState::UNIQUE_VIOLATION, SqlState::DUPLICATE_SCHEMA, SqlState::DUPLICATE_TABLE, SqlState::DUPLICATE_OBJECT];
    error.code().is_some_and(|state| made_by_others.contains(state))
}
