//! `ordo job backfill`: run the occurrences of a time that has passed once more.

use ordo_api::jobs::BackfillJob;
use serde_json::Value;

use super::words;
use crate::cli::job::BackfillArgs;
use crate::commands::find;
use crate::commands::talk::CommandSession;
use crate::error::{Exit, Result};
use crate::output::{table, time};
use crate::zone;

pub(crate) async fn run(talk: &CommandSession, args: &BackfillArgs) -> Result<Exit> {
    let id = find::job(talk, &args.job.job).await?;
    let zone = zone::asked(args.tz.as_deref())?;
    let from = zone::parse("--from", &args.from, &zone, talk.now())?;
    let to = zone::parse("--to", &args.to, &zone, talk.now())?;
    let body = BackfillJob { from, to: Some(to), dry_run: args.dry_run };
    let answer = talk.post(&format!("/v1/jobs/{id}/backfill"), &body).await?;
    talk.value(&answer, || {
        let count = match answer["count"].as_u64() {
            Some(1) => "1 occurrence".to_owned(),
            _ => format!("{} occurrences", answer["count"]),
        };
        if !args.dry_run {
            return format!("backfilling {}: {count} from {from} to {to}", words::quoted(&args.job.job));
        }
        let times = answer["items"].as_array().cloned().unwrap_or_default();
        let row =
            |item: &Value| vec![time::of(&item["nominal"]).map_or_else(String::new, |at| time::absolute(at, &zone))];
        let rows = table::rows(&["WOULD RUN"], times.iter().map(row).collect(), talk.paint);
        format!("{count}; nothing was started\n\n{rows}")
    })?;
    Ok(Exit::Done)
}
