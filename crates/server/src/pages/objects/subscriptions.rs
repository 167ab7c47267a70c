//! Subscriptions: which systems are told of which events by signed webhook; tested with one click.

use axum::extract::{Extension, Form};
use axum::http::HeaderMap;
use axum::response::Response;
use ordo_engine::object_queries::IndexRange as Part;
use ordo_model::Kind;
use ordo_model::credential::covered_address;
use ordo_model::subscription::{Subscription, SubscriptionStatus};
use serde_json::{Value, json};

use super::form::{self, FormField, FormIntro, InputKind};
use super::view::{self, ObjectView, ShownOnce, act, confirmed, facts, link_button};
use super::{PER_PAGE, Presser, after, body, next, signed};
use crate::api::subscriptions as api;
use crate::auth::caller::Caller;
use crate::http::params::Params;
use crate::http::path::{Named, SubscriptionId};
use crate::http::problem::Problem;
use crate::pages::jobs::actions::{FormFields, field};
use crate::pages::layout::context::{Flash, PageContext};
use crate::pages::layout::html::Html;
use crate::pages::layout::listing::{self, ListContents, ListIntro, ListRow, link, quiet, text};
use crate::pages::layout::shell::{NavSection, queries};
use crate::pages::runs::outcome::Badge;

const LIST: (&str, &str) = ("Subscriptions", "/subscriptions");

const SUBSCRIPTIONS: ListIntro = ListIntro {
    section: NavSection::Subscriptions,
    heading: "Subscriptions",
    icon: "link",
    about: "A subscription sends the events it names to another system, as signed webhooks. Slack and e-mail are channels.",
    commands: &[("Add one", "ordo subscription add https://example.com/hook --event 'incident.*'")],
    heads: &["Address", "State", "Events", "Description", "Created"],
    create: Some(("New subscription", "/subscriptions/new")),
};

/// `GET /subscriptions`
pub(crate) async fn list(ctx: PageContext, Presser(caller): Presser, mut params: Params) -> Result<Response, Problem> {
    let from = after(&mut params);
    let part = Part { after: from.as_ref(), ..Part::all(0, PER_PAGE) };
    let found = queries(&ctx).objects::<Subscription>(&part).await?;
    let times = ctx.times();
    let row = |one: &ordo_engine::Versioned<Subscription>| ListRow {
        id: format!("subscription-{}", one.id),
        cells: vec![
            link(&ctx.link(&format!("/subscriptions/{}", one.id)), &shown_address(&caller, one)),
            state(one).html(),
            text(&patterns(one)),
            one.terms.description.as_deref().map_or_else(|| quiet("–"), text),
            times.relative(one.created_at),
        ],
    };
    let rows = found.items.iter().map(row).collect();
    let next = next(&ctx, "/subscriptions", found.next);
    listing::page(&ctx, &SUBSCRIPTIONS, ListContents { rows, next, ..ListContents::default() }).await
}

/// For those who may not use it, without what may be a key.
fn shown_address(caller: &Caller, one: &Subscription) -> String {
    match caller.sees_credentials(Kind::Subscription) {
        true => one.terms.url.clone(),
        false => covered_address(&one.terms.url),
    }
}

fn patterns(one: &Subscription) -> String {
    one.terms.events.iter().map(ToString::to_string).collect::<Vec<String>>().join(", ")
}

fn state(one: &Subscription) -> Badge {
    let (text, class, icon) = match &one.state {
        SubscriptionStatus::Enabled => ("enabled", "completed", "active"),
        SubscriptionStatus::Disabled { .. } => ("disabled", "late", "paused"),
        SubscriptionStatus::Removed => ("removed", "cancelled", "cancelled"),
    };
    Badge { text: text.to_owned(), class, icon }
}

