//! Channels of the store: made and changed by a form of their kind; a message tries one out.

use axum::extract::{Extension, Form};
use axum::http::HeaderMap;
use axum::response::Response;
use ordo_api::alerting::channels::{ChannelKind, ChannelView};
use ordo_model::secret::{Secret, is_shared_name};
use ordo_model::subscription::EventPattern;
use serde_json::{Value, json};

use super::form::{self, FormField, FormIntro, InputKind};
use super::view::{self, ObjectView, ShownOnce, act, confirmed, facts, link_button};
use super::{Presser, body, signed};
use crate::api::channels as api;
use crate::auth::caller::Caller;
use crate::http::params::Params;
use crate::http::path::{ChannelName, Named};
use crate::http::problem::Problem;
use crate::pages::jobs::actions::{FormFields, field};
use crate::pages::layout::context::{Flash, PageContext};
use crate::pages::layout::html::Html;
use crate::pages::layout::listing::{code, quiet, text};
use crate::pages::layout::shell::NavSection;
use crate::pages::runs::outcome::Badge;

const LIST: (&str, &str) = ("Channels", "/channels");
/// How many shared secrets a form offers.
const SECRETS_OFFERED: usize = 200;

pub(crate) fn path(name: &str) -> String {
    format!("/channels/{name}")
}

/// What a kind is called, and what it is for.
pub(crate) const fn words(kind: ChannelKind) -> (&'static str, &'static str) {
    match kind {
        ChannelKind::Webhook => ("Webhook", "Signed messages to a URL, by the Standard Webhooks."),
        ChannelKind::Slack => ("Slack app", "Cards of incidents in a channel of Slack, kept up to date in place."),
        ChannelKind::SlackWebhook => {
            ("Slack webhook", "Lines in a channel of Slack, to an address that Slack gave out.")
        }
        ChannelKind::Email => ("E-mail", "Mails to fixed addresses, and to those that an escalation names."),
    }
}

/// The events that it wants, in words.
pub(crate) fn shown_events(events: &[EventPattern]) -> String {
    match events.is_empty() {
        true => "only what an escalation chain sends through it".to_owned(),
        false => events.iter().map(ToString::to_string).collect::<Vec<String>>().join(", "),
    }
}

/// `GET /channels/{name}`
pub(crate) async fn show(
    ctx: PageContext,
    Presser(caller): Presser,
    Named(ChannelName(name)): Named<ChannelName>,
) -> Result<Response, Problem> {
    let channel = read(&ctx, caller, &name).await?;
    let own = path(&channel.name);
    let mut acts = Html::new();
    if ctx.viewer.may_admin {
        acts = acts.raw(act(&ctx.link(&format!("{own}/test")), "Send test"));
        if channel.kind.is_some() {
            acts = acts.raw(link_button(&ctx.link(&format!("{own}/edit")), "Edit")).raw(confirmed(
                &ctx.link(&format!("{own}/remove")),
                "Remove",
                "Nothing more goes out through it, and notifications that wait for it are given up. They can be replayed once \
                 there is a channel of this name again.",
            ));
        }
    }
    let badge = match (channel.kind, channel.in_force) {
        (None, _) => Badge { text: "from the configuration".to_owned(), class: "pending", icon: "completed" },
        (Some(_), true) => Badge { text: "in force".to_owned(), class: "completed", icon: "completed" },
        (Some(_), false) => Badge { text: "overridden".to_owned(), class: "skipped", icon: "skipped" },
    };
    let view = ObjectView {
        section: NavSection::Channels,
        list: LIST,
        heading: channel.name.clone(),
        badge: Some(badge),
        under: quiet(channel.description.as_deref().unwrap_or_default()),
        acts,
        cards: vec![("Settings", String::new(), settings(&ctx, &channel))],
    };
    view::page(&ctx, view).await
}

async fn read(ctx: &PageContext, caller: Caller, name: &str) -> Result<ChannelView, Problem> {
    let name = Named(ChannelName(name.to_owned()));
    Ok(api::show(axum::extract::State(ctx.app.clone()), Extension(caller), name).await?.0)
}

fn settings(ctx: &PageContext, channel: &ChannelView) -> Html {
    let times = ctx.times();
    let mut rows: Vec<(&str, Html)> = Vec::new();
    rows.extend(channel.section.as_ref().map(|section| ("Set up in", code(&format!("[{section}]")))));
    rows.extend(channel.kind.map(|kind| ("Kind", text(words(kind).0))));
    let texts = [
        ("Address", &channel.url),
        ("Channel in Slack", &channel.channel),
        ("Mail server", &channel.server),
        ("From", &channel.from),
    ];
    rows.extend(texts.into_iter().filter_map(|(name, value)| Some((name, text(value.as_ref()?)))));
    rows.extend(channel.to.as_ref().map(|to| ("To", text(&to.join(", ")))));
    rows.extend(channel.events.as_ref().map(|events| ("Events", text(&shown_events(events)))));
    rows.extend(channel.label.as_ref().map(|label| ("Only jobs like", text(&label.to_string()))));
    rows.extend(channel.secret.as_ref().map(|secret| {
        let shown = match secret.secret == Secret::of_channel(&channel.name) {
            true => quiet("its own, never shown"),
            false => code(&secret.secret),
        };
        ("Secret", shown)
    }));
    rows.extend(channel.created_at.map(|at| ("Created", times.exact(at))));
    rows.extend(channel.updated_at.map(|at| ("Changed", times.exact(at))));
    facts(&rows)
}

