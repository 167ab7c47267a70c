//! Hooks: their addresses, what came in, what it started; made, tested, changed and removed here.

use axum::extract::{Extension, Form, Path};
use axum::http::HeaderMap;
use axum::response::Response;
use ordo_engine::object_queries::IndexRange as Part;
use ordo_engine::{CommitExtras, Versioned, deliveries_prefix};
use ordo_model::JobId;
use ordo_model::hook::{Delivery, DeliveryOutcome, Hook};
use ordo_store::Direction;
use serde_json::{Value, json};
use uuid::Uuid;

use super::form::{self, FormField, FormIntro, InputKind};
use super::view::{self, ObjectView, command, confirmed, facts, link_button};
use super::{PER_PAGE, Presser, address, after, body, next, signed};
use crate::api::hooks as api;
use crate::http::params::Params;
use crate::http::path::{Named, Slug};
use crate::http::problem::Problem;
use crate::pages::jobs::actions::{FormFields, field};
use crate::pages::layout::context::{Flash, PageContext};
use crate::pages::layout::html::Html;
use crate::pages::layout::listing::{self, ListContents, ListIntro, ListRow, button, code, link, quiet, text};
use crate::pages::layout::shell::{NavSection, queries};
use crate::pages::runs::outcome::Badge;
use crate::pages::runs::row::short_id;

const LIST: (&str, &str) = ("Hooks", "/hooks");
/// How many deliveries of each hook the list shows, and how many the page of one.
const DELIVERIES_LISTED: usize = 3;
const DELIVERIES_SHOWN: usize = 50;
const SCHEMES: [(&str, &str); 7] = [
    ("", "nobody: whoever knows the address may call"),
    ("github", "GitHub"),
    ("slack", "Slack"),
    ("stripe", "Stripe"),
    ("standard", "Standard Webhooks"),
    ("hmac", "a signature by HMAC-SHA256"),
    ("bearer", "a bearer token"),
];

const HOOKS: ListIntro = ListIntro {
    section: NavSection::Hooks,
    heading: "Hooks",
    icon: "hooks",
    about: "A hook accepts webhooks from other systems, stores them and starts jobs.",
    commands: &[
        ("Add one", "ordo hook add github"),
        ("Start a job with it", "ordo job add deploy --on-hook github -- ./deploy.sh"),
    ],
    heads: &["Hook", "Verified", "Jobs", "Last deliveries"],
    create: Some(("New hook", "/hook")),
};

/// `GET /hooks`
pub(crate) async fn list(ctx: PageContext, mut params: Params) -> Result<Response, Problem> {
    let from = after(&mut params);
    let part = Part { after: from.as_ref(), ..Part::all(0, PER_PAGE) };
    let found = queries(&ctx).objects::<Hook>(&part).await?;
    let slugs: Vec<&str> = found.items.iter().map(|hook| hook.slug.as_str()).collect();
    let listeners = queries(&ctx).listeners_of(&slugs).await?;
    let last = queries(&ctx).last_deliveries(&slugs, DELIVERIES_LISTED).await?;
    let mut rows = Vec::with_capacity(found.items.len());
    for ((hook, listeners), last) in found.items.iter().zip(listeners).zip(last) {
        rows.push(ListRow {
            id: format!("hook-{}", hook.slug),
            cells: vec![
                link(&ctx.link(&format!("/hook/{}", hook.slug)), &hook.slug),
                verified(hook).map_or_else(|| quiet("no"), text),
                text(&listeners.len().to_string()),
                deliveries(&ctx, &hook.slug, &last, "/hooks"),
            ],
        });
    }
    let next = next(&ctx, "/hooks", found.next);
    listing::page(&ctx, &HOOKS, ListContents { rows, next, ..ListContents::default() }).await
}

fn verified(hook: &Hook) -> Option<&'static str> {
    hook.terms.verify.as_ref().map(|verify| verify.scheme.name())
}

