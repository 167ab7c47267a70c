//! Channels: those of the configuration are shown, those of the store added, changed and removed; a message to try one out.
//!
//! Invariant: a secret that comes with a channel goes to the store of secrets before the channel names it, and never comes
//! back. What the configuration names cannot be changed here.

pub(crate) mod escalations;
mod secret;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use ordo_adapters::webhook::sender::is_sender_name;
use ordo_api::alerting::channels::{ChannelPatch, ChannelRemoved, ChannelTest, ChannelView, NewChannel};
use ordo_api::{Code, Page};
use ordo_engine::clock::new_id;
use ordo_engine::{OutgoingMessage, SendError, Versioned};
use ordo_model::Kind;
use ordo_model::channel::{Channel, ChannelCommand, ChannelRefusal};
use ordo_model::incident::{By, IncidentSource};
use ordo_model::job::Invalid;
use ordo_model::limits::CHANNELS_MAX;
use ordo_model::notification::Message;
use ordo_model::object::Object;
use ordo_model::text::visible_lines;

use crate::app::{App, Signed};
use crate::auth::caller::Caller;
use crate::http::body::Body;
use crate::http::idempotency;
use crate::http::path::{ChannelName, Name, Named};
use crate::http::problem::Problem;

fn view(app: &App, caller: &Caller, channel: &Channel) -> ChannelView {
    let in_force = !is_configured(app, &channel.name);
    ChannelView::stored(channel, in_force, caller.sees_credentials(Kind::Channel))
}

fn is_configured(app: &App, name: &str) -> bool {
    !is_sender_name(name) && app.engine.senders().get(name).is_some()
}

