//! The SQL stays in what databases with PostgreSQL's wire share.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

/// What such databases lack, or do differently.
const BARRED: [&str; 9] = [
    "create trigger",
    "create function",
    "advisory",
    "xmin",
    "txid_",
    "pg_current_xact",
    "pg_snapshot",
    "lock table",
    "ctid",
];

#[test]
fn no_statement_uses_what_other_databases_lack() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // What is in `optional` is left out where a database lacks it.
    let mut folders = vec![root.join("src"), root.join("migrations")];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap().to_lowercase();
            for barred in BARRED {
                assert!(!text.contains(barred), "{} uses {barred}", path.display());
            }
            seen += 1;
        }
    }
    assert!(seen > 20, "only {seen} files were looked at");
}

/// Layout 1 calls it shard; layout 2 renames the column in every table.
#[test]
fn every_table_of_the_contract_carries_the_partition() {
    let contract = include_str!("../migrations/0001_the_contract.sql");
    let renames = include_str!("../migrations/0002_partitions_and_generations.sql");
    for table in ["shards", "events", "entities", "rows", "dedup", "chunks", "leases"] {
        let start = contract.find(&format!("CREATE TABLE {table} (")).unwrap();
        let columns = &contract[start..start + contract[start..].find(';').unwrap()];
        assert!(columns.contains("shard "), "{table}");
        let now = if table == "shards" { "partitions" } else { table };
        assert!(renames.contains(&format!("ALTER TABLE {now} RENAME COLUMN shard TO partition;")), "{now}");
    }
}
