//! Monitors: what is expected of things that run elsewhere, and how they have been doing.

use axum::extract::{Extension, Form, Path};
use axum::http::HeaderMap;
use axum::response::Response;
use ordo_model::incident::Severity;
use ordo_model::monitor::{Monitor, MonitorSettings, MonitorStatus, Ping, Signal};
use serde_json::Value;

use super::escalations::chain_names;
use super::form::{self, FormField, FormIntro, InputKind};
use super::view::{self, ObjectView, command, confirmed, facts, link_button};
use super::{PER_PAGE, Presser, address, after, body, next, signed};
use crate::api::monitors as api;
use crate::http::params::Params;
use crate::http::problem::Problem;
use crate::pages::jobs::actions::{FormFields, field};
use crate::pages::layout::context::{Flash, PageContext};
use crate::pages::layout::html::Html;
use crate::pages::layout::listing::{self, ListContents, ListIntro, ListRow, link, quiet, text};
use crate::pages::layout::moment::{Times, length};
use crate::pages::layout::shell::{NavSection, queries};
use crate::pages::runs::outcome::Badge;

const LIST: (&str, &str) = ("Monitors", "/monitors");
/// How wide a beat of the strip is, and how many there are.
const STEP: usize = 8;
const BEATS: usize = ordo_model::monitor::PINGS_KEPT;

const MONITORS: ListIntro = ListIntro {
    section: NavSection::Monitors,
    heading: "Monitors",
    icon: "monitors",
    about: "A monitor expects regular pings from something that runs elsewhere, and opens an incident when they stop.",
    commands: &[
        ("Add one", "ordo monitor add backup --every 1d --grace 1h"),
        ("Watch a command", "ordo watch --monitor backup -- echo 'backed up'"),
    ],
    heads: &["Monitor", "Status", "Last pings", "Expected", "Due", "Last ping"],
    create: Some(("New monitor", "/monitors/new")),
};

/// `GET /monitors`
pub(crate) async fn list(ctx: PageContext, mut params: Params) -> Result<Response, Problem> {
    let found = queries(&ctx).monitors(after(&mut params).as_ref(), PER_PAGE).await?;
    let times = ctx.times();
    let row = |monitor: &ordo_engine::Versioned<Monitor>| ListRow {
        id: format!("monitor-{}", monitor.id),
        cells: vec![
            link(&ctx.link(&format!("/monitors/{}", monitor.settings.name)), &monitor.settings.name),
            status(monitor.status).html(),
            strip(&monitor.pings),
            text(&expected(&monitor.settings)),
            due(monitor, &times),
            monitor.pings.last().map_or_else(|| quiet("never"), |ping| times.ago(ping.at)),
        ],
    };
    let rows = found.items.iter().map(row).collect();
    let next = next(&ctx, "/monitors", found.next);
    listing::page(&ctx, &MONITORS, ListContents { rows, next, ..ListContents::default() }).await
}

fn expected(settings: &MonitorSettings) -> String {
    match (&settings.every, &settings.cron) {
        (Some(every), _) => format!("every {every}, grace {}", settings.grace),
        (None, Some(cron)) => {
            let zone = settings.timezone.as_deref().unwrap_or("UTC");
            format!("{cron} ({zone}), grace {}", settings.grace)
        }
        (None, None) => String::new(),
    }
}

pub(crate) fn status(status: MonitorStatus) -> Badge {
    let (class, icon) = match status {
        MonitorStatus::New => ("pending", "pending"),
        MonitorStatus::Up => ("completed", "completed"),
        MonitorStatus::Silent { .. } | MonitorStatus::Failing { .. } => ("failed", "failed"),
    };
    Badge { text: status.name().to_owned(), class, icon }
}

/// The last pings as a row of beats, oldest left; the height says the same as the colour.
fn strip(pings: &[Ping]) -> Html {
    let count = |signal: Signal| pings.iter().filter(|ping| ping.signal == signal).count();
    let words = match pings.len() {
        0 => "no pings yet".to_owned(),
        all => format!("last {all} pings: {} well, {} failed", count(Signal::Success), count(Signal::Fail)),
    };
    let width = BEATS * STEP - 2;
    let mut html = Html::new()
        .raw(format_args!("<svg class=\"beats\" viewBox=\"0 0 {width} 20\" role=\"img\" aria-label=\""))
        .text(&words)
        .raw("\">");
    let gap = BEATS.saturating_sub(pings.len());
    for place in 0..gap {
        html = html.raw(format_args!("<rect class=\"none\" x=\"{}\" y=\"9\" width=\"5\" height=\"2\"/>", place * STEP));
    }
    for (place, ping) in pings.iter().rev().take(BEATS).rev().enumerate() {
        let (class, y, height) = match ping.signal {
            Signal::Success => ("completed", 4, 12),
            Signal::Start => ("running", 7, 6),
            Signal::Fail => ("failed", 0, 20),
            Signal::Log => ("none", 8, 4),
        };
        let x = (gap + place) * STEP;
        html = html.raw(format_args!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"5\" height=\"{height}\" rx=\"2\"/>"
        ));
    }
    html.raw("</svg>")
}

