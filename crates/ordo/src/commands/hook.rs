//! `ordo hook …`

use ordo_api::hooks::{GivenSecret, HookPatch, NewHook, NewVerify, SecretReference};
use ordo_engine::clock::new_id;
use ordo_model::strict::TextOr;
use serde_json::Value;

use super::find::{self, text};
use super::pages;
use super::talk::CommandSession;
use crate::cli::hook::{DeliveriesArgs, HookArgs, HookSubcommand, HookUpdateArgs, ReplayArgs, TestArgs};
use crate::commands::confirm;
use crate::error::{Exit, Result};
use crate::locate::path_segment;
use crate::output::{self, short_id, table, time};

pub(crate) async fn run(talk: &CommandSession, command: HookSubcommand) -> Result<Exit> {
    match command {
        HookSubcommand::Add(args) => add(talk, &args).await,
        HookSubcommand::Update(args) => update(talk, &args).await,
        HookSubcommand::List(args) => pages::show(talk, "/v1/hooks", &[], &args, |items| hooks(talk, items)).await,
        HookSubcommand::Show(args) => show(talk, &args.slug).await,
        HookSubcommand::Remove(args) => {
            let slug = &args.what.slug;
            confirm::removal(&args, &format!("Remove hook {slug}? Nothing is taken at its address any more."))?;
            remove(talk, slug).await
        }
        HookSubcommand::Deliveries(args) => deliveries(talk, &args).await,
        HookSubcommand::Replay(args) => replay(talk, &args).await,
        HookSubcommand::Test(args) => test(talk, &args).await,
    }
}

async fn add(talk: &CommandSession, args: &HookArgs) -> Result<Exit> {
    let hook = NewHook {
        slug: args.hook.slug.clone(),
        verify: verify(args),
        filter: args.filter.clone(),
        max_bytes: args.max_bytes,
    };
    // A key of its own: should the answer be lost, the request can be sent again.
    let hook = talk.client.post_with_key::<Value, _>("/v1/hooks", &hook, &new_id().to_string()).await?;
    print(talk, "added", &hook)
}

async fn update(talk: &CommandSession, args: &HookUpdateArgs) -> Result<Exit> {
    let HookUpdateArgs { terms, no_verify, no_filter } = args;
    let patch = HookPatch {
        verify: verify(terms).map(Some).or(no_verify.then_some(None)),
        filter: terms.filter.clone().map(Some).or(no_filter.then_some(None)),
        max_bytes: terms.max_bytes.map(Some),
    };
    let hook = talk.client.patch::<Value, _>(&path(&terms.hook.slug), &patch, None).await?;
    print(talk, "changed", &hook)
}