fn intro(kind: ChannelKind, heading: String, target: String, submit: &'static str) -> FormIntro {
    FormIntro { section: NavSection::Channels, list: LIST, heading, about: words(kind).1, target, submit }
}

fn new_intro(kind: ChannelKind) -> FormIntro {
    let heading = format!("New channel: {}", words(kind).0);
    intro(kind, heading, format!("/channels/new?kind={}", kind.name()), "Create channel")
}

fn edit_intro(kind: ChannelKind, name: &str) -> FormIntro {
    intro(kind, format!("Edit {name}"), format!("{}/edit", path(name)), "Save")
}

async fn fields(ctx: &PageContext, kind: ChannelKind, before: Option<&ChannelView>) -> Result<Vec<FormField>, Problem> {
    let of = |value: fn(&ChannelView) -> Option<String>| before.and_then(value).unwrap_or_default();
    let name = match before {
        Some(channel) => FormField::new("name", "Name", InputKind::Fixed).value(&channel.name),
        None => FormField::line("name", "Name").required().hint("Steps of escalation chains name it: via ops"),
    };
    let mut fields = vec![name];
    match kind {
        ChannelKind::Webhook => fields.push(
            FormField::line("url", "Address")
                .required()
                .value(of(|one| one.url.clone()))
                .hint("https://example.com/hook"),
        ),
        ChannelKind::Slack => fields.push(
            FormField::line("channel", "Channel in Slack")
                .required()
                .value(of(|one| one.channel.clone()))
                .hint("#ops, or its id; the app must be in it"),
        ),
        ChannelKind::SlackWebhook => {}
        ChannelKind::Email => fields.extend([
            FormField::line("server", "Mail server").required().value(of(|one| one.server.clone())).hint(
                "smtps://user@mail.example.com, or smtp://user@mail.example.com?tls=required; without the password",
            ),
            FormField::line("from", "From")
                .required()
                .value(of(|one| one.from.clone()))
                .hint("Ordo <ordo@example.com>"),
            FormField::new("to", "To", InputKind::Lines)
                .required()
                .value(of(|one| one.to.as_ref().map(|to| to.join("\n"))))
                .hint("One address per line"),
        ]),
    }
    let events = match before.and_then(|channel| channel.events.as_ref()) {
        Some(events) => events.iter().map(ToString::to_string).collect::<Vec<String>>().join("\n"),
        None => "incident.*".to_owned(),
    };
    fields.extend([
        FormField::new("events", "Events", InputKind::Lines)
            .value(events)
            .hint("One per line: incident.*, job.failed, *; none: only what escalation chains send through it"),
        FormField::line("label", "Only jobs whose label matches")
            .value(of(|one| one.label.as_ref().map(ToString::to_string))),
        FormField::line("description", "Description").value(of(|one| one.description.clone())),
    ]);
    fields.extend(secret_fields(ctx, kind, before).await?);
    Ok(fields)
}

/// The value itself, which is sealed; or the name of one that is shared.
async fn secret_fields(
    ctx: &PageContext,
    kind: ChannelKind,
    before: Option<&ChannelView>,
) -> Result<[FormField; 2], Problem> {
    let label = match kind {
        ChannelKind::Webhook => "Signing key",
        ChannelKind::Slack => "Token of the app",
        ChannelKind::SlackWebhook => "Address that Slack gave out",
        ChannelKind::Email => "Password",
    };
    let hint = match (before.is_some(), kind) {
        (true, _) => "Leave it empty to keep what there is. It is sealed and never shown",
        (false, ChannelKind::Webhook) => "whsec_…; one is made if it is left empty",
        (false, ChannelKind::Slack) => "xoxb-…; it is sealed and never shown",
        (false, ChannelKind::SlackWebhook) => "https://hooks.slack.com/…; it is sealed and never shown",
        (false, ChannelKind::Email) => "Of the user in the address of the server; it is sealed and never shown",
    };
    let shared = ctx.app.engine.secrets().list(None, SECRETS_OFFERED).await?.items;
    let mut choices = vec![(String::new(), "none of them".to_owned())];
    let names = shared.iter().filter(|secret| is_shared_name(&secret.name));
    choices.extend(names.map(|secret| (secret.name.clone(), secret.name.clone())));
    let chosen = before.and_then(|channel| channel.secret.as_ref()).map(|secret| secret.secret.clone());
    Ok([
        FormField::new("secret", label, InputKind::Password).hint(hint),
        FormField::new("secret_name", "Or a shared secret", InputKind::Choice(choices))
            .value(chosen.unwrap_or_default())
            .hint("As made on the page Secrets"),
    ])
}