/// `GET /monitors/{name}`
pub(crate) async fn show(
    ctx: PageContext,
    headers: HeaderMap,
    Presser(caller): Presser,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let monitor = api::find(&ctx.app, &name).await?;
    let times = ctx.times();
    let own = format!("/monitors/{}", monitor.settings.name);
    let acts = Html::new().raw(link_button(&ctx.link(&format!("{own}/edit")), "Edit")).raw(confirmed(
        &ctx.link(&format!("{own}/remove")),
        "Remove",
        "Pings to its address are refused from then on, and nobody is notified when they stop. This cannot be undone.",
    ));
    let sees = caller.sees_credentials(ordo_model::Kind::Monitor);
    let url = sees.then(|| format!("{}/ping/{}", address(&headers, &ctx.app.base_path), monitor.token));
    let settings = &monitor.settings;
    let mut known = vec![
        ("Expected", text(&expected(settings))),
        ("Due", due(&monitor, &times)),
        ("Severity", text(settings.severity.name())),
        ("Escalation", settings.escalation.as_deref().map_or_else(|| quiet("the default one"), text)),
        ("Created", times.exact(monitor.created_at)),
    ];
    if let Some(words) = &settings.description {
        known.insert(0, ("Description", text(words)));
    }
    let view = ObjectView {
        section: NavSection::Monitors,
        list: LIST,
        heading: settings.name.clone(),
        badge: Some(status(monitor.status)),
        under: strip(&monitor.pings),
        acts,
        cards: vec![
            ("Settings", String::new(), facts(&known)),
            ("Ping it", String::new(), how_to_ping(url.as_deref(), &settings.name)),
            ("Badge", String::new(), badge(&ctx, &monitor, &address(&headers, &ctx.app.base_path))),
            ("History", format!("the last {BEATS} pings are kept"), history(&ctx, &monitor.pings)),
        ],
    };
    view::page(&ctx, view).await
}

fn due(monitor: &Monitor, times: &Times) -> Html {
    match (monitor.due_at, monitor.status) {
        (Some(at), _) => times.relative(at),
        (None, MonitorStatus::New | MonitorStatus::Up) => quiet("after the next ping"),
        (None, MonitorStatus::Silent { since }) => Html::new().raw("silent since ").raw(times.exact(since)),
        (None, MonitorStatus::Failing { since }) => Html::new().raw("failing since ").raw(times.exact(since)),
    }
}

fn how_to_ping(url: Option<&str>, name: &str) -> Html {
    let watch = command("Around a command", &format!("ordo watch --monitor {name} -- ./backup.sh"));
    let Some(url) = url else { return Html::new().raw("<div class=\"commands\">").raw(watch).raw("</div>") };
    Html::new()
        .raw("<div class=\"commands\">")
        .raw(command("When it succeeds", &format!("curl -fsS -m 10 --retry 5 {url}")))
        .raw(command("When it starts, to measure its duration", &format!("curl -fsS -m 10 {url}/start")))
        .raw(command("When it fails", &format!("curl -fsS -m 10 {url}/fail")))
        .raw(watch)
        .raw("</div>")
}

/// Its state as a picture for a README or a wall; whoever has the address sees it without a token.
fn badge(ctx: &PageContext, monitor: &Monitor, server: &str) -> Html {
    let name = &monitor.settings.name;
    let path = format!("/badge/{name}/{}.svg", monitor.badge_key());
    let url = format!("{server}{path}");
    Html::new()
        .raw("<p><img src=\"")
        .text(&ctx.link(&path))
        .raw("\" alt=\"")
        .text(&format!("The badge of {name}"))
        .raw("\" height=\"20\"></p><div class=\"commands\">")
        .raw(command("Address", &url))
        .raw(command("Markdown", &format!("![{name}]({url})")))
        .raw("</div>")
}

fn history(ctx: &PageContext, pings: &[Ping]) -> Html {
    if pings.is_empty() {
        return Html::new().raw(quiet("No pings yet."));
    }
    let times = ctx.times();
    let html = pings.iter().rev().fold(Html::new().raw("<ul class=\"deliveries\">"), |html, ping| {
        let badge = match ping.signal {
            Signal::Success => Badge { text: "success".into(), class: "completed", icon: "completed" },
            Signal::Start => Badge { text: "start".into(), class: "running", icon: "play" },
            Signal::Fail => Badge { text: "failure".into(), class: "failed", icon: "failed" },
            Signal::Log => Badge { text: "log".into(), class: "pending", icon: "pending" },
        };
        let took =
            ping.took_ms.map_or_else(String::new, |ms| format!("took {}", length(i64::try_from(ms).unwrap_or(0))));
        html.raw("<li>")
            .raw(badge.html())
            .raw(" ")
            .raw(times.ago(ping.at))
            .raw(" ")
            .raw(times.exact(ping.at))
            .raw(" ")
            .raw(quiet(&took))
            .raw("</li>")
    });
    html.raw("</ul>")
}

fn intro(heading: String, target: String, submit: &'static str) -> FormIntro {
    FormIntro { section: NavSection::Monitors, list: LIST, heading, about: MONITORS.about, target, submit }
}

