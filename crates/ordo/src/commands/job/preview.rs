//! `ordo job preview`: when a job fires next.

use crate::cli::job::PreviewArgs;
use crate::commands::talk::CommandSession;
use crate::commands::{cron, find};
use crate::error::{Exit, Result};
use crate::locate::query;
use crate::zone;

use super::words;

pub(crate) async fn run(talk: &CommandSession, args: &PreviewArgs) -> Result<Exit> {
    let id = find::job(talk, &args.job.job).await?;
    let job = talk.get(&format!("/v1/jobs/{id}")).await?;
    let zone = words::zone_of(talk, &job);
    let from = args.from.as_deref().map(|from| zone::parse("--from", from, &zone, talk.now())).transpose()?;
    let asked = query(&[("n", Some(args.next.to_string())), ("from", from.map(|from| from.to_string()))]);
    let answer = talk.get(&format!("/v1/jobs/{id}/preview{asked}")).await?;
    let items = answer["items"].as_array().cloned().unwrap_or_default();
    talk.list(&items, || {
        let table = cron::table_of(&cron::previews(&items), &zone, talk.now(), talk.paint);
        format!("{}\n\n{table}", words::trigger(&job))
    })?;
    Ok(Exit::Done)
}