/// The channel as a client would write it down; a patch takes away what was emptied.
fn written(kind: ChannelKind, typed: &[(String, String)], is_patch: bool) -> Value {
    let lines = |name: &str| {
        let text = field(typed, name).unwrap_or_default();
        json!(text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<&str>>())
    };
    let mut form = form::object(typed, &["url", "channel", "server", "from", "label", "description", "secret"]);
    form["events"] = lines("events");
    if kind == ChannelKind::Email {
        form["to"] = lines("to");
    }
    if form.get("secret").is_none()
        && let Some(name) = field(typed, "secret_name")
    {
        form["secret"] = json!({ "secret": name });
    }
    if is_patch {
        for name in ["label", "description"] {
            if form.get(name).is_none() {
                form[name] = Value::Null;
            }
        }
    } else {
        form["kind"] = json!(kind);
        form["name"] = json!(field(typed, "name").unwrap_or_default());
    }
    form
}

fn kind_of(params: &mut Params) -> ChannelKind {
    let asked = params.take_text("kind");
    ChannelKind::ALL.into_iter().find(|kind| asked.as_deref() == Some(kind.name())).unwrap_or(ChannelKind::Webhook)
}

/// `GET /channels/new`, with `kind` the kind.
pub(crate) async fn blank(ctx: PageContext, mut params: Params) -> Result<Response, Problem> {
    let kind = kind_of(&mut params);
    form::page(&ctx, new_intro(kind), fields(&ctx, kind, None).await?).await
}

/// `POST /channels/new`: a signing key that was made is shown, once.
pub(crate) async fn create(
    ctx: PageContext,
    Presser(caller): Presser,
    mut params: Params,
    Form(typed): FormFields,
) -> Result<Response, Problem> {
    let kind = kind_of(&mut params);
    match api::add(&signed(&ctx).0, &caller, &HeaderMap::new(), &body(&written(kind, &typed, false))).await {
        Ok(ChannelView { name, signing_key: Some(value), .. }) => {
            let shown = ShownOnce {
                section: NavSection::Channels,
                list: LIST,
                heading: format!("Created {name}"),
                what: "Its signing key",
                value,
                next: path(&name),
            };
            view::once(&ctx, shown).await
        }
        Ok(made) => {
            Ok(ctx.go(&path(&made.name), &Flash::good(format!("Created {}: send a test through it", made.name))))
        }
        Err(problem) => form::refused(&ctx, new_intro(kind), fields(&ctx, kind, None).await?, &typed, &problem).await,
    }
}

/// `GET /channels/{name}/edit`
pub(crate) async fn edit(
    ctx: PageContext,
    Presser(caller): Presser,
    Named(ChannelName(name)): Named<ChannelName>,
) -> Result<Response, Problem> {
    let channel = stored(&ctx, caller, &name).await?;
    let kind = channel.kind.unwrap_or(ChannelKind::Webhook);
    form::page(&ctx, edit_intro(kind, &name), fields(&ctx, kind, Some(&channel)).await?).await
}

/// A channel with a form: not one of the configuration.
async fn stored(ctx: &PageContext, caller: Caller, name: &str) -> Result<ChannelView, Problem> {
    let found = api::find(&ctx.app, name).await?;
    Ok(ChannelView::stored(&found, true, caller.sees_credentials(ordo_model::Kind::Channel)))
}

/// `POST /channels/{name}/edit`
pub(crate) async fn change(
    ctx: PageContext,
    Presser(caller): Presser,
    Named(ChannelName(name)): Named<ChannelName>,
    Form(typed): FormFields,
) -> Result<Response, Problem> {
    let channel = stored(&ctx, caller.clone(), &name).await?;
    let kind = channel.kind.unwrap_or(ChannelKind::Webhook);
    let patch = body(&written(kind, &typed, true));
    match api::update(signed(&ctx), Extension(caller), Named(ChannelName(name.clone())), patch).await {
        Ok(_) => Ok(ctx.go(&path(&name), &Flash::good("Saved"))),
        Err(problem) => {
            let fields = fields(&ctx, kind, Some(&channel)).await?;
            form::refused(&ctx, edit_intro(kind, &name), fields, &typed, &problem).await
        }
    }
}

/// `POST /channels/{name}/remove`
pub(crate) async fn remove(ctx: PageContext, Named(ChannelName(name)): Named<ChannelName>) -> Response {
    match api::remove(signed(&ctx), Named(ChannelName(name.clone()))).await {
        Ok(removed) => {
            let waited = match removed.given_up {
                0 => String::new(),
                1 => "; 1 notification that waited for it was given up".to_owned(),
                count => format!("; {count} notifications that waited for it were given up"),
            };
            ctx.go("/channels", &Flash::good(format!("Removed {name}{waited}")))
        }
        Err(problem) => ctx.go(&path(&name), &Flash::bad(problem.detail)),
    }
}
