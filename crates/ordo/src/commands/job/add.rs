//! `ordo job add`: one line in, one line out.

use ordo_api::jobs::{JobPatch, NewJob};
use ordo_engine::clock::new_id;
use ordo_model::strict;
use serde_json::Value;

use super::{request, when, words};
use crate::cli::Format;
use crate::cli::job::JobAddArgs;
use crate::commands::talk::{CommandSession, wire};
use crate::commands::{find, hook};
use crate::error::{Error, Exit, Result};
use crate::{output, zone};

pub(crate) async fn run(talk: &CommandSession, args: &JobAddArgs) -> Result<Exit> {
    let asked = args.trigger.tz.as_deref().and_then(zone::named);
    let job = new_job(talk, args).await?;
    // A key of its own: should the answer be lost, the request can be sent again without a second job. A unique key says
    // the same already.
    let job = match &job.definition.unique_key {
        Some(_) => talk.client.post::<Value, _>("/v1/jobs", &job).await?,
        None => talk.client.post_with_key::<Value, _>("/v1/jobs", &job, &new_id().to_string()).await?,
    };
    // Whoever named a zone thinks in it, also where the job itself has none.
    let zone = asked.unwrap_or_else(|| words::zone_of(talk, &job));
    talk.value(&job, || words::describe_in(talk, &zone, "added", &job))?;
    hook::note_if_missing(talk, &job).await;
    note_if_shared(talk, &args.label).await;
    Ok(Exit::Done)
}

/// A label need not be the only one of its kind, but whoever goes on with it should know.
async fn note_if_shared(talk: &CommandSession, label: &str) {
    if talk.format != Format::Table {
        return;
    }
    // The job is added: that this could not be asked is no reason to fail.
    let Ok(count) = find::alive(talk, label).await else { return };
    if count > 1 {
        output::note(&format!("{count} jobs are called {label} now: tell them apart by their ids, see ordo job list"));
    }
}

async fn new_job(talk: &CommandSession, args: &JobAddArgs) -> Result<NewJob> {
    let JobPatch(mut job) = request::fields(talk, &args.policies, &args.action).await?;
    if !job.contains_key("tool_name") {
        return Err(Error::misused("what should run?").hint(format!(
            "give a command after --, as in: ordo job add {} --every 10s -- echo hi; or --tool",
            args.label
        )));
    }
    job.insert("label".to_owned(), wire(&args.label));
    job.insert("trigger".to_owned(), wire(&when::new(&args.trigger, talk.now())?));
    job.insert("held".to_owned(), wire(&args.held));
    strict::from_value(Value::Object(job)).map_err(|misread| Error::misused(misread.to_string()))
}