async fn fields(ctx: &PageContext, before: Option<&MonitorSettings>) -> Result<Vec<FormField>, Problem> {
    let name = match before {
        Some(settings) => FormField::new("name", "Name", InputKind::Fixed).value(&settings.name),
        None => FormField::line("name", "Name").required().hint("Letters, digits, dots, dashes and underscores"),
    };
    let of = |value: fn(&MonitorSettings) -> Option<String>| before.and_then(value).unwrap_or_default();
    let severities = Severity::ALL.map(|one| (one.name().to_owned(), one.name().to_owned())).to_vec();
    let mut chains = vec![(String::new(), "the default one".to_owned())];
    chains.extend(chain_names(ctx).await?.into_iter().map(|name| (name.clone(), name)));
    let severity = before.map_or(Severity::default(), |settings| settings.severity);
    let grace = before.map_or(MonitorSettings::GRACE_DEFAULT, |settings| settings.grace);
    Ok(vec![
        name,
        FormField::new("description", "Description", InputKind::Lines).value(of(|one| one.description.clone())),
        FormField::line("every", "A ping at least every")
            .value(of(|one| one.every.map(|every| every.to_string())))
            .hint("10m, 1h, 1d; or a cron expression below"),
        FormField::line("cron", "Cron expression").value(of(|one| one.cron.clone())),
        FormField::line("timezone", "Time zone of the cron expression").value(of(|one| one.timezone.clone())),
        FormField::line("grace", "Grace").value(grace.to_string()).hint("How much later a ping may come"),
        FormField::new("severity", "Severity of its incidents", InputKind::Choice(severities)).value(severity.name()),
        FormField::new("escalation", "Escalation", InputKind::Choice(chains)).value(of(|one| one.escalation.clone())),
    ])
}

const NAMES: [&str; 8] = ["name", "description", "every", "cron", "timezone", "grace", "severity", "escalation"];

/// `GET /monitors/new`
pub(crate) async fn blank(ctx: PageContext) -> Result<Response, Problem> {
    let about = intro("New monitor".to_owned(), "/monitors/new".to_owned(), "Create monitor");
    form::page(&ctx, about, fields(&ctx, None).await?).await
}

/// `POST /monitors/new`
pub(crate) async fn create(
    ctx: PageContext,
    Presser(caller): Presser,
    Form(typed): FormFields,
) -> Result<Response, Problem> {
    let name = field(&typed, "name").unwrap_or_default().to_owned();
    let done = match queries(&ctx).object::<Monitor>(Monitor::id(&name)).await?.filter(|monitor| !monitor.removed) {
        Some(_) => {
            Err(Problem::field(ordo_api::Code::InvalidMonitor, "name", "there is a monitor of this name already"))
        }
        None => save(&ctx, caller, &form::object(&typed, &NAMES)).await,
    };
    match done {
        Ok(()) => Ok(ctx.go(&format!("/monitors/{name}"), &Flash::good(format!("Created {name}")))),
        Err(problem) => {
            let about = intro("New monitor".to_owned(), "/monitors/new".to_owned(), "Create monitor");
            form::refused(&ctx, about, fields(&ctx, None).await?, &typed, &problem).await
        }
    }
}

async fn save(ctx: &PageContext, caller: crate::auth::caller::Caller, settings: &Value) -> Result<(), Problem> {
    api::create(signed(ctx), Extension(caller), body(settings)).await.map(|_| ())
}

/// `GET /monitors/{name}/edit`
pub(crate) async fn edit(ctx: PageContext, Path(name): Path<String>) -> Result<Response, Problem> {
    let monitor = api::find(&ctx.app, &name).await?;
    let about = intro(format!("Edit {name}"), format!("/monitors/{name}/edit"), "Save");
    form::page(&ctx, about, fields(&ctx, Some(&monitor.settings)).await?).await
}

/// `POST /monitors/{name}/edit`
pub(crate) async fn change(
    ctx: PageContext,
    Presser(caller): Presser,
    Path(name): Path<String>,
    Form(typed): FormFields,
) -> Result<Response, Problem> {
    let monitor = api::find(&ctx.app, &name).await?;
    let mut settings = form::object(&typed, &NAMES);
    settings["name"] = Value::from(name.clone());
    match save(&ctx, caller, &settings).await {
        Ok(()) => Ok(ctx.go(&format!("/monitors/{name}"), &Flash::good("Saved"))),
        Err(problem) => {
            let about = intro(format!("Edit {name}"), format!("/monitors/{name}/edit"), "Save");
            form::refused(&ctx, about, fields(&ctx, Some(&monitor.settings)).await?, &typed, &problem).await
        }
    }
}

/// `POST /monitors/{name}/remove`
pub(crate) async fn remove(ctx: PageContext, Presser(caller): Presser, Path(name): Path<String>) -> Response {
    match api::remove(signed(&ctx), Extension(caller), Path(name.clone())).await {
        Ok(_) => ctx.go("/monitors", &Flash::good(format!("Removed {name}"))),
        Err(problem) => ctx.go(&format!("/monitors/{name}"), &Flash::bad(problem.detail)),
    }
}
