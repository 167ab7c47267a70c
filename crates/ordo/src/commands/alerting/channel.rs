//! `ordo channel list | test | escalations`

use ordo_api::alerting::channels::EscalationChain;
use ordo_model::incident::EscalationStep;
use serde_json::Value;

use crate::cli::alerting::channel::ChannelSubcommand;
use crate::commands::find::text;
use crate::commands::pages;
use crate::commands::talk::CommandSession;
use crate::error::{Error, Exit, Result};
use crate::output::{table, time};

pub(crate) async fn run(talk: &CommandSession, command: ChannelSubcommand) -> Result<Exit> {
    match command {
        ChannelSubcommand::List(every) => {
            pages::show_all(talk, "/v1/channels", every, |channels| human(talk, channels)).await
        }
        ChannelSubcommand::Test { channel } => test(talk, &channel).await,
        ChannelSubcommand::Escalations => escalations(talk).await,
    }
}

fn human(talk: &CommandSession, channels: &[Value]) -> String {
    if channels.is_empty() {
        return "No channel is configured: see docs/notifications.md for [slack], [smtp] and [senders.file].\n"
            .to_owned();
    }
    let row = |channel: &Value| vec![text(channel, "name"), format!("[{}]", text(channel, "section"))];
    table::rows(&["CHANNEL", "CONFIGURED IN"], channels.iter().map(row).collect(), talk.paint)
}

/// Fails when the message did not arrive, so that a script notices.
async fn test(talk: &CommandSession, channel: &str) -> Result<Exit> {
    let answer = talk.post_empty(&format!("/v1/channels/{}/test", crate::locate::path_segment(channel))).await?;
    if answer["delivered"] != true {
        return Err(Error::failed(format!("{channel} did not take the message")).detail(text(&answer, "error")));
    }
    let note = answer["note"].as_str().map(|note| format!(": {note}")).unwrap_or_default();
    talk.value(&answer, || format!("a test message went out through {channel}{note}"))?;
    Ok(Exit::Done)
}

async fn escalations(talk: &CommandSession) -> Result<Exit> {
    let items = pages::items(talk, "/v1/escalations", &[], usize::MAX).await?.items;
    let chains: Vec<EscalationChain> =
        items.iter().filter_map(|item| serde_json::from_value(item.clone()).ok()).collect();
    talk.list(&items, || match chains.is_empty() {
        true => "No chain is configured: see [escalation.NAME] in docs/guides/incidents.md.\n".to_owned(),
        false => table::rows(
            &["CHAIN", "STEP", "AFTER", "NOTIFIES", "VIA"],
            chains.iter().flat_map(rows).collect(),
            talk.paint,
        ),
    })?;
    Ok(Exit::Done)
}

fn rows(chain: &EscalationChain) -> Vec<Vec<String>> {
    let row = |(place, step): (usize, &EscalationStep)| {
        let via = step.via.clone().unwrap_or_else(|| "all channels".to_owned());
        vec![chain.name.clone(), (place + 1).to_string(), time::rough(step.after), step.notify.clone(), via]
    };
    chain.escalation.steps.iter().enumerate().map(row).collect()
}
