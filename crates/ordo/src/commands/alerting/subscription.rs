//! `ordo subscription …`

use ordo_api::alerting::subscriptions::{NewSubscription, SubscriptionPatch};
use serde_json::Value;

use crate::cli::alerting::subscription::{SubscriptionAddArgs, SubscriptionSubcommand, SubscriptionUpdateArgs};
use crate::commands::confirm;
use crate::commands::find::{self, text};
use crate::commands::pages;
use crate::commands::talk::CommandSession;
use crate::error::{Error, Exit, Result};
use crate::output::{short_id, table};

const PATH: &str = "/v1/subscriptions";
const URL_SHOWN: usize = 60;

pub(crate) async fn run(talk: &CommandSession, command: SubscriptionSubcommand) -> Result<Exit> {
    match command {
        SubscriptionSubcommand::Add(args) => add(talk, args).await,
        SubscriptionSubcommand::List(args) => {
            pages::show(talk, PATH, &[], &args.pages, |subscriptions| human(talk, subscriptions)).await
        }
        SubscriptionSubcommand::Update(args) => update(talk, args).await,
        SubscriptionSubcommand::Remove(args) => {
            confirm::removal(&args, &format!("Remove subscription {}?", args.what.id))?;
            remove(talk, &args.what.id).await
        }
        SubscriptionSubcommand::Test(args) => test(talk, &args.id).await,
    }
}

async fn add(talk: &CommandSession, args: SubscriptionAddArgs) -> Result<Exit> {
    let SubscriptionAddArgs { url, events, label, description, secret } = args;
    let made = talk.post(PATH, &NewSubscription { url, events, label, description, secret }).await?;
    talk.value(&made, || {
        let id = text(&made, "id");
        format!("added subscription {id}\n{}try it with: ordo subscription test {id}", secret_of(&made))
    })?;
    Ok(Exit::Done)
}

fn secret_of(answer: &Value) -> String {
    match answer["secret"].as_str() {
        Some(secret) => format!("signing secret, shown this once: {secret}\n"),
        None => String::new(),
    }
}

fn human(talk: &CommandSession, subscriptions: &[Value]) -> String {
    if subscriptions.is_empty() {
        return "No subscriptions. Add one: ordo subscription add https://example.com/hook --event 'incident.*'\n"
            .to_owned();
    }
    let id = short_id::shortened(subscriptions);
    let row = |one: &Value| {
        let events: Vec<&str> = one["events"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        vec![
            table::short(&text(one, "url"), URL_SHOWN),
            talk.paint.state(&text(one, "state")),
            events.join(", "),
            one["label"].as_str().unwrap_or("-").to_owned(),
            id(one),
            table::short(one["reason"].as_str().unwrap_or_default(), URL_SHOWN),
        ]
    };
    let names = ["URL", "STATE", "EVENTS", "LABEL", "ID", "WHY"];
    table::rows(&names, subscriptions.iter().map(row).collect(), talk.paint)
}

async fn update(talk: &CommandSession, args: SubscriptionUpdateArgs) -> Result<Exit> {
    let (id, patch) = patch(args);
    if patch == SubscriptionPatch::default() {
        return Err(Error::misused("what should change?")
            .hint(format!("name it, as in: ordo subscription update {id} --new-secret")));
    }
    let id = find::one(talk, PATH, "subscription", &id).await?;
    let answer = talk.client.patch::<Value, _>(&one(&id), &patch, None).await?;
    talk.value(&answer, || format!("updated subscription {id}\n{}", secret_of(&answer)).trim_end().to_owned())?;
    Ok(Exit::Done)
}

/// What is to change, and of which subscription.
fn patch(args: SubscriptionUpdateArgs) -> (String, SubscriptionPatch) {
    let SubscriptionUpdateArgs { subscription, url, events, label, new_secret, disable, enable } = args;
    let patch = SubscriptionPatch {
        url,
        events: (!events.is_empty()).then_some(events),
        label: label.map(Some),
        description: None,
        enabled: (enable || disable).then_some(enable),
        secret: new_secret.then(|| "new".to_owned()),
    };
    (subscription.id, patch)
}

async fn remove(talk: &CommandSession, name: &str) -> Result<Exit> {
    let id = find::one(talk, PATH, "subscription", name).await?;
    let answer = talk.client.delete::<Value>(&one(&id)).await?;
    talk.value(&answer, || format!("removed subscription {id}"))?;
    Ok(Exit::Done)
}

async fn test(talk: &CommandSession, name: &str) -> Result<Exit> {
    let id = find::one(talk, PATH, "subscription", name).await?;
    let answer = talk.post_empty(&format!("{}/test", one(&id))).await?;
    let delivered = answer["delivered"] == true;
    talk.value(&answer, || match delivered {
        true => format!("delivered: the receiver answered {}", text(&answer, "status")),
        false => format!("not delivered: {}", text(&answer, "error")),
    })?;
    Ok(if delivered { Exit::Done } else { Exit::Failed })
}

fn one(id: &str) -> String {
    format!("{PATH}/{id}")
}
