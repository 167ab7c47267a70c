//! `ordo executors`: who runs the work; `ordo executor drain`: who gets no more of it.

use serde_json::Value;

use super::find::{self, text};
use super::pages;
use super::talk::CommandSession;
use crate::cli::RefreshArgs;
use crate::error::{Error, Exit, Result};
use crate::output::{self, short_id, table, time};

const PATH: &str = "/v1/executors";
const TOOLS_SHOWN: usize = 40;

pub(crate) async fn run(talk: &CommandSession, every: RefreshArgs) -> Result<Exit> {
    pages::show_all(talk, PATH, every, |executors| human(talk, executors)).await
}

/// It finishes what it has and gets nothing more.
pub(crate) async fn drain(talk: &CommandSession, name: &str) -> Result<Exit> {
    let id = named(talk, name).await?;
    let answer = talk.post_empty(&format!("{PATH}/{id}/drain")).await?;
    let runs = answer["running"].as_u64().unwrap_or(0);
    talk.value(&answer, || match runs {
        0 => format!("{name} gets no more work; nothing runs there\n"),
        1 => format!("{name} gets no more work; 1 run goes on to its end\n"),
        _ => format!("{name} gets no more work; {runs} runs go on to their end\n"),
    })?;
    output::note("it then leaves; to bring it back, start it again on its machine");
    Ok(Exit::Done)
}

/// The id of an executor. Of several with the name, the only one that is there is meant.
async fn named(talk: &CommandSession, name: &str) -> Result<String> {
    let found = pages::items(talk, PATH, &[], usize::MAX).await?.items;
    let here = |executor: &&Value| executor["name"] == name && executor["state"] == "alive";
    let mut alive = found.iter().filter(here);
    match (alive.next(), alive.next()) {
        (Some(one), None) => Ok(text(one, "id")),
        (Some(_), Some(_)) => {
            Err(Error::failed(format!("several executors are called {name:?}")).hint("use the id: ordo executors"))
        }
        (None, _) => find::one(talk, PATH, "executor", name).await,
    }
}

fn human(talk: &CommandSession, executors: &[Value]) -> String {
    let id = short_id::shortened(executors);
    let row = |executor: &Value| {
        let tools = executor["tools"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let seen = time::of(&executor["seen_at"]).map(|at| time::ago(at, talk.now()));
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
