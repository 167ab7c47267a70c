//! What Slack sends to `/slack/events`, in Ordo's terms.
//!
//! Invariant: reading changes nothing and asks nobody; what is not meant for us is [`SlackEvent::Nothing`], never an error,
//! because Slack switches an endpoint off that answers with errors.

use serde::Deserialize;

/// What a request to `/slack/events` is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SlackEvent {
    /// Slack asks whether we are there: the text goes back as it came.
    Challenge(String),
    Mention(Mention),
    /// Something that concerns us not, and why.
    Nothing(&'static str),
}

/// Somebody called the app by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// The same for every delivery of one event.
    pub event_id: String,
    pub channel: String,
    /// The message that the thread hangs on; of a message outside a thread its own.
    pub thread: String,
    pub user: String,
    /// What was said, without the mention of the app and without Slack's markup.
    pub text: String,
}

impl Mention {
    /// One thread has one incident.
    pub fn identifier(&self) -> String {
        format!("slack:{}:{}", self.channel, self.thread)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the body is not an event of Slack's: {0}")]
pub struct NotAnEvent(String);

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Envelope {
    UrlVerification {
        challenge: String,
    },
    EventCallback {
        event_id: String,
        event: EventForm,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct EventForm {
    r#type: String,
    #[serde(default)]
    channel: String,
    #[serde(default)]
    user: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    ts: String,
    thread_ts: Option<String>,
    bot_id: Option<String>,
}

/// Reads the body of a request whose signature was right.
pub fn read(body: &[u8]) -> Result<SlackEvent, NotAnEvent> {
    match serde_json::from_slice(body).map_err(|error| NotAnEvent(error.to_string()))? {
        Envelope::UrlVerification { challenge } => Ok(SlackEvent::Challenge(challenge)),
        Envelope::EventCallback { event_id, event } => Ok(about(event_id, event)),
        Envelope::Other => Ok(SlackEvent::Nothing("a kind of request that is not used")),
    }
}

fn about(event_id: String, event: EventForm) -> SlackEvent {
    if event.r#type != "app_mention" {
        return SlackEvent::Nothing("a kind of event that is not used");
    }
    // Also our own messages: answering them would never end.
    if event.bot_id.is_some() || event.user.is_empty() {
        return SlackEvent::Nothing("said by a bot");
    }
    if event.channel.is_empty() || event.ts.is_empty() {
        return SlackEvent::Nothing("an event without a place");
    }
    SlackEvent::Mention(Mention {
        event_id,
        channel: event.channel,
        thread: event.thread_ts.unwrap_or(event.ts),
        user: event.user,
        text: spoken(&event.text),
    })
}

/// The text as a person reads it: the mention of the app in front is gone, markup is resolved.
fn spoken(text: &str) -> String {
    let text = text.trim_start();
    let called = text.strip_prefix("<@").and_then(|rest| rest.split_once('>'));
    let rest = called.map_or(text, |(_, rest)| rest);
    resolve(rest.trim().trim_start_matches([':', ',']).trim())
}

/// `<https://x|label>` → `label (https://x)`, `<@U1|anna>` → `@anna`, entities → characters.
fn resolve(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        plain.push_str(before);
        match after.split_once('>') {
            Some((inside, after)) => {
                plain.push_str(&reference(inside));
                rest = after;
            }
            None => {
                plain.push('<');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

fn reference(inside: &str) -> String {
    let (target, label) = inside.split_once('|').map_or((inside, None), |(target, label)| (target, Some(label)));
    match target.split_at_checked(1) {
        Some((mark @ ("@" | "#"), id)) => format!("{mark}{}", label.unwrap_or(id)),
        Some(("!", id)) => format!("@{}", label.unwrap_or(id)),
        Some(_) | None => match label {
            Some(label) if label != target => format!("{label} ({target})"),
            Some(_) | None => target.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn heard(body: &Value) -> SlackEvent {
        read(body.to_string().as_bytes()).unwrap()
    }

    fn mention(more: &Value) -> SlackEvent {
        let mut event =
            json!({"type": "app_mention", "user": "U1", "channel": "C1", "ts": "17.5", "text": "<@UBOT> server down!"});
        for (key, value) in more.as_object().unwrap() {
            event[key] = value.clone();
        }
        heard(&json!({"type": "event_callback", "event_id": "Ev1", "event": event, "team_id": "T1"}))
    }

    fn said(text: &str) -> String {
        match mention(&json!({ "text": text })) {
            SlackEvent::Mention(mention) => mention.text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_challenge_goes_back_as_it_came() {
        let body = json!({"type": "url_verification", "token": "x", "challenge": "3eZb"});
        assert_eq!(heard(&body), SlackEvent::Challenge("3eZb".into()));
    }

    #[test]
    fn a_call_by_name_is_about_its_thread() {
        let SlackEvent::Mention(first) = mention(&json!({})) else { panic!() };
        assert_eq!((first.text.as_str(), first.identifier().as_str()), ("server down!", "slack:C1:17.5"));
        let SlackEvent::Mention(reply) = mention(&json!({"ts": "18.0", "thread_ts": "17.5"})) else { panic!() };
        assert_eq!(reply.identifier(), first.identifier());
    }

    #[test]
    fn bots_and_other_events_are_left_alone() {
        assert!(matches!(mention(&json!({"bot_id": "B1"})), SlackEvent::Nothing(_)));
        assert!(matches!(mention(&json!({"type": "message"})), SlackEvent::Nothing(_)));
        assert!(matches!(mention(&json!({"channel": ""})), SlackEvent::Nothing(_)));
        assert!(matches!(heard(&json!({"type": "app_rate_limited"})), SlackEvent::Nothing(_)));
        assert!(read(b"[]").is_err() && read(b"").is_err() && read(b"{}").is_err());
    }

    #[test]
    fn markup_becomes_what_a_person_reads() {
        assert_eq!(said("<@UBOT>: a &lt;b&gt; &amp;amp; c"), "a <b> &amp; c");
        assert_eq!(said("<@UBOT> see <https://x.example/a?b=1|the page>"), "see the page (https://x.example/a?b=1)");
        assert_eq!(said("<@UBOT> <https://x.example>"), "https://x.example");
        assert_eq!(said("<@UBOT> ask <@U2|anna> in <#C9|ops>, <!here>"), "ask @anna in #ops, @here");
        assert_eq!(said("down < up"), "down < up");
    }
}
