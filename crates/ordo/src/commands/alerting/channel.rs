//! `ordo channel add | list | show | update | remove | test`

use ordo_api::alerting::channels::{ChannelPatch, NewChannel};
use ordo_api::hooks::{GivenSecret, SecretReference};
use ordo_model::strict::TextOr;
use ordo_model::subscription::EventPattern;
use serde_json::Value;

use crate::cli::alerting::channel::{ChannelAddArgs, ChannelSettingsArgs, ChannelSubcommand, ChannelUpdateArgs};
use crate::commands::alerting::escalation;
use crate::commands::confirm;
use crate::commands::find::text;
use crate::commands::pages;
use crate::commands::talk::CommandSession;
use crate::error::{Error, Exit, Result};
use crate::locate::path_segment;
use crate::output::{table, time};

const PATH: &str = "/v1/channels";

pub(crate) async fn run(talk: &CommandSession, command: ChannelSubcommand) -> Result<Exit> {
    match command {
        ChannelSubcommand::Add(args) => add(talk, args).await,
        ChannelSubcommand::List(every) => pages::show_all(talk, PATH, every, |channels| human(talk, channels)).await,
        ChannelSubcommand::Show(channel) => show(talk, &channel.name).await,
        ChannelSubcommand::Update(args) => update(talk, args).await,
        ChannelSubcommand::Remove(args) => {
            let name = &args.what.name;
            confirm::removal(&args, &format!("Remove channel {name}? Notifications that wait for it are given up."))?;
            remove(talk, name).await
        }
        ChannelSubcommand::Test(channel) => test(talk, &channel.name).await,
        ChannelSubcommand::Escalations(every) => escalation::list(talk, every).await,
    }
}

fn one(name: &str) -> String {
    format!("{PATH}/{}", path_segment(name))
}

fn given(secret: Option<String>, name: Option<String>) -> Option<GivenSecret> {
    let kept = name.map(|secret| TextOr::Object(SecretReference { secret }));
    kept.or(secret.map(TextOr::Text)).map(GivenSecret)
}

/// The patterns that were named; none at all where that was asked for.
fn patterns(events: Vec<EventPattern>, no_events: bool) -> Option<Vec<EventPattern>> {
    (no_events || !events.is_empty()).then_some(events)
}

async fn add(talk: &CommandSession, args: ChannelAddArgs) -> Result<Exit> {
    let ChannelAddArgs { channel, kind, settings } = args;
    let name = channel.name;
    let form = NewChannel {
        name: name.clone(),
        kind,
        url: settings.url,
        channel: settings.slack_channel,
        server: settings.mail_server,
        from: settings.from,
        to: (!settings.to.is_empty()).then_some(settings.to),
        events: patterns(settings.events, settings.no_events),
        label: settings.label,
        description: settings.description,
        secret: given(settings.secret, settings.secret_name),
    };
    let added = talk.post(PATH, &form).await?;
    talk.value(&added, || {
        let shown = added["signing_key"].as_str();
        let key = shown.map(|key| format!("signing key, shown this once: {key}\n")).unwrap_or_default();
        format!("added channel {name}\n{key}try it with: ordo channel test {name}")
    })?;
    Ok(Exit::Done)
}

fn human(talk: &CommandSession, channels: &[Value]) -> String {
    if channels.is_empty() {
        return "No channels. Add one: ordo channel add ops --kind slack --channel '#ops'\n".to_owned();
    }
    let row = |channel: &Value| {
        let from = match channel["section"].as_str() {
            Some(section) => format!("[{section}]"),
            None if channel["in_force"] == false => "store, overridden".to_owned(),
            None => "store".to_owned(),
        };
        vec![text(channel, "name"), from, channel["kind"].as_str().unwrap_or("-").to_owned(), events(channel)]
    };
    table::rows(&["CHANNEL", "FROM", "KIND", "EVENTS"], channels.iter().map(row).collect(), talk.paint)
}

fn events(channel: &Value) -> String {
    let Some(events) = channel["events"].as_array() else { return "-".to_owned() };
    match events.is_empty() {
        true => "only by a chain".to_owned(),
        false => events.iter().filter_map(Value::as_str).collect::<Vec<&str>>().join(", "),
    }
}

async fn show(talk: &CommandSession, name: &str) -> Result<Exit> {
    let channel = talk.get(&one(name)).await?;
    talk.value(&channel, || described(talk, &channel))?;
    Ok(Exit::Done)
}

fn described(talk: &CommandSession, channel: &Value) -> String {
    let mut pairs: Vec<(&str, String)> = Vec::new();
    for field in ["name", "section", "kind", "url", "channel", "server", "from", "label", "description"] {
        pairs.extend(channel[field].as_str().map(|text| (field, text.to_owned())));
    }
    let receivers = channel["to"].as_array().into_iter().flatten().filter_map(Value::as_str);
    pairs.extend(receivers.map(|address| ("to", address.to_owned())));
    pairs.push(("events", events(channel)));
    pairs.extend(channel["secret"]["secret"].as_str().map(|name| ("secret", name.to_owned())));
    let changed = time::of(&channel["updated_at"]);
    pairs.extend(changed.map(|at| ("changed", time::both(at, talk.now(), &talk.zone))));
    table::fields(&pairs, talk.paint)
}

async fn update(talk: &CommandSession, args: ChannelUpdateArgs) -> Result<Exit> {
    let ChannelUpdateArgs { channel, settings } = args;
    let (name, patch) = (channel.name, patch(settings));
    if patch == ChannelPatch::default() {
        return Err(Error::misused("what should change?")
            .hint(format!("name it, as in: ordo channel update {name} --event 'incident.*'")));
    }
    let changed = talk.client.patch::<Value, _>(&one(&name), &patch, None).await?;
    talk.value(&changed, || format!("updated channel {name}"))?;
    Ok(Exit::Done)
}

fn patch(args: ChannelSettingsArgs) -> ChannelPatch {
    ChannelPatch {
        url: args.url,
        channel: args.slack_channel,
        server: args.mail_server,
        from: args.from,
        to: (!args.to.is_empty()).then_some(args.to),
        events: patterns(args.events, args.no_events),
        label: args.label.map(Some),
        description: args.description.map(Some),
        secret: given(args.secret, args.secret_name).map(Some),
    }
}

async fn remove(talk: &CommandSession, name: &str) -> Result<Exit> {
    let removed = talk.client.delete::<Value>(&one(name)).await?;
    talk.value(&removed, || match removed["given_up"].as_u64() {
        Some(0) | None => format!("removed channel {name}"),
        Some(1) => format!("removed channel {name}; 1 notification that waited for it was given up"),
        Some(count) => format!("removed channel {name}; {count} notifications that waited for it were given up"),
    })?;
    Ok(Exit::Done)
}

/// Fails when the message did not arrive, so that a script notices.
async fn test(talk: &CommandSession, channel: &str) -> Result<Exit> {
    let answer = talk.post_empty(&format!("{}/test", one(channel))).await?;
    if answer["delivered"] != true {
        return Err(Error::failed(format!("{channel} did not take the message")).detail(text(&answer, "error")));
    }
    let note = answer["note"].as_str().map(|note| format!(": {note}")).unwrap_or_default();
    talk.value(&answer, || format!("a test message went out through {channel}{note}"))?;
    Ok(Exit::Done)
}
