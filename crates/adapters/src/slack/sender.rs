//! Posts to Slack: one card for each incident, kept up to date in place, and its timeline in the card's thread.
//!
//! Invariant: where the card stands is remembered with the incident, so it survives a restart; every call may be made
//! again. A card that somebody deleted is posted anew.

use async_trait::async_trait;
use ordo_engine::sender::{OutgoingMessage, SendError, Sender, Sent};
use ordo_model::Millis;
use ordo_model::notification::{IncidentSubject, Message, Subject};
use ordo_model::subscription::EventPattern;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::api::{Api, CallError};
use super::card;
use crate::message::{event_type, words};

pub const NAME: &str = "slack";

#[derive(Debug)]
pub struct SlackSender {
    pub name: String,
    pub api: Api,
    /// The channel of incidents that began elsewhere.
    pub channel: String,
    /// Which events are sent.
    pub events: Vec<EventPattern>,
}

/// Where the card of an incident stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct CardLocation {
    channel: String,
    /// The card.
    ts: String,
    /// The message the timeline hangs on: the card, or the one that began the thread.
    thread: String,
}

#[async_trait]
impl Sender for SlackSender {
    fn name(&self) -> &str {
        &self.name
    }

    fn wants(&self, message: &Message) -> bool {
        let name = event_type(message);
        self.events.iter().any(|pattern| pattern.fits(name))
    }

    async fn send(&self, outgoing: &OutgoingMessage<'_>) -> Result<Sent, SendError> {
        match &outgoing.message.subject {
            Subject::Incident { incident, .. } => self.incident(incident, outgoing).await,
            Subject::Job { .. } => self.news(outgoing.message).await,
        }
    }

    /// An update and a line of the timeline, each of which may take as long as a call may.
    fn timeout(&self) -> Millis {
        Millis::from_secs(25)
    }

    /// Slack lets an app post about once a second into a channel.
    fn concurrency(&self) -> usize {
        4
    }
}

impl SlackSender {
    async fn incident(&self, incident: &IncidentSubject, outgoing: &OutgoingMessage<'_>) -> Result<Sent, SendError> {
        let place = outgoing.remembered.and_then(|value| CardLocation::deserialize(value).ok());
        let place = match place {
            None => return self.post_card(incident).await.map(|place| sent(&place)).map_err(|error| failure(&error)),
            Some(place) => self.update_card(incident, place).await.map_err(|error| failure(&error))?,
        };
        self.post_in_thread(outgoing.message, &place).await.map_err(|error| failure(&error))?;
        Ok(sent(&place))
    }

    async fn post_card(&self, incident: &IncidentSubject) -> Result<CardLocation, CallError> {
        let thread = thread_of(incident);
        let channel = thread.map_or(self.channel.as_str(), |(channel, _)| channel);
        let mut arguments = json!({
            "channel": channel,
            "text": card::fallback(incident),
            "blocks": card::blocks(incident),
            "unfurl_links": false,
            "unfurl_media": false,
        });
        if let Some((_, thread)) = thread {
            arguments["thread_ts"] = thread.into();
        }
        let answer = self.api.call("chat.postMessage", &arguments).await?;
        let text = |name: &str| answer[name].as_str().map(str::to_owned);
        let ts = text("ts").ok_or_else(|| no_place("chat.postMessage"))?;
        let thread = thread.map_or_else(|| ts.clone(), |(_, thread)| thread.to_owned());
        // Updates want the id of the channel, whatever name it was found by.
        Ok(CardLocation { channel: text("channel").unwrap_or_else(|| channel.to_owned()), ts, thread })
    }

    async fn update_card(&self, incident: &IncidentSubject, place: CardLocation) -> Result<CardLocation, CallError> {
        let arguments = json!({
            "channel": place.channel,
            "ts": place.ts,
            "text": card::fallback(incident),
            "blocks": card::blocks(incident),
        });
        match self.api.call("chat.update", &arguments).await {
            Ok(_) => Ok(place),
            Err(error) if error.is("message_not_found") || error.is("cant_update_message") => {
                self.post_card(incident).await
            }
            Err(error) => Err(error),
        }
    }

    async fn post_in_thread(&self, message: &Message, place: &CardLocation) -> Result<(), CallError> {
        let mut text = card::timeline(&words(message));
        if let Some(channel) = message.notify(&self.name).and_then(as_channel) {
            let news = json!({ "channel": channel, "text": card::news(&words(message)), "unfurl_links": false });
            self.api.call("chat.postMessage", &news).await?;
            text.push_str("\n(posted there too)");
        }
        let arguments =
            json!({ "channel": place.channel, "thread_ts": place.thread, "text": text, "unfurl_links": false });
        self.api.call("chat.postMessage", &arguments).await.map(drop)
    }

    async fn news(&self, message: &Message) -> Result<Sent, SendError> {
        let arguments = json!({ "channel": self.channel, "text": card::news(&words(message)), "unfurl_links": false });
        let answer = self.api.call("chat.postMessage", &arguments).await.map_err(|error| failure(&error))?;
        Ok(Sent { note: answer["ts"].as_str().map(str::to_owned), remember: None })
    }
}

fn sent(place: &CardLocation) -> Sent {
    let note = Some(format!("{} {}", place.channel, place.ts));
    Sent { note, remember: Some(json!(place)) }
}

fn no_place(method: &'static str) -> CallError {
    CallError::Passing { method, why: "Slack did not say where the message stands".to_owned() }
}

fn failure(error: &CallError) -> SendError {
    let text = error.to_string();
    match error {
        CallError::RateLimited { after, .. } => SendError::passing(text).after(*after),
        CallError::Passing { .. } => SendError::passing(text),
        CallError::Refused { .. } => SendError::permanent(text),
    }
}

/// An incident that was started in a thread is posted there: `slack:<channel>:<thread>`.
fn thread_of(incident: &IncidentSubject) -> Option<(&str, &str)> {
    incident.identifier.as_deref()?.strip_prefix("slack:")?.split_once(':')
}

/// `#ops`, or the id of a channel.
fn as_channel(name: &str) -> Option<&str> {
    let is_id = matches!(name.as_bytes(), [b'C' | b'G', rest @ ..] if rest.len() >= 8
        && rest.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()));
    (is_id || name.starts_with('#')).then_some(name)
}
