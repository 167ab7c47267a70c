//! `ordo job update`: what is named changes, the rest stays.

use serde_json::{Map, Value, json};

use super::{definition_json, trigger_json, words};
use crate::cli::job::UpdateArgs;
use crate::commands::find;
use crate::commands::talk::Talk;
use crate::error::{Error, Exit, Result};

pub(crate) async fn run(talk: &Talk, args: &UpdateArgs) -> Result<Exit> {
    let id = find::job(talk, &args.job.job).await?;
    let path = format!("/v1/jobs/{id}");
    let old = talk.get(&path).await?;
    let after = definition_json::after(talk, &args.policies).await?;
    let patch = patch(talk, args, &old, after)?;
    // Options of a trigger are laid over the one that was read: somebody else's change meanwhile must not be undone.
    let read = patch.contains_key("trigger").then(|| old["revision"].as_u64()).flatten();
    let job = talk.client.patch::<Value, _>(&path, &Value::Object(patch), args.if_revision.or(read)).await?;
    talk.value(&job, || words::told(talk, "updated", &job))?;
    Ok(Exit::Done)
}

fn patch(talk: &Talk, args: &UpdateArgs, old: &Value, after: Option<Value>) -> Result<Map<String, Value>> {
    let mut patch = definition_json::policies(&args.policies);
    patch.extend(after.map(|after| ("after".to_owned(), after)));
    patch.extend(definition_json::action(&args.action));
    patch.extend(args.label.as_ref().map(|label| ("label".to_owned(), json!(label))));
    let trigger = match args.manual {
        true => Some(json!({ "type": "manual" })),
        false => trigger_json::changed(&args.trigger, talk.now(), &old["trigger"])?,
    };
    patch.extend(trigger.map(|trigger| ("trigger".to_owned(), trigger)));
    if patch.is_empty() {
        return Err(Error::misused("what should change?").hint("name it, as in: ordo job update hello --every 1m"));
    }
    Ok(patch)
}
