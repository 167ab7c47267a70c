//! Channels, as the configuration has them, and a message to try one out; escalation chains.

pub(crate) mod escalations;

use axum::extract::State;
use axum::{Extension, Json};
use ordo_adapters::webhook::sender::is_sender_name;
use ordo_api::alerting::channels::{ChannelTest, ChannelView};
use ordo_api::{Code, Page};
use ordo_engine::clock::new_id;
use ordo_engine::{OutgoingMessage, SendError};
use ordo_model::incident::{By, IncidentSource};
use ordo_model::notification::Message;

use crate::app::App;
use crate::auth::caller::Caller;
use crate::http::path::{ChannelName, Named};
use crate::http::problem::Problem;

pub(crate) async fn list(State(app): State<App>) -> Json<Page<ChannelView>> {
    Json(Page::whole(configured(&app)))
}

pub(crate) fn configured(app: &App) -> Vec<ChannelView> {
    let names = app.engine.senders().names().into_iter().filter(|name| !is_sender_name(name));
    names.map(|name| ChannelView { section: section(&name).to_owned(), name }).collect()
}

fn section(name: &str) -> &str {
    match name {
        "email" => "smtp",
        "file" => "senders.file",
        other => other,
    }
}

pub(crate) async fn test(
    State(app): State<App>,
    Named(ChannelName(name)): Named<ChannelName>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<ChannelTest>, Problem> {
    Ok(Json(try_out(&app, &name, &caller.name).await?))
}

/// One try, now, for as long as the channel gives itself.
pub(crate) async fn try_out(app: &App, name: &str, caller: &str) -> Result<ChannelTest, Problem> {
    let missing = || Problem::new(Code::ChannelNotFound, format!("the configuration names no channel {name:?}"));
    let sender = app.engine.senders().get(name).filter(|_| !is_sender_name(name)).ok_or_else(missing)?;
    let message = Message::test(new_id(), app.now(), By::new(caller, IncidentSource::Api));
    let key = message.key();
    let outgoing = OutgoingMessage { message: &message, key: &key, attempt: 1, remembered: None };
    let late = || SendError::passing(format!("it did not answer within {}", sender.timeout()));
    let sent = tokio::time::timeout(sender.timeout().to_std(), sender.send(&outgoing)).await;
    Ok(match sent.unwrap_or_else(|_| Err(late())) {
        Ok(sent) => ChannelTest { delivered: true, note: sent.note, error: None },
        Err(error) => ChannelTest { delivered: false, note: None, error: Some(error.text) },
    })
}