/// `GET /subscriptions/{id}`
pub(crate) async fn show(
    ctx: PageContext,
    Presser(caller): Presser,
    Named(SubscriptionId(id)): Named<SubscriptionId>,
) -> Result<Response, Problem> {
    let one = api::find(&ctx.app, id).await?;
    let own = format!("/subscriptions/{id}");
    let (toggle, words) = match &one.state {
        SubscriptionStatus::Enabled => ("disable", "Disable"),
        SubscriptionStatus::Disabled { .. } | SubscriptionStatus::Removed => ("enable", "Enable"),
    };
    let acts = match ctx.viewer.may_admin {
        true => Html::new()
            .raw(act(&ctx.link(&format!("{own}/test")), "Send test"))
            .raw(act(&ctx.link(&format!("{own}/{toggle}")), words))
            .raw(link_button(&ctx.link(&format!("{own}/edit")), "Edit"))
            .raw(confirmed(
                &ctx.link(&format!("{own}/remove")),
                "Remove",
                "Nothing more is sent to it, and its secret is forgotten. This cannot be undone.",
            )),
        false => Html::new(),
    };
    let times = ctx.times();
    let reason = match &one.state {
        SubscriptionStatus::Disabled { reason } => reason.clone(),
        SubscriptionStatus::Enabled | SubscriptionStatus::Removed => String::new(),
    };
    let rows = [
        ("Events", text(&patterns(&one))),
        ("Jobs", one.terms.label.as_ref().map_or_else(|| quiet("all"), |label| text(&label.to_string()))),
        ("Description", one.terms.description.as_deref().map_or_else(|| quiet("–"), text)),
        ("Created", times.exact(one.created_at)),
        ("Changed", times.exact(one.updated_at)),
    ];
    let view = ObjectView {
        section: NavSection::Subscriptions,
        list: LIST,
        heading: shown_address(&caller, &one),
        badge: Some(state(&one)),
        under: quiet(&reason),
        acts,
        cards: vec![("Settings", String::new(), facts(&rows))],
    };
    view::page(&ctx, view).await
}

fn intro(heading: &str, target: String, submit: &'static str) -> FormIntro {
    let heading = heading.to_owned();
    FormIntro { section: NavSection::Subscriptions, list: LIST, heading, about: SUBSCRIPTIONS.about, target, submit }
}

fn fields(before: Option<&Subscription>) -> Vec<FormField> {
    let of = |value: fn(&Subscription) -> Option<String>| before.and_then(value).unwrap_or_default();
    let mut fields = vec![
        FormField::line("url", "Address").required().value(of(|one| Some(one.terms.url.clone()))).hint("https://…"),
        FormField::new("events", "Events", InputKind::Lines)
            .required()
            .value(before.map_or_else(|| "incident.*".to_owned(), |one| patterns(one).replace(", ", "\n")))
            .hint("One per line: incident.*, job.failed, *"),
        FormField::line("label", "Only jobs whose label matches")
            .value(of(|one| one.terms.label.as_ref().map(ToString::to_string))),
        FormField::line("description", "Description").value(of(|one| one.terms.description.clone())),
    ];
    if before.is_none() {
        fields.push(FormField::line("secret", "Signing secret").hint("whsec_…; one is made if it is left empty"));
    }
    fields
}

/// The subscription as a client would write it down; a patch takes away what was emptied.
fn written(typed: &[(String, String)], is_patch: bool) -> Value {
    let mut terms = form::object(typed, &["url", "label", "description", "secret"]);
    let lines = field(typed, "events").unwrap_or_default();
    terms["events"] = json!(lines.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<&str>>());
    if is_patch {
        for name in ["label", "description"] {
            if terms.get(name).is_none() {
                terms[name] = Value::Null;
            }
        }
    }
    terms
}

/// `GET /subscriptions/new`
pub(crate) async fn blank(ctx: PageContext) -> Result<Response, Problem> {
    form::page(&ctx, intro("New subscription", "/subscriptions/new".to_owned(), "Create subscription"), fields(None))
        .await
}

