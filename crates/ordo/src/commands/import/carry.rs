//! The difference, carried out: new jobs in batches, changes one by one.

use ordo_engine::clock::new_id;
use serde_json::{Map, Value, json};

use super::compare::{Act, FieldDifference, ImportItem};
use crate::commands::find::text;
use crate::commands::talk::CommandSession;
use crate::error::{Error, Result};
use crate::output::progress::Progress;

/// Jobs in one request, and about how large it may become.
const BATCH_JOBS: usize = 500;
const BATCH_BYTES: usize = 8 * 1024 * 1024;
/// Fewer are done before anybody reads a bar.
const WORTH_A_BAR: usize = 50;

pub(super) async fn out(talk: &CommandSession, items: &mut [ImportItem], held: bool) -> Result<()> {
    let open = |item: &&mut ImportItem| matches!(item.act, Act::New { .. } | Act::Changed { .. });
    let mut open: Vec<&mut ImportItem> = items.iter_mut().filter(open).collect();
    let total = open.len();
    let progress = (total >= WORTH_A_BAR).then(|| Progress::counted("importing"));
    let mut done = 0;
    while done < total {
        let several = batch(&open[done..], held);
        let step = several.len().max(1);
        let result = match several.is_empty() {
            true => change(talk, open[done]).await,
            false => create(talk, &mut open[done..done + step], several).await,
        };
        result.map_err(|error| after(error, done, total))?;
        done += step;
        if let Some(progress) = &progress {
            progress.at(done as u64, total as u64);
        }
    }
    Ok(())
}

fn after(error: Error, done: usize, total: usize) -> Error {
    if done == 0 { error } else { error.hint(format!("{done} of {total} are done: import once more to go on")) }
}

/// The new jobs from here on that go into one request.
fn batch(items: &[&mut ImportItem], held: bool) -> Vec<Value> {
    let mut bytes = 0;
    let bodies = items.iter().map_while(|item| match &item.act {
        Act::New { draft, .. } => Some(draft.body(held)),
        Act::Changed { .. } | Act::Same { .. } | Act::Gone { .. } | Act::Refused { .. } => None,
    });
    let fits = |body: &Value| {
        let before = bytes;
        bytes += body.to_string().len();
        before == 0 || bytes <= BATCH_BYTES
    };
    bodies.take(BATCH_JOBS).take_while(fits).collect()
}

async fn create(talk: &CommandSession, items: &mut [&mut ImportItem], bodies: Vec<Value>) -> Result<()> {
    let body = json!({ "jobs": bodies });
    let answer = talk.client.post_with_key::<Value, _>("/v1/jobs/batch", &body, &new_id().to_string()).await?;
    for (place, item) in items.iter_mut().enumerate() {
        let result = &answer["results"][place];
        match (&mut item.act, result["id"].as_str()) {
            (Act::New { id, .. }, Some(made)) => *id = Some(made.to_owned()),
            (act, _) => *act = Act::Refused { why: reason(&result["error"]) },
        }
    }
    Ok(())
}

fn reason(problem: &Value) -> String {
    let code = text(problem, "code");
    match text(problem, "detail") {
        detail if detail.is_empty() => format!("the server refused it [{code}]"),
        detail => format!("{detail} [{code}]"),
    }
}

async fn change(talk: &CommandSession, item: &mut ImportItem) -> Result<()> {
    let Act::Changed { id, revision, changes } = &item.act else { return Ok(()) };
    let patch: Map<String, Value> = changes.iter().map(patched).collect();
    match talk.client.patch::<Value, _>(&format!("/v1/jobs/{id}"), &Value::Object(patch), *revision).await {
        Ok(_) => Ok(()),
        Err(ordo_client::Error::Problem { code, detail, .. }) => {
            item.act = Act::Refused { why: format!("{detail} [{code}]") };
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

fn patched(change: &FieldDifference) -> (String, Value) {
    (change.field.to_owned(), change.to.clone())
}