fn verify(args: &HookArgs) -> Option<NewVerify> {
    let kept = |name: &String| TextOr::Object(SecretReference { secret: name.clone() });
    let secret = args.secret_name.as_ref().map(kept).or_else(|| args.secret.clone().map(TextOr::Text));
    Some(NewVerify { r#type: args.verify?, secret: GivenSecret(secret?), header: args.header.clone() })
}

fn print(talk: &CommandSession, what: &str, hook: &Value) -> Result<Exit> {
    let said = format!("{what} hook {}: POST {}, {}\n", text(hook, "slug"), text(hook, "path"), verified(hook));
    talk.value(hook, || said)?;
    Ok(Exit::Done)
}

fn verified(hook: &Value) -> String {
    match hook["verify"]["type"].as_str() {
        Some("bearer") => "callers send a token".to_owned(),
        Some(how) => format!("callers sign as {how}"),
        None => "open to whoever knows the address".to_owned(),
    }
}

fn hooks(talk: &CommandSession, items: &[Value]) -> String {
    if items.is_empty() {
        return "No hooks. Add one: ordo hook add SLUG\n".to_owned();
    }
    let row = |hook: &Value| {
        vec![
            text(hook, "slug"),
            hook["verify"]["type"].as_str().unwrap_or("-").to_owned(),
            filter(&hook["filter"]).map_or_else(|| "-".to_owned(), |said| table::short(&said, 40)),
            hook["jobs"].as_array().map_or(0, Vec::len).to_string(),
            text(hook, "path"),
        ]
    };
    table::rows(&["SLUG", "VERIFY", "FILTER", "JOBS", "PATH"], items.iter().map(row).collect(), talk.paint)
}

/// As it is typed, where it is short.
fn filter(form: &Value) -> Option<String> {
    let pointer = form["pointer"].as_str()?;
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Some(match (form.get("equals"), form.get("not_equals"), &form["exists"]) {
        (Some(wanted), _, _) => format!("{pointer}={}", plain(wanted)),
        (_, Some(unwanted), _) => format!("{pointer}!={}", plain(unwanted)),
        (_, _, Value::Bool(true)) => pointer.to_owned(),
        _ => form.to_string(),
    })
}

async fn show(talk: &CommandSession, slug: &str) -> Result<Exit> {
    let hook = talk.get(&path(slug)).await?;
    talk.value(&hook, || full(talk, &hook))?;
    Ok(Exit::Done)
}

fn full(talk: &CommandSession, hook: &Value) -> String {
    let mut pairs = vec![("hook", text(hook, "slug")), ("path", text(hook, "path")), ("callers", verified(hook))];
    pairs.extend(hook["verify"]["secret"]["secret"].as_str().map(|name| ("secret", name.to_owned())));
    pairs.extend(hook["verify"]["header"].as_str().map(|name| ("header", name.to_owned())));
    pairs.extend(filter(&hook["filter"]).map(|said| ("filter", said)));
    pairs.push(("max bytes", text(hook, "max_bytes")));
    for job in hook["jobs"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        pairs.push(("job", job.to_owned()));
    }
    table::fields(&pairs, talk.paint)
}

async fn remove(talk: &CommandSession, slug: &str) -> Result<Exit> {
    let hook = talk.client.delete::<Value>(&path(slug)).await?;
    let left = hook["jobs"].as_array().map_or(0, Vec::len);
    talk.value(&hook, || format!("removed hook {slug}\n"))?;
    if left > 0 {
        let jobs = if left == 1 { "1 job still listens".to_owned() } else { format!("{left} jobs still listen") };
        output::note(&format!("{jobs} to it: see ordo job list --trigger webhook"));
    }
    Ok(Exit::Done)
}

async fn deliveries(talk: &CommandSession, args: &DeliveriesArgs) -> Result<Exit> {
    let place = format!("{}/deliveries", path(&args.hook.slug));
    pages::show(talk, &place, &[], &args.pages, |items| came(talk, items)).await
}

fn came(talk: &CommandSession, items: &[Value]) -> String {
    if items.is_empty() {
        return "Nobody called within the last 7 days.\n".to_owned();
    }
    let id = short_id::shortened(items);
    let row = |delivery: &Value| {
        let received = time::of(&delivery["received_at"]).map(|at| time::ago(at, talk.now()));
        vec![
            talk.paint.state(&text(delivery, "status")),
            received.unwrap_or_default(),
            text(delivery, "bytes"),
            delivery["runs"].as_array().map_or(0, Vec::len).to_string(),
            id(delivery),
            delivery["sender_id"].as_str().map_or_else(|| "-".to_owned(), |id| table::short(id, 40)),
        ]
    };
    let names = ["STATUS", "RECEIVED", "BYTES", "RUNS", "ID", "SENDER'S ID"];
    table::rows(&names, items.iter().map(row).collect(), talk.paint)
}

async fn replay(talk: &CommandSession, args: &ReplayArgs) -> Result<Exit> {
    let listed = format!("{}/deliveries", path(&args.hook.slug));
    let id = find::one_of_many(talk, &listed, &[], "delivery", &args.delivery).await?;
    let delivery = talk.post_empty(&format!("{listed}/{id}/replay")).await?;
    let jobs = delivery["runs"].as_array().map_or(0, Vec::len);
    let jobs = if jobs == 1 { "1 job".to_owned() } else { format!("{jobs} jobs") };
    talk.value(&delivery, || format!("replaying {id} for {jobs}\n"))?;
    Ok(Exit::Done)
}

/// The runs begin a moment later: whoever wants to see them lists the deliveries.
async fn test(talk: &CommandSession, args: &TestArgs) -> Result<Exit> {
    let slug = &args.hook.slug;
    let delivery = talk.post(&format!("{}/test", path(slug)), &args.payload).await?;
    talk.value(&delivery, || {
        format!("called {slug}: delivery {}\nsee what it started: ordo hook deliveries {slug}\n", text(&delivery, "id"))
    })?;
    Ok(Exit::Done)
}

fn path(slug: &str) -> String {
    format!("/v1/hooks/{}", path_segment(slug))
}

/// Says so if a job listens to a hook that is not there.
pub(crate) async fn note_if_missing(talk: &CommandSession, job: &Value) {
    let Some(slug) = job["trigger"]["hook"].as_str() else { return };
    if let Err(ordo_client::Error::Problem { status: 404, .. }) = talk.client.get::<Value>(&path(slug)).await {
        output::note(&format!("the hook {slug} does not exist yet: ordo hook add {slug}"));
    }
}