/// Each: when, what became of it, what it started, and once more.
fn deliveries(ctx: &PageContext, slug: &str, last: &[Versioned<Delivery>], back: &str) -> Html {
    if last.is_empty() {
        return quiet("none yet");
    }
    let mut html = Html::new().raw("<ul class=\"deliveries\">");
    for delivery in last {
        html = html.raw("<li>").raw(status(delivery).html()).raw(" ").raw(ctx.times().ago(delivery.received_at));
        for bound in &delivery.bound {
            html = match &bound.outcome {
                DeliveryOutcome::Running { run } | DeliveryOutcome::Ended { run, .. } => html
                    .raw(" ")
                    .raw(link(&ctx.link(&format!("/runs/{run}")), &format!("run {}", short_id(&run.to_string())))),
                DeliveryOutcome::Waiting => html,
                DeliveryOutcome::Refused { reason } => html.raw(" ").raw(quiet(reason)),
            };
        }
        if ctx.viewer.may_operate && delivery.payload.is_some() && !delivery.is_open() {
            let action = ctx.link(&format!("/deliveries/{slug}/{}/replay", delivery.id));
            html = html.raw(" ").raw(button(&action, back, "Replay", "the delivery"));
        }
        html = html.raw("</li>");
    }
    html.raw("</ul>")
}

fn status(delivery: &Delivery) -> Badge {
    let (class, icon) = match delivery.status() {
        "done" => ("completed", "completed"),
        "failed" => ("failed", "failed"),
        "running" | "received" => ("running", "running"),
        _ => ("skipped", "skipped"),
    };
    Badge { text: delivery.status().to_owned(), class, icon }
}

/// `GET /hook/{slug}`
pub(crate) async fn show(
    ctx: PageContext,
    headers: HeaderMap,
    Named(Slug(slug)): Named<Slug>,
) -> Result<Response, Problem> {
    let hook = api::find(&ctx.app, &slug).await?;
    let jobs = queries(&ctx).listeners(&slug).await?;
    let prefix = deliveries_prefix(&slug);
    let part = Part { prefix: &prefix, order: Direction::Descending, ..Part::all(0, DELIVERIES_SHOWN) };
    let last = queries(&ctx).objects::<Delivery>(&part).await?;
    let own = format!("/hook/{slug}");
    let url = format!("{}/hooks/{slug}", address(&headers, &ctx.app.base_path));
    let acts = Html::new().raw(link_button(&ctx.link(&format!("{own}/edit")), "Edit")).raw(confirmed(
        &ctx.link(&format!("{own}/remove")),
        "Remove",
        "Calls to its address are refused from then on, and its jobs are not started by it any more. This cannot be undone.",
    ));
    let badge = match verified(&hook) {
        Some(scheme) => Badge { text: format!("verified by {scheme}"), class: "completed", icon: "held" },
        None => Badge { text: "not verified".to_owned(), class: "late", icon: "pending" },
    };
    let more = if last.next.is_some() { format!("the last {DELIVERIES_SHOWN}") } else { String::new() };
    let view = ObjectView {
        section: NavSection::Hooks,
        list: LIST,
        heading: slug.clone(),
        badge: Some(badge),
        under: Html::new(),
        acts,
        cards: vec![
            ("Address", String::new(), call(&url, &hook)),
            ("Settings", String::new(), settings(&ctx, &hook)),
            ("Jobs that it starts", String::new(), listeners(&ctx, &jobs).await?),
            ("Test call", String::new(), test_form(&ctx, &own)),
            ("Deliveries", more, deliveries(&ctx, &slug, &last.items, &own)),
        ],
    };
    view::page(&ctx, view).await
}

fn call(url: &str, hook: &Hook) -> Html {
    let note = match verified(hook) {
        None => "Whoever knows this address may call it.",
        Some(_) => "A call must carry a signature made with the secret; this one does not, and is refused.",
    };
    let curl = format!("curl -X POST {url} -H 'Content-Type: application/json' -d '{{\"ref\": \"main\"}}'");
    Html::new()
        .raw("<div class=\"commands\">")
        .raw(command("The address to enter in the other system", url))
        .raw(command("By hand", &curl))
        .raw("</div><p class=\"hint\">")
        .text(note)
        .raw("</p>")
}

