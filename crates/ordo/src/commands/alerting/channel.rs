//! `ordo channel list | test | escalations`

use serde_json::Value;

use crate::cli::alerting::channel::ChannelSubcommand;
use crate::commands::alerting::escalation;
use crate::commands::find::text;
use crate::commands::pages;
use crate::commands::talk::CommandSession;
use crate::error::{Error, Exit, Result};
use crate::output::table;

pub(crate) async fn run(talk: &CommandSession, command: ChannelSubcommand) -> Result<Exit> {
    match command {
        ChannelSubcommand::List(every) => {
            pages::show_all(talk, "/v1/channels", every, |channels| human(talk, channels)).await
        }
        ChannelSubcommand::Test { channel } => test(talk, &channel).await,
        ChannelSubcommand::Escalations(every) => escalation::list(talk, every).await,
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
