//! The list of incidents, and a form to start one.

pub(crate) mod change;
pub(crate) mod incident;
pub(crate) mod postmortem;
pub(crate) mod silences;
mod story;

use axum::extract::Form;
use axum::response::Response;
use ordo_engine::CommitExtras;
use ordo_engine::incidents::IncidentFilter;
use ordo_model::incident::{By, IncidentStatus, Severity, StartIncident};

use crate::http::params::{Cursor, Params};
use crate::http::problem::Problem;
use crate::pages::jobs::actions::field;
use crate::pages::layout::context::{Flash, PageContext};
use crate::pages::layout::html::Html;
use crate::pages::layout::listing::{self, ListContents, ListIntro, ListRow, link, quiet, text};
use crate::pages::layout::shell::{NavSection, queries};
use crate::pages::runs::outcome::Badge;

const PER_PAGE: usize = 50;
/// The chip for all that people should be working on, whatever their status.
const UNRESOLVED: &str = "unresolved";

const ABOUT: ListIntro = ListIntro {
    section: NavSection::Incidents,
    heading: "Incidents",
    icon: "incidents",
    about: "An incident is something people work on until it is resolved. A job that fails can open one by itself.",
    commands: &[
        ("Start one by hand", "ordo incident start \"Payments are slow\" --severity sev2"),
        (
            "Have a job open one after two failures",
            "ordo job add nightly-report --cron '0 2 * * *' --on-failure-incident sev2 --on-failure-after 2 -- ./report.sh",
        ),
    ],
    heads: &["Incident", "Severity", "Status", "Assignee", "Started", "Changed"],
    create: None,
};

pub(crate) async fn show(ctx: PageContext, mut params: Params) -> Result<Response, Problem> {
    let wanted = params.take_text("status").unwrap_or_default();
    let after = params.take_text("after").and_then(|text| text.parse::<Cursor>().ok());
    let filter = IncidentFilter { status: IncidentStatus::named(&wanted), ..IncidentFilter::default() };
    let found = match wanted.as_str() {
        UNRESOLVED => queries(&ctx).unresolved(after.as_ref(), PER_PAGE).await?,
        _ => queries(&ctx).incidents(&filter, after.as_ref(), PER_PAGE).await?,
    };
    let times = ctx.times();
    let address = |status: &str| ctx.link(&format!("/incidents?status={status}"));
    let row = |incident: &ordo_engine::Versioned<ordo_model::incident::Incident>| ListRow {
        id: format!("incident-{}", incident.id),
        cells: vec![
            link(&ctx.link(&format!("/incidents/{}", incident.id)), &incident.title),
            severity(incident.severity).html(),
            status(incident.status).html(),
            incident.assignee.as_deref().map_or_else(|| quiet("nobody"), text),
            times.relative(incident.created_at),
            times.relative(incident.updated_at),
        ],
    };
    let all = [("all", ""), (UNRESOLVED, UNRESOLVED)]
        .into_iter()
        .chain(IncidentStatus::ALL.map(|status| (status.name(), status.name())));
    let shown = ListContents {
        chips: all.map(|(label, name)| (label, address(name), name == wanted)).collect(),
        extra: if ctx.viewer.may_operate { form(&ctx) } else { Html::new() },
        rows: found.items.iter().map(row).collect(),
        next: found.next.map(|cursor| format!("{}&after={cursor}", address(&wanted))),
    };
    listing::page(&ctx, &ABOUT, shown).await
}

fn form(ctx: &PageContext) -> Html {
    let mut html = Html::new()
        .raw("<details class=\"fold start\" id=\"start\" data-keep><summary>Start an incident</summary><form method=\"post\" action=\"")
        .text(&ctx.link("/incidents"))
        .raw("\" class=\"card stack narrow\" data-refill><div class=\"field\"><label for=\"title\">Title</label>")
        .raw("<input id=\"title\" name=\"title\" maxlength=\"200\" required></div>")
        .raw("<div class=\"field\"><label for=\"severity\">Severity</label><select id=\"severity\" name=\"severity\">");
    for severity in Severity::ALL {
        let chosen = if severity == Severity::default() { " selected" } else { "" };
        html = html.raw(format_args!("<option{chosen}>{severity}</option>"));
    }
    html.raw("</select></div><div class=\"field\"><label for=\"description\">Description</label>")
        .raw("<textarea id=\"description\" name=\"description\" rows=\"3\"></textarea></div>")
        .raw("<div class=\"acts\"><button class=\"button primary\">Start</button></div></form></details>")
}

pub(crate) fn severity(severity: Severity) -> Badge {
    let class = match severity {
        Severity::Sev1 | Severity::Sev2 => "failed",
        Severity::Sev3 => "late",
        Severity::Sev4 | Severity::Sev5 => "skipped",
    };
    Badge { text: severity.name().to_owned(), class, icon: "incidents" }
}

pub(crate) fn status(status: IncidentStatus) -> Badge {
    let (class, icon) = match status {
        IncidentStatus::Open => ("failed", "failed"),
        IncidentStatus::Mitigating => ("late", "pending"),
        IncidentStatus::Resolved => ("completed", "completed"),
        IncidentStatus::Declined => ("skipped", "cancelled"),
    };
    Badge { text: status.name().to_owned(), class, icon }
}

pub(crate) fn by(ctx: &PageContext) -> By {
    ctx.app.by()
}

/// `POST /incidents`
pub(crate) async fn start(ctx: PageContext, Form(fields): Form<Vec<(String, String)>>) -> Result<Response, Problem> {
    ctx.operator()?;
    let start = StartIncident {
        title: field(&fields, "title").unwrap_or_default().to_owned(),
        description: field(&fields, "description").unwrap_or_default().to_owned(),
        severity: field(&fields, "severity").and_then(|text| text.parse().ok()).unwrap_or_default(),
        identifier: None,
        generation: 0,
        links: Vec::new(),
        escalation: ctx.app.engine.escalation(None).await?,
        by: by(&ctx),
    };
    match ctx.app.engine.start_incident(start, |_| CommitExtras::default()).await {
        Ok(committed) => Ok(ctx.go(&format!("/incidents/{}", committed.state.id), &Flash::good("Started"))),
        Err(error) => Ok(ctx.go("/incidents", &Flash::bad(error.to_string()))),
    }
}