fn settings(ctx: &PageContext, hook: &Hook) -> Html {
    let filter = hook.terms.filter.as_ref().map(|filter| serde_json::to_string(filter).unwrap_or_default());
    let secret = hook.terms.verify.as_ref().map(|verify| verify.secret.clone());
    facts(&[
        ("Verified by", verified(hook).map_or_else(|| quiet("nobody"), text)),
        ("Secret", secret.map_or_else(|| quiet("none"), |name| code(&name))),
        ("Filter", filter.map_or_else(|| quiet("none: every call starts its jobs"), |filter| code(&filter))),
        ("Payload", text(&format!("at most {}", crate::pages::home::bytes(hook.terms.max_bytes)))),
        ("Created", ctx.times().exact(hook.created_at)),
    ])
}

async fn listeners(ctx: &PageContext, jobs: &[JobId]) -> Result<Html, Problem> {
    if jobs.is_empty() {
        return Ok(Html::new().raw(quiet("None. A job with this hook as its trigger is started by every call.")));
    }
    let found = queries(ctx).load_jobs(jobs).await?;
    let html = found.iter().flatten().fold(Html::new().raw("<ul class=\"deliveries\">"), |html, job| {
        let href = ctx.link(&format!("/jobs/{}", job.id));
        html.raw("<li>").raw(link(&href, &job.definition.label)).raw(Badge::of_state(job.state()).html()).raw("</li>")
    });
    Ok(html.raw("</ul>"))
}

fn test_form(ctx: &PageContext, own: &str) -> Html {
    if !ctx.viewer.may_operate {
        return quiet("Only operators may send one.");
    }
    Html::new()
        .raw("<form method=\"post\" action=\"")
        .text(&ctx.link(&format!("{own}/test")))
        .raw("\" class=\"stack\"><div class=\"field\"><label for=\"payload\">Payload</label><textarea id=\"payload\" name=\"payload\" rows=\"3\" class=\"mono\" spellcheck=\"false\">{\"test\": true}</textarea><p class=\"hint\">It is treated like a call that was verified: it is stored, and starts the jobs.</p></div><div class=\"acts\"><button class=\"button\">Send test call</button></div></form>")
}

/// `POST /hook/{slug}/test`
pub(crate) async fn test(ctx: PageContext, Named(Slug(slug)): Named<Slug>, Form(fields): FormFields) -> Response {
    let own = format!("/hook/{slug}");
    let payload = field(&fields, "payload").unwrap_or_default().to_owned();
    match api::test::call(&ctx.app, &slug, payload.into()).await {
        Ok(_) => ctx.go(&own, &Flash::good("Sent: it is the first of the deliveries below")),
        Err(problem) => ctx.go(&own, &Flash::bad(problem.detail)),
    }
}

fn intro(heading: String, target: String, submit: &'static str) -> FormIntro {
    FormIntro { section: NavSection::Hooks, list: LIST, heading, about: HOOKS.about, target, submit }
}

fn fields(hook: Option<&Hook>) -> Vec<FormField> {
    let schemes = SCHEMES.map(|(name, words)| (name.to_owned(), words.to_owned())).to_vec();
    let slug = match hook {
        Some(hook) => FormField::new("slug", "Name", InputKind::Fixed).value(&hook.slug),
        None => FormField::line("slug", "Name").required().hint("Part of its address: letters, digits and dashes"),
    };
    let scheme = hook.and_then(verified).unwrap_or_default();
    let secret = match hook {
        Some(_) => "Leave it empty to keep the one it has",
        None => "The secret that the other system signs with",
    };
    let max = hook.map_or_else(String::new, |hook| hook.terms.max_bytes.to_string());
    vec![
        slug,
        FormField::new("verify", "Callers are verified by", InputKind::Choice(schemes)).value(scheme),
        FormField::new("verify.secret", "Secret", InputKind::Password).hint(secret),
        FormField::line("max_bytes", "Largest payload, in bytes").value(max),
    ]
}

/// `GET /hook`
pub(crate) async fn blank(ctx: PageContext) -> Result<Response, Problem> {
    form::page(&ctx, intro("New hook".to_owned(), "/hook".to_owned(), "Create hook"), fields(None)).await
}

