//! The tables are what the contract declares, and say of themselves what they are.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ordo_store::{CellType, View};
use ordo_store_postgres::testing::TestServer;
use ordo_store_postgres::{PostgresOptions, PostgresStore};
use tokio_postgres::{Client, NoTls};

/// A new schema, and a connection to it.
async fn schema(server: &TestServer) -> Client {
    let url = server.fresh_url();
    PostgresStore::open(&url, PostgresOptions { readers: 1 }).await.unwrap();
    let (place, query) = url.split_once('?').unwrap();
    let (client, connection) = tokio_postgres::connect(place, NoTls).await.unwrap();
    tokio::spawn(connection);
    let schema = query.rsplit_once("schema=").unwrap().1;
    client.batch_execute(&format!("SET search_path TO {schema}")).await.unwrap();
    client
}

fn type_name(cell_type: CellType) -> &'static str {
    match cell_type {
        CellType::Text => "text",
        CellType::Id => "uuid",
        CellType::Time => "timestamp with time zone",
        CellType::Integer => "bigint",
    }
}

#[tokio::test]
async fn a_table_has_the_columns_that_its_view_declares() {
    let server = TestServer::join();
    let client = schema(&server).await;
    let sql = "SELECT column_name::text, data_type::text FROM information_schema.columns \
         WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position";
    for view in View::ALL.into_iter().filter(|view| view.is_table()) {
        let table = format!("stored_{}", view.name());
        let found = client.query(sql, &[&table]).await.unwrap();
        let found: Vec<(String, String)> = found.iter().map(|row| (row.get(0), row.get(1))).collect();
        let own = [("id", "uuid"), ("partition", "smallint"), ("value", "bytea")];
        let declared = view.columns().iter().map(|column| (column.name, type_name(column.cell_type)));
        let expected: Vec<(String, String)> =
            own.into_iter().chain(declared).map(|(name, kind)| (name.to_owned(), kind.to_owned())).collect();
        assert_eq!(found, expected, "{table}");
    }
}

#[tokio::test]
async fn every_table_view_and_column_has_a_comment() {
    let server = TestServer::join();
    let client = schema(&server).await;
    let sql = "SELECT c.relname::text, coalesce(a.attname::text, '') FROM pg_class c \
         JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = current_schema() \
         LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
         WHERE c.relkind IN ('r', 'v') \
         AND (obj_description(c.oid, 'pg_class') IS NULL OR col_description(c.oid, a.attnum) IS NULL)";
    let bare = client.query(sql, &[]).await.unwrap();
    let bare: Vec<String> =
        bare.iter().map(|row| format!("{}.{}", row.get::<_, &str>(0), row.get::<_, &str>(1))).collect();
    assert_eq!(bare, Vec::<String>::new());
}

#[tokio::test]
async fn the_views_for_people_have_the_columns_that_were_promised() {
    let server = TestServer::join();
    let client = schema(&server).await;
    let document = include_str!("../../../docs/sql.md");
    for view in ["jobs", "runs", "incidents", "occurrences", "submissions"] {
        let prepared = client.prepare(&format!("SELECT * FROM {view}")).await.unwrap();
        let names: Vec<String> = prepared.columns().iter().map(|column| format!("`{}`", column.name())).collect();
        let line = document.lines().find(|line| line.starts_with(&format!("| `ordo.{view}`"))).unwrap();
        assert!(line.ends_with(&format!("| {} |", names.join(", "))), "{view}: {}", names.join(", "));
    }
}
