//! Channels and escalation chains: which there are, and a button to try a channel out.
//!
//! Invariant: of what stands in the configuration the page names the key that changes it.

use askama::Template;
use axum::response::Response;
use ordo_engine::escalations::{DEFAULT_ESCALATION, NamedEscalation};
use ordo_model::limits::PAGE_MAX;
use ordo_model::subscription::Subscription;

use crate::api::channels::{configured, try_out};
use crate::http::path::{ChannelName, Named};
use crate::http::problem::Problem;
use crate::pages::layout::answer;
use crate::pages::layout::context::{Flash, PageContext};
use crate::pages::layout::html::Html;
use crate::pages::layout::shell::{NavSection, PageShell, queries};
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

struct ChainCard {
    name: String,
    href: String,
    steps: Html,
    acknowledgement: Option<String>,
    /// What sets it apart.
    tags: Vec<&'static str>,
}

/// `GET /channels`
pub(crate) async fn show(ctx: PageContext) -> Result<Response, Problem> {
    let there = configured(&ctx.app);
    let known = KNOWN.iter().map(|(name, title, about, keys)| ChannelCard {
        name: (*name).to_owned(),
        title: (*title).to_owned(),
        about,
        section: there.iter().find(|one| one.name == *name).map_or_else(String::new, |one| one.section.clone()),
        is_there: there.iter().any(|one| one.name == *name),
        keys,
    });
    let others = there.iter().filter(|one| KNOWN.iter().all(|(name, ..)| *name != one.name)).map(|one| ChannelCard {
        name: one.name.clone(),
        title: one.name.clone(),
        about: "A sender of the program that Ordo runs in.",
        section: one.section.clone(),
        is_there: true,
        keys: "",
    });
    let range = ordo_engine::object_queries::IndexRange::all(0, PAGE_MAX);
    let subscribed = queries(&ctx).objects::<Subscription>(&range).await?;
    let count = Counted { count: subscribed.items.len(), is_exact: subscribed.next.is_none() };
    let page = ChannelsPage {
        channels: known.chain(others).collect(),
        may_change: ctx.viewer.may_admin,
        subscriptions: counted(count, "subscription", "subscriptions"),
        chains: ctx.app.engine.escalation_chains().await?.iter().map(|chain| card(&ctx, chain)).collect(),
        shell: PageShell::new(&ctx, NavSection::Channels, "Channels").await?,
    };
    answer::ok(&page)
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
    ctx.go("/channels", &flash)
}
