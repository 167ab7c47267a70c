//! `ordo job add`: one line in, one line out.

use ordo_engine::clock::new_id;
use serde_json::{Value, json};

use super::{definition_json, trigger_json, words};
use crate::cli::job::AddArgs;
use crate::commands::hook;
use crate::commands::talk::Talk;
use crate::error::{Error, Exit, Result};
use crate::zone;

pub(crate) async fn run(talk: &Talk, args: &AddArgs) -> Result<Exit> {
    let asked = args.trigger.tz.as_deref().and_then(zone::named);
    let mut body = body(talk, args)?;
    if let Some(after) = definition_json::after(talk, &args.policies).await? {
        body["after"] = after;
    }
    // A key of its own: should the answer be lost, the request can be sent again without a second job. A unique key says
    // the same already.
    let job = match body.get("unique_key") {
        Some(_) => talk.client.post("/v1/jobs", &body).await?,
        None => talk.client.post_with_key::<Value, _>("/v1/jobs", &body, &new_id().to_string()).await?,
    };
    // Whoever named a zone thinks in it, also where the job itself has none.
    let zone = asked.unwrap_or_else(|| words::zone_of(talk, &job));
    talk.value(&job, || words::told_in(talk, &zone, "added", &job))?;
    hook::note_if_missing(talk, &job).await;
    Ok(Exit::Done)
}

fn body(talk: &Talk, args: &AddArgs) -> Result<Value> {
    let mut job = definition_json::policies(&args.policies);
    job.extend(definition_json::action(&args.action));
    if !job.contains_key("tool_name") {
        return Err(Error::misused("what should run?").hint(format!(
            "give a command after --, as in: ordo job add {} --every 10s -- echo hi; or --tool",
            args.label
        )));
    }
    job.insert("label".to_owned(), json!(args.label));
    job.insert("trigger".to_owned(), trigger_json::new(&args.trigger, talk.now())?);
    if args.held {
        job.insert("held".to_owned(), json!(true));
    }
    Ok(Value::Object(job))
}
