//! `ordo notification list | replay`

use serde_json::Value;

use crate::cli::alerting::notification::{NotificationListArgs, NotificationReplayArgs, NotificationSubcommand};
use crate::commands::find::{self, text};
use crate::commands::pages;
use crate::commands::talk::CommandSession;
use crate::error::{Error, Exit, Result};
use crate::output::{short_id, table, time};

const PATH: &str = "/v1/notifications";
/// The states of those that can be sent once more.
const REPLAYABLE: [&str; 2] = ["delivered", "dead_lettered"];

pub(crate) async fn run(talk: &CommandSession, command: NotificationSubcommand) -> Result<Exit> {
    match command {
        NotificationSubcommand::List(args) => list(talk, &args).await,
        NotificationSubcommand::Replay(NotificationReplayArgs { notification: Some(id), .. }) => {
            replay(talk, &id).await
        }
        NotificationSubcommand::Replay(NotificationReplayArgs { notification: None, .. }) => replay_all(talk).await,
    }
}

async fn list(talk: &CommandSession, args: &NotificationListArgs) -> Result<Exit> {
    let filters = [("state", Some(args.state.clone()))];
    pages::show(talk, PATH, &filters, &args.pages, |notifications| human(talk, &args.state, notifications)).await
}

fn human(talk: &CommandSession, state: &str, notifications: &[Value]) -> String {
    if notifications.is_empty() {
        return format!("No notifications are {}.\n", state.replace('_', "-"));
    }
    let id = short_id::shortened(notifications);
    let row = |notification: &Value| {
        let written = time::of(&notification["written_at"]).map(|at| time::ago(at, talk.now()));
        vec![
            text(notification, "sender"),
            text(notification, "event"),
            written.unwrap_or_default(),
            text(notification, "attempts"),
            id(notification),
            table::short(&text(notification, "last_error"), 60),
        ]
    };
    let names = ["SENDER", "EVENT", "WRITTEN", "TRIES", "ID", "LAST ERROR"];
    table::rows(&names, notifications.iter().map(row).collect(), talk.paint)
}

/// Those that are dead-lettered now: one that fails again meanwhile is not tried a third time.
async fn replay_all(talk: &CommandSession) -> Result<Exit> {
    let filters = [("state", Some("dead_lettered".to_owned()))];
    let listed = pages::items(talk, PATH, &filters, usize::MAX).await?.items;
    let mut replayed = Vec::with_capacity(listed.len());
    for notification in &listed {
        let path = format!("{PATH}/{}/replay", text(notification, "id"));
        replayed.push(talk.post_empty(&path).await?);
    }
    talk.list(&replayed, || match replayed.len() {
        0 => "No notifications are dead-lettered.\n".to_owned(),
        1 => "1 notification is sent once more\n".to_owned(),
        count => format!("{count} notifications are sent once more\n"),
    })?;
    Ok(Exit::Done)
}

async fn replay(talk: &CommandSession, name: &str) -> Result<Exit> {
    let mut id = Err(Error::failed("no state was looked at"));
    for state in REPLAYABLE {
        id = find::one_of_many(talk, PATH, &[("state", Some(state.to_owned()))], "notification", name).await;
        if id.is_ok() {
            break;
        }
    }
    let id = id?;
    let notification = talk.post_empty(&format!("{PATH}/{id}/replay")).await?;
    talk.value(&notification, || {
        format!("notification {id} is sent once more through {}", text(&notification, "sender"))
    })?;
    Ok(Exit::Done)
}