/// `POST /hook`
pub(crate) async fn create(
    ctx: PageContext,
    Presser(caller): Presser,
    Form(typed): FormFields,
) -> Result<Response, Problem> {
    let slug = field(&typed, "slug").unwrap_or_default().to_owned();
    let made = match written(&typed, None) {
        Ok(hook) => api::create(signed(&ctx), Extension(caller), HeaderMap::new(), body(&hook)).await,
        Err(problem) => Err(problem),
    };
    match made {
        Ok(_) => Ok(ctx.go(&format!("/hook/{slug}"), &Flash::good(format!("Created {slug}")))),
        Err(problem) => {
            let about = intro("New hook".to_owned(), "/hook".to_owned(), "Create hook");
            form::refused(&ctx, about, fields(None), &typed, &problem).await
        }
    }
}

/// The hook as a client would write it down.
fn written(typed: &[(String, String)], before: Option<&Hook>) -> Result<Value, Problem> {
    let mut hook = form::object(typed, if before.is_none() { &["slug"] } else { &[] });
    if let Some(max) = field(typed, "max_bytes") {
        let wrong = |_| Problem::field(ordo_api::Code::InvalidHook, "max_bytes", "must be a whole number");
        hook["max_bytes"] = json!(max.parse::<u64>().map_err(wrong)?);
    }
    let kept = before.filter(|hook| verified(hook) == field(typed, "verify"));
    match (field(typed, "verify"), field(typed, "verify.secret"), kept) {
        (None, _, None) => {}
        (None, _, Some(_)) => {}
        (Some(_), None, Some(_)) => {}
        (Some(scheme), secret, _) => {
            hook["verify"] = json!({ "type": scheme, "secret": secret.unwrap_or_default() });
        }
    }
    if before.is_some_and(|hook| hook.terms.verify.is_some()) && field(typed, "verify").is_none() {
        hook["verify"] = Value::Null;
    }
    Ok(hook)
}

/// `GET /hook/{slug}/edit`
pub(crate) async fn edit(ctx: PageContext, Named(Slug(slug)): Named<Slug>) -> Result<Response, Problem> {
    let hook = api::find(&ctx.app, &slug).await?;
    form::page(&ctx, intro(format!("Edit {slug}"), format!("/hook/{slug}/edit"), "Save"), fields(Some(&hook))).await
}

/// `POST /hook/{slug}/edit`
pub(crate) async fn change(
    ctx: PageContext,
    Presser(caller): Presser,
    Named(Slug(slug)): Named<Slug>,
    Form(typed): FormFields,
) -> Result<Response, Problem> {
    let hook = api::find(&ctx.app, &slug).await?;
    let done = match written(&typed, Some(&hook)) {
        Ok(patch) => api::update(signed(&ctx), Extension(caller), Named(Slug(slug.clone())), body(&patch)).await,
        Err(problem) => Err(problem),
    };
    match done {
        Ok(_) => Ok(ctx.go(&format!("/hook/{slug}"), &Flash::good("Saved"))),
        Err(problem) => {
            let about = intro(format!("Edit {slug}"), format!("/hook/{slug}/edit"), "Save");
            form::refused(&ctx, about, fields(Some(&hook)), &typed, &problem).await
        }
    }
}

/// `POST /hook/{slug}/remove`
pub(crate) async fn remove(ctx: PageContext, Named(Slug(slug)): Named<Slug>) -> Response {
    match api::remove(signed(&ctx), Named(Slug(slug.clone()))).await {
        Ok(_) => ctx.go("/hooks", &Flash::good(format!("Removed {slug}"))),
        Err(problem) => ctx.go(&format!("/hook/{slug}"), &Flash::bad(problem.detail)),
    }
}

/// `POST /deliveries/{slug}/{id}/replay`
pub(crate) async fn replay(
    ctx: PageContext,
    Path((slug, id)): Path<(String, Uuid)>,
    Form(fields): FormFields,
) -> Response {
    let to = field(&fields, "back").unwrap_or("/hooks");
    match ctx.app.engine.replay(&slug, id, CommitExtras::default()).await {
        Ok(_) => ctx.go(to, &Flash::good("Replayed")),
        Err(error) => ctx.go(to, &Flash::bad(error.to_string())),
    }
}