/// `POST /subscriptions/new`: shows the signing secret, once.
pub(crate) async fn create(
    ctx: PageContext,
    Presser(caller): Presser,
    Form(typed): FormFields,
) -> Result<Response, Problem> {
    match api::add(&signed(&ctx).0, &caller, &HeaderMap::new(), &body(&written(&typed, false))).await {
        Ok(made) => {
            let shown = ShownOnce {
                section: NavSection::Subscriptions,
                list: LIST,
                heading: "Created the subscription".to_owned(),
                what: "Its signing secret",
                value: made.secret.unwrap_or_default(),
                next: format!("/subscriptions/{}", made.id),
            };
            view::once(&ctx, shown).await
        }
        Err(problem) => {
            let about = intro("New subscription", "/subscriptions/new".to_owned(), "Create subscription");
            form::refused(&ctx, about, fields(None), &typed, &problem).await
        }
    }
}

/// `GET /subscriptions/{id}/edit`
pub(crate) async fn edit(
    ctx: PageContext,
    Named(SubscriptionId(id)): Named<SubscriptionId>,
) -> Result<Response, Problem> {
    let one = api::find(&ctx.app, id).await?;
    form::page(&ctx, intro("Edit subscription", format!("/subscriptions/{id}/edit"), "Save"), fields(Some(&one))).await
}

/// `POST /subscriptions/{id}/edit`
pub(crate) async fn change(
    ctx: PageContext,
    Presser(caller): Presser,
    Named(SubscriptionId(id)): Named<SubscriptionId>,
    Form(typed): FormFields,
) -> Result<Response, Problem> {
    let one = api::find(&ctx.app, id).await?;
    match patch(&ctx, caller, id, &written(&typed, true)).await {
        Ok(()) => Ok(ctx.go(&format!("/subscriptions/{id}"), &Flash::good("Saved"))),
        Err(problem) => {
            let about = intro("Edit subscription", format!("/subscriptions/{id}/edit"), "Save");
            form::refused(&ctx, about, fields(Some(&one)), &typed, &problem).await
        }
    }
}

async fn patch(ctx: &PageContext, caller: Caller, id: uuid::Uuid, terms: &Value) -> Result<(), Problem> {
    api::update(signed(ctx), Extension(caller), Named(SubscriptionId(id)), body(terms)).await.map(|_| ())
}

/// `POST /subscriptions/{id}/enable`
pub(crate) async fn enable(
    ctx: PageContext,
    Presser(caller): Presser,
    Named(SubscriptionId(id)): Named<SubscriptionId>,
) -> Response {
    back(&ctx, id, patch(&ctx, caller, id, &json!({ "enabled": true })).await.map(|()| "Enabled".to_owned()))
}

/// `POST /subscriptions/{id}/disable`
pub(crate) async fn disable(
    ctx: PageContext,
    Presser(caller): Presser,
    Named(SubscriptionId(id)): Named<SubscriptionId>,
) -> Response {
    back(&ctx, id, patch(&ctx, caller, id, &json!({ "enabled": false })).await.map(|()| "Disabled".to_owned()))
}

/// `POST /subscriptions/{id}/test`
pub(crate) async fn test(ctx: PageContext, Named(SubscriptionId(id)): Named<SubscriptionId>) -> Response {
    let done = match api::try_out(&ctx.app, id).await {
        Ok(test) if test.delivered => Ok(format!("Delivered: it answered {}", test.status.unwrap_or_default())),
        Ok(test) => {
            Err(Problem::new(ordo_api::Code::Internal, format!("Not delivered: {}", test.error.unwrap_or_default())))
        }
        Err(problem) => Err(problem),
    };
    back(&ctx, id, done)
}

/// `POST /subscriptions/{id}/remove`
pub(crate) async fn remove(ctx: PageContext, Named(SubscriptionId(id)): Named<SubscriptionId>) -> Response {
    match api::remove(signed(&ctx), Named(SubscriptionId(id))).await {
        Ok(_) => ctx.go("/subscriptions", &Flash::good("Removed the subscription")),
        Err(problem) => ctx.go(&format!("/subscriptions/{id}"), &Flash::bad(problem.detail)),
    }
}

fn back(ctx: &PageContext, id: uuid::Uuid, done: Result<String, Problem>) -> Response {
    let own = format!("/subscriptions/{id}");
    match done {
        Ok(words) => ctx.go(&own, &Flash::good(words)),
        Err(problem) => ctx.go(&own, &Flash::bad(problem.detail)),
    }
}
