//! `ordo job update`: what is named changes, the rest stays.

use ordo_api::jobs::{JobPatch, JobView};
use ordo_model::job::Trigger;
use serde_json::Value;

use super::{request, when, words};
use crate::cli::job::JobUpdateArgs;
use crate::commands::find;
use crate::commands::talk::{CommandSession, wire};
use crate::error::{Error, Exit, Result};

pub(crate) async fn run(talk: &CommandSession, args: &JobUpdateArgs) -> Result<Exit> {
    let id = find::job(talk, &args.job.job).await?;
    let path = format!("/v1/jobs/{id}");
    let patch = patch(talk, args, &talk.read(&path).await?).await?;
    let job = talk.client.patch::<Value, _>(&path, &patch.fields, args.if_revision.or(patch.of_revision)).await?;
    talk.value(&job, || words::describe(talk, "updated", &job))?;
    Ok(Exit::Done)
}

struct Patch {
    fields: JobPatch,
    /// Options of a trigger are laid over the one that was read: somebody else's change meanwhile must not be undone.
    of_revision: Option<u64>,
}

async fn patch(talk: &CommandSession, args: &JobUpdateArgs, old: &JobView) -> Result<Patch> {
    let JobPatch(mut fields) = request::fields(talk, &args.policies, &args.action).await?;
    fields.extend(args.label.as_ref().map(|label| ("label".to_owned(), wire(label))));
    let trigger = match args.manual {
        true => Some(Trigger::Manual),
        false => when::changed(&args.trigger, talk.now(), &old.definition.trigger)?,
    };
    let of_revision = trigger.is_some().then_some(old.revision);
    fields.extend(trigger.map(|trigger| ("trigger".to_owned(), wire(&trigger))));
    if fields.is_empty() {
        return Err(Error::misused("what should change?").hint("name it, as in: ordo job update hello --every 1m"));
    }
    Ok(Patch { fields: JobPatch(fields), of_revision })
}
