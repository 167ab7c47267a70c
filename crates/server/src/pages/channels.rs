//! Channels and escalation chains: which there are, and a button to try a channel out.
//!
//! Invariant: of what stands in the configuration the page names the key that changes it.

use askama::Template;
use axum::extract::{Extension, State};
use axum::response::Response;
use ordo_api::alerting::channels::{ChannelKind, ChannelView};
use ordo_engine::escalations::{DEFAULT_ESCALATION, NamedEscalation};
use ordo_model::limits::PAGE_MAX;
use ordo_model::subscription::Subscription;

use crate::api::channels::{configured, list, try_out};
use crate::http::path::{ChannelName, Named};
use crate::http::problem::Problem;
use crate::pages::layout::answer;
use crate::pages::layout::context::{Flash, PageContext};
use crate::pages::layout::html::Html;
use crate::pages::layout::shell::{NavSection, PageShell, queries};
use crate::pages::objects::Presser;
use crate::pages::objects::channels::{path as channel_path, shown_events, words};
use crate::pages::objects::escalations::{acknowledgement, path, steps};
use crate::pages::runs::outcome::{Counted, counted};

/// The channels there can be: name, title, what it does, and the keys that set it up.
static KNOWN: [(&str, &str, &str, &str); 3] = [
    (
        "slack",
        "Slack",
        "Cards of incidents in a channel, with buttons.",
        "[slack]\nbot_token = \"xoxb-…\"\nchannel = \"#alerts\"",
    ),
    (
        "email",
        "E-mail",
        "Mails to fixed addresses, and to those that an escalation names.",
        "[smtp]\nurl = \"smtps://user:password@mail.example.org\"\nfrom = \"ordo@example.org\"\nto = [\"ops@example.org\"]",
    ),
    (
        "file",
        "File",
        "One line of JSON for each message.",
        "[senders.file]\npath = \"/var/log/ordo/notifications.jsonl\"",
    ),
];

#[derive(Template)]
#[template(path = "channels.html")]
struct ChannelsPage {
    shell: PageShell,
    may_change: bool,
    channels: Vec<ChannelCard>,
    stored: Vec<StoredCard>,
    /// What can be made: where, and what it is called.
    kinds: Vec<(String, &'static str)>,
    subscriptions: String,
    chains: Vec<ChainCard>,
}

struct ChannelCard {
    name: String,
    title: String,
    about: &'static str,
    section: String,
    is_there: bool,
    keys: &'static str,
}

/// A channel of the store.
struct StoredCard {
    name: String,
    href: String,
    kind: &'static str,
    place: String,
    events: String,
    is_overridden: bool,
}

struct ChainCard {
    name: String,
    href: String,
    steps: Html,
    acknowledgement: Option<String>,
    /// What sets it apart.
    tags: Vec<&'static str>,
}

/// `GET /channels`
pub(crate) async fn show(ctx: PageContext, Presser(caller): Presser) -> Result<Response, Problem> {
    let there = configured(&ctx.app);
    let all = list(State(ctx.app.clone()), Extension(caller)).await?.0.items;
    let known = KNOWN.iter().map(|(name, title, about, keys)| ChannelCard {
        name: (*name).to_owned(),
        title: (*title).to_owned(),
        about,
        section: there.iter().find(|one| one.name == *name).and_then(|one| one.section.clone()).unwrap_or_default(),
        is_there: there.iter().any(|one| one.name == *name),
        keys,
    });
    let others = there.iter().filter(|one| KNOWN.iter().all(|(name, ..)| *name != one.name)).map(|one| ChannelCard {
        name: one.name.clone(),
        title: one.name.clone(),
        about: "A sender of the program that Ordo runs in.",
        section: one.section.clone().unwrap_or_default(),
        is_there: true,
        keys: "",
    });
    let range = ordo_engine::object_queries::IndexRange::all(0, PAGE_MAX);
    let subscribed = queries(&ctx).objects::<Subscription>(&range).await?;
    let count = Counted { count: subscribed.items.len(), is_exact: subscribed.next.is_none() };
    let page = ChannelsPage {
        channels: known.chain(others).collect(),
        stored: all.iter().filter_map(|channel| stored(&ctx, channel)).collect(),
        kinds: ChannelKind::ALL
            .map(|kind| (ctx.link(&format!("/channels/new?kind={}", kind.name())), words(kind).0))
            .to_vec(),
        may_change: ctx.viewer.may_admin,
        subscriptions: counted(count, "subscription", "subscriptions"),
        chains: ctx.app.engine.escalation_chains().await?.iter().map(|chain| card(&ctx, chain)).collect(),
        shell: PageShell::new(&ctx, NavSection::Channels, "Channels").await?,
    };
    answer::ok(&page)
}

fn stored(ctx: &PageContext, channel: &ChannelView) -> Option<StoredCard> {
    let to = channel.to.as_ref().map(|to| to.join(", "));
    Some(StoredCard {
        name: channel.name.clone(),
        href: ctx.link(&channel_path(&channel.name)),
        kind: words(channel.kind?).0,
        place: channel.url.clone().or(channel.channel.clone()).or(to).unwrap_or_default(),
        events: shown_events(channel.events.as_deref().unwrap_or_default()),
        is_overridden: !channel.in_force,
    })
}

fn card(ctx: &PageContext, chain: &NamedEscalation) -> ChainCard {
    let mut tags = Vec::new();
    if chain.name() == DEFAULT_ESCALATION {
        tags.push("for incidents that name none");
    }
    if chain.stored().is_none() {
        tags.push("from the configuration");
    }
    if !chain.is_in_force() {
        tags.push("overridden by the configuration");
    }
    ChainCard {
        name: chain.name().to_owned(),
        href: ctx.link(&path(chain.name())),
        steps: steps(chain.escalation()),
        acknowledgement: acknowledgement(chain.escalation()),
        tags,
    }
}

/// `POST /channels/{name}/test`
pub(crate) async fn test(ctx: PageContext, Named(ChannelName(name)): Named<ChannelName>) -> Response {
    let flash = match try_out(&ctx.app, &name, &ctx.viewer.name).await {
        Ok(test) if test.delivered => {
            let note = test.note.map(|note| format!(": it answered {note}")).unwrap_or_default();
            Flash::good(format!("A test message went out through {name}{note}"))
        }
        Ok(test) => Flash::bad(format!("{name} did not take the message: {}", test.error.unwrap_or_default())),
        Err(problem) => Flash::bad(problem.detail),
    };
    // One of the configuration has its button on the page of all.
    let is_stored = ctx.app.engine.senders().get(&name).is_none();
    let back = if is_stored { channel_path(&name) } else { "/channels".to_owned() };
    ctx.go(&back, &flash)
}
