//! Channels of the store: what makes one, what is refused, and which messages go out through it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ordo_model::Timestamp;
use ordo_model::channel::{Channel, ChannelCommand, ChannelRefusal, ChannelSettings, ChannelTarget};
use ordo_model::incident::{By, IncidentEvent, IncidentSource};
use ordo_model::notification::{Message, Subject};
use ordo_model::object::Object;
use uuid::Uuid;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_ms(ms).unwrap()
}

fn settings(target: ChannelTarget) -> ChannelSettings {
    ChannelSettings { target, events: vec!["incident.*".parse().unwrap()], label: None, description: None }
}

fn webhook(url: &str) -> ChannelTarget {
    ChannelTarget::Webhook { url: url.into(), secret: "key".into() }
}

fn mail(server: &str, to: &[&str], password: Option<&str>) -> ChannelTarget {
    let to = to.iter().map(|&to| to.to_owned()).collect();
    ChannelTarget::Email {
        server: server.into(),
        from: "ordo@example.com".into(),
        to,
        secret: password.map(Into::into),
    }
}

fn add(name: &str, target: ChannelTarget) -> ChannelCommand {
    ChannelCommand::Add { name: name.into(), settings: settings(target) }
}

fn play(commands: Vec<ChannelCommand>) -> Result<Channel, ChannelRefusal> {
    let (id, mut state) = (Channel::id("ops"), None);
    for (number, command) in commands.into_iter().enumerate() {
        let now = at(number as i64);
        for event in Channel::decide(id, state.as_ref(), command, now)? {
            state = Some(Channel::apply(id, state, &event, now).unwrap());
        }
    }
    state.ok_or(ChannelRefusal::NoSuchChannel)
}

#[test]
fn a_channel_is_added_changed_and_removed() {
    let change = |target| ChannelCommand::Change { settings: settings(target) };
    let first = webhook("https://example.com/a");
    let channel = play(vec![add("ops", first.clone()), change(webhook("https://example.com/b"))]).unwrap();
    assert_eq!((channel.created_at, channel.updated_at), (at(0), at(1)));
    assert_eq!(play(vec![add("ops", first.clone()), change(first.clone())]).unwrap().updated_at, at(0));
    assert!(play(vec![add("ops", first.clone()), ChannelCommand::Remove]).unwrap().is_over());
    let twice = play(vec![add("ops", first.clone()), add("ops", first.clone())]);
    assert_eq!(twice, Err(ChannelRefusal::Exists { name: "ops".into() }));
    assert_eq!(play(vec![change(first)]), Err(ChannelRefusal::NoSuchChannel));
}

#[test]
fn what_cannot_work_is_refused_by_the_name_of_its_field() {
    let refused = |command| match play(vec![command]) {
        Err(ChannelRefusal::Invalid(invalid)) => invalid.field,
        other => panic!("{other:?}"),
    };
    for name in ["", "a b", "webhook:1", "slack", "email", "file"] {
        assert_eq!(refused(add(name, webhook("https://example.com"))), "name", "{name}");
    }
    assert_eq!(refused(add("ops", webhook("example.com"))), "url");
    assert_eq!(refused(add("ops", webhook("https://example.com/\r\nx"))), "url");
    assert_eq!(refused(add("ops", ChannelTarget::Slack { channel: " ".into(), secret: "t".into() })), "channel");
    let to = ["a@example.com"];
    for server in ["mail.example.com", "smtps://", "smtps://u:p@mail.example.com", "smtp://mail.example.com"] {
        assert_eq!(refused(add("ops", mail(server, &to, Some("password")))), "server", "{server}");
    }
    assert_eq!(refused(add("ops", mail("smtps://u@mail.example.com", &to, None))), "server", "a user has a password");
    assert_eq!(refused(add("ops", mail("smtp://localhost", &[], None))), "to");
    assert_eq!(refused(add("ops", mail("smtp://localhost", &["ops"], None))), "to");
    assert!(play(vec![add("ops", mail("smtp://localhost", &to, None))]).is_ok());
}

/// Whoever lists channels sees them as they are, in a terminal too.
#[test]
fn what_hides_or_turns_text_is_refused_wherever_it_stands() {
    let refused = |change: &dyn Fn(&mut ChannelSettings)| {
        let ChannelCommand::Add { name, mut settings } = add("ops", mail("smtp://localhost", &["a@b"], None)) else {
            unreachable!("it adds")
        };
        change(&mut settings);
        match play(vec![ChannelCommand::Add { name, settings }]) {
            Err(ChannelRefusal::Invalid(invalid)) => invalid.field,
            other => panic!("{other:?}"),
        }
    };
    for bad in ["a\u{202e}@b", "a\u{9b}2J@b"] {
        assert_eq!(refused(&|settings| settings.target = mail("smtp://localhost", &[bad], None)), "to");
        assert_eq!(refused(&|settings| settings.target = webhook(&format!("https://{bad}"))), "url");
        assert_eq!(refused(&|settings| settings.events = vec![bad.parse().unwrap()]), "events");
        assert_eq!(refused(&|settings| settings.label = Some(bad.parse().unwrap())), "label");
        assert_eq!(refused(&|settings| settings.description = Some(bad.into())), "description");
    }
}

fn message(via: Option<&str>) -> Message {
    let mut message = Message::test(Uuid::from_u128(1), at(0), By::new("anna", IncidentSource::Api));
    if let Subject::Incident { event, .. } = &mut message.subject {
        **event = IncidentEvent::Escalated {
            step: 0,
            notify: "#on-call".into(),
            via: via.map(Into::into),
            escalate_at: None,
            by: By::new("escalation", IncidentSource::Escalation),
        };
    }
    message
}

#[test]
fn what_a_step_sends_through_it_goes_out_whatever_else_it_wants() {
    let mut channel = play(vec![add("ops", webhook("https://example.com"))]).unwrap();
    assert!(channel.wants(&message(None), "incident.escalated"));
    channel.settings.label = Some("nightly-*".parse().unwrap());
    assert!(!channel.wants(&message(None), "incident.escalated"), "this incident has no identifier");
    channel.settings.events.clear();
    assert!(channel.wants(&message(Some("ops")), "incident.escalated"));
    assert!(!channel.wants(&message(Some("slack")), "incident.escalated"));
    assert!(
        !channel.wants(&message(None), "incident.escalated"),
        "a step that names no channel takes those that listen"
    );
}
