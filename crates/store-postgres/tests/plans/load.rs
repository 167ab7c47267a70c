//! Tables as they are after some time, and a look at what the server makes of a statement.

use ordo_store::View;
use ordo_store_postgres::testing::TestServer;
use serde_json::Value;
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

/// Views that are filled.
pub(crate) const VIEWS: [View; 8] = [
    View::Queue,
    View::Index,
    View::Jobs,
    View::JobsByState,
    View::Runs,
    View::RunsByJob,
    View::RunsByStatus,
    View::Incidents,
];

pub(crate) async fn connect(server: &TestServer, user: &str) -> Client {
    let config = format!("host=127.0.0.1 port={} user={user} dbname=postgres", server.port());
    let (client, connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// So many jobs with four events, two runs and a few rows each; one in fifty is overdue.
pub(crate) async fn fill(client: &Client, jobs: u32) {
    let fill = include_str!("fill.sql").replace(":jobs", &jobs.to_string()).replace(":runs", "2");
    client.batch_execute(&fill).await.unwrap();
    client.batch_execute("VACUUM ANALYZE").await.unwrap();
}

/// Whoever connects as this role has all plans written to the server's log.
pub(crate) async fn traced_role(client: &Client) -> String {
    let role = format!("traced_{}", Uuid::new_v4().simple());
    let set = [
        ("session_preload_libraries", "auto_explain"),
        ("auto_explain.log_min_duration", "0"),
        ("auto_explain.log_analyze", "on"),
        ("auto_explain.log_buffers", "on"),
        ("auto_explain.log_verbose", "on"),
        ("auto_explain.log_timing", "off"),
        ("auto_explain.log_format", "json"),
        ("log_min_messages", "log"),
    ];
    let mut statements = format!("CREATE ROLE {role} SUPERUSER LOGIN;");
    for (setting, value) in set {
        statements.push_str(&format!("ALTER ROLE {role} SET {setting} = '{value}';"));
    }
    client.batch_execute(&statements).await.unwrap();
    role
}

/// What the server would do by itself, whatever the parameters are.
pub(crate) async fn generic_plan(client: &Client, statement: &str) -> Value {
    let params = (1..200).take_while(|number| statement.contains(&format!("${number}"))).count();
    let nulls = if params == 0 { String::new() } else { format!("({})", vec!["NULL"; params].join(", ")) };
    let prepare = format!("SET plan_cache_mode = force_generic_plan; PREPARE asked AS {statement}");
    client.batch_execute(&prepare).await.unwrap();
    let explain = format!("EXPLAIN (FORMAT JSON) EXECUTE asked{nulls}");
    let lines = client.simple_query(&explain).await.unwrap();
    let text: String = lines
        .iter()
        .filter_map(|line| match line {
            tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        })
        .collect();
    client.batch_execute("DEALLOCATE asked").await.unwrap();
    serde_json::from_str::<Value>(&text).unwrap()[0]["Plan"].clone()
}