pub(crate) async fn list(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Page<ChannelView>>, Problem> {
    let mut channels = configured(&app);
    channels.extend(app.engine.queries().channels().await?.iter().map(|channel| view(&app, &caller, channel)));
    Ok(Json(Page::whole(channels)))
}

pub(crate) fn configured(app: &App) -> Vec<ChannelView> {
    let names = app.engine.senders().names().into_iter().filter(|name| !is_sender_name(name));
    names.map(one_of_configuration).collect()
}

fn one_of_configuration(name: String) -> ChannelView {
    let section = match name.as_str() {
        "email" => "smtp",
        "file" => "senders.file",
        other => other,
    };
    let section = section.to_owned();
    ChannelView::configured(name, section)
}

pub(crate) async fn show(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Named(ChannelName(name)): Named<ChannelName>,
) -> Result<Json<ChannelView>, Problem> {
    if is_configured(&app, &name) {
        return Ok(Json(one_of_configuration(name)));
    }
    let found = find(&app, &name).await?;
    Ok(Json(view(&app, &caller, &found)))
}

/// A channel of the store.
pub(crate) async fn find(app: &App, name: &str) -> Result<Versioned<Channel>, Problem> {
    app.engine.queries().object::<Channel>(Channel::id(name)).await?.ok_or_else(|| ChannelName::missing(name))
}

pub(crate) async fn create(
    Signed(app): Signed,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    Ok((StatusCode::CREATED, Json(add(&app, &caller, &headers, &body).await?)).into_response())
}

/// The one view that may hold a signing key.
pub(crate) async fn add(app: &App, caller: &Caller, headers: &HeaderMap, body: &Body) -> Result<ChannelView, Problem> {
    idempotency::refuse(headers)?;
    let form: NewChannel = body.parse()?;
    let name = form.name.clone();
    if is_configured(app, &name) {
        let detail = format!("the configuration has a channel {name:?} already: choose another name");
        return Err(Problem::field(Code::ChannelExists, "name", detail));
    }
    if app.engine.queries().channels().await?.len() >= CHANNELS_MAX {
        let detail = format!("there are {CHANNELS_MAX} channels already: remove one first");
        return Err(Problem::new(Code::TooManyChannels, detail));
    }
    let secret = secret::asked(form.kind, form.secret.clone(), &name)?;
    let settings = form.settings(secret.as_ref().map(|secret| secret.name.clone())).map_err(invalid)?;
    let (id, command) = (Channel::id(&name), ChannelCommand::Add { name, settings });
    let before = app.engine.queries().object::<Channel>(id).await?;
    // Judged before the secret is kept: a channel that is refused must not leave one behind, or replace another's.
    Channel::decide(id, before.as_deref(), command.clone(), app.now())?;
    let made = secret::keep(app, secret).await?;
    let added = app.engine.command::<Channel>(id, command).await?;
    Ok(view(app, caller, &added.state).with_signing_key(made))
}

pub(crate) async fn update(
    Signed(app): Signed,
    Extension(caller): Extension<Caller>,
    Named(ChannelName(name)): Named<ChannelName>,
    body: Body,
) -> Result<Json<ChannelView>, Problem> {
    let patch: ChannelPatch = body.parse()?;
    refuse_configured(&app, &name)?;
    let before = find(&app, &name).await?;
    let target = &before.settings.target;
    let secret = match patch.secret.clone() {
        Some(Some(given)) => secret::named(target.kind(), given, &name)?,
        Some(None) => None,
        None => target.secret().map(|secret| secret::Asked { name: secret.clone(), value: None, is_new: false }),
    };
    let settings =
        patch.laid_over(&before.settings, secret.as_ref().map(|secret| secret.name.clone())).map_err(invalid)?;
    let command = ChannelCommand::Change { settings };
    Channel::decide(before.id, Some(&before), command.clone(), app.now())?;
    if patch.secret.is_some() {
        secret::keep(&app, secret).await?;
    }
    let changed = app.engine.command::<Channel>(before.id, command).await?;
    secret::forget_unused(&app, &before, Some(&changed.state)).await;
    Ok(Json(view(&app, &caller, &changed.state)))
}

/// What waits for it is given up, and can be replayed once there is a channel of this name again.
pub(crate) async fn remove(
    Signed(app): Signed,
    Named(ChannelName(name)): Named<ChannelName>,
) -> Result<Json<ChannelRemoved>, Problem> {
    let before = match find(&app, &name).await {
        Ok(before) => before,
        Err(problem) => {
            refuse_configured(&app, &name)?;
            return Err(problem);
        }
    };
    app.engine.command::<Channel>(before.id, ChannelCommand::Remove).await?;
    secret::forget_unused(&app, &before, None).await;
    let given_up = match is_configured(&app, &name) {
        // They go out through the one of the configuration.
        true => 0,
        false => app.engine.give_up_waiting(&name, &ordo_engine::channels::gone(&name)).await?,
    };
    Ok(Json(ChannelRemoved { name, removed: true, given_up }))
}

fn refuse_configured(app: &App, name: &str) -> Result<(), Problem> {
    match is_configured(app, name) {
        true => {
            let detail = format!("{name:?} stands in the configuration: change it there, then restart");
            Err(Problem::new(Code::WrongState, detail))
        }
        false => Ok(()),
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
    let sender = match is_sender_name(name) {
        true => None,
        false => app.engine.sender(name).await?,
    };
    let sender = sender.ok_or_else(|| ChannelName::missing(name))?;
    let message = Message::test(new_id(), app.now(), By::new(caller, IncidentSource::Api));
    let key = message.key();
    let outgoing = OutgoingMessage { message: &message, key: &key, attempt: 1, remembered: None };
    let late = || SendError::passing(format!("it did not answer within {}", sender.timeout()));
    let sent = tokio::time::timeout(sender.timeout().to_std(), sender.send(&outgoing)).await;
    Ok(match sent.unwrap_or_else(|_| Err(late())) {
        Ok(sent) => ChannelTest { delivered: true, note: sent.note, error: None },
        Err(error) => {
            ChannelTest { delivered: false, note: None, error: Some(visible_lines(&error.text).into_owned()) }
        }
    })
}

fn invalid(invalid: Invalid) -> Problem {
    Problem::field(Code::InvalidChannel, invalid.field, invalid.message)
}

impl From<ChannelRefusal> for Problem {
    fn from(refusal: ChannelRefusal) -> Problem {
        let text = refusal.to_string();
        match refusal {
            ChannelRefusal::NoSuchChannel => Problem::new(Code::ChannelNotFound, text),
            ChannelRefusal::Exists { .. } => Problem::field(Code::ChannelExists, "name", text),
            ChannelRefusal::Invalid(refused) => invalid(refused),
        }
    }
}
