//! `ordo executors`: who runs the work.

use serde_json::Value;

use super::find::text;
use super::live::watch;
use super::talk::CommandSession;
use crate::cli::RefreshArgs;
use crate::error::{Exit, Result};
use crate::output::{short_id, table, time};

const TOOLS_SHOWN: usize = 40;

pub(crate) async fn run(talk: &CommandSession, every: RefreshArgs) -> Result<Exit> {
    watch::repeated(talk, every, async || {
        let found = talk.get("/v1/executors").await?;
        let items: Vec<Value> = found["items"].as_array().cloned().unwrap_or_default();
        talk.list(&items, || human(talk, &items))
    })
    .await
}

fn human(talk: &CommandSession, executors: &[Value]) -> String {
    let id = short_id::shortened(executors);
    let row = |executor: &Value| {
        let tools = executor["tools"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let seen = time::of(&executor["seen_at"]).map(|at| time::relative(at, talk.now()));
        vec![
            text(executor, "name"),
            text(executor, "group"),
            talk.paint.state(&text(executor, "state")),
            format!("{}/{}", executor["running"], executor["capacity"]),
            table::short(&tools.collect::<Vec<_>>().join(", "), TOOLS_SHOWN),
            seen.unwrap_or_else(|| "-".to_owned()),
            id(executor),
        ]
    };
    let header = ["NAME", "GROUP", "STATE", "RUNS", "TOOLS", "SEEN", "ID"];
    table::rows(&header, executors.iter().map(row).collect(), talk.paint)
}
