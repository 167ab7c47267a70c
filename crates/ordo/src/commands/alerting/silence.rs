//! `ordo silence …`

use ordo_api::alerting::silences::NewSilence;
use serde_json::Value;

use super::incident::change::named;
use crate::cli::alerting::silence::{SilenceAddArgs, SilenceSubcommand};
use crate::commands::find::{self, text};
use crate::commands::pages;
use crate::commands::talk::CommandSession;
use crate::error::{Exit, Result};
use crate::output::{short_id, table, time};
use crate::zone;

const PATH: &str = "/v1/silences";
const REASON_SHOWN: usize = 40;

pub(crate) async fn run(talk: &CommandSession, command: SilenceSubcommand) -> Result<Exit> {
    match command {
        SilenceSubcommand::Add(args) => add(talk, args).await,
        SilenceSubcommand::List(every) => pages::show_all(talk, PATH, every, |silences| human(talk, silences)).await,
        SilenceSubcommand::End(args) => end(talk, &args.id).await,
    }
}

async fn add(talk: &CommandSession, args: SilenceAddArgs) -> Result<Exit> {
    let SilenceAddArgs { matching, end, reason, actor } = args;
    let until = end.until.as_deref().map(|text| zone::parse("--until", text, &talk.zone, talk.now())).transpose()?;
    let reason = reason.unwrap_or_default();
    let made = talk.post(PATH, &NewSilence { matching, r#for: end.length, until, reason, actor: named(actor) }).await?;
    talk.value(&made, || {
        let until = time::of(&made["until"]).map(|at| time::both(at, talk.now(), &talk.zone)).unwrap_or_default();
        format!("nobody is notified of {} until {until}: {}", text(&made, "matching"), text(&made, "id"))
    })?;
    Ok(Exit::Done)
}

fn human(talk: &CommandSession, silences: &[Value]) -> String {
    if silences.is_empty() {
        return "No silences: notifications go out as usual.\n".to_owned();
    }
    let id = short_id::shortened(silences);
    let row = |one: &Value| {
        let until = time::of(&one["until"]).map(|at| time::relative(at, talk.now())).unwrap_or_default();
        let reason = text(one, "reason");
        vec![
            text(one, "matching"),
            until,
            one["by"]["actor"].as_str().unwrap_or_default().to_owned(),
            if reason.is_empty() { "-".to_owned() } else { table::short(&reason, REASON_SHOWN) },
            id(one),
        ]
    };
    table::rows(&["MATCHING", "ENDS", "BY", "REASON", "ID"], silences.iter().map(row).collect(), talk.paint)
}

async fn end(talk: &CommandSession, name: &str) -> Result<Exit> {
    let id = find::one(talk, PATH, "silence", name).await?;
    let ended = talk.client.delete::<Value>(&format!("{PATH}/{id}")).await?;
    talk.value(&ended, || format!("ended: notifications of {} go out again", text(&ended, "matching")))?;
    Ok(Exit::Done)
}
