//! One incident: how bad and how far it is, who takes care of it, its story, what it affects, and what is left to do.

use askama::Template;
use axum::response::Response;
use ordo_engine::Versioned;
use ordo_model::incident::{Incident, IncidentRole, IncidentSource, IncidentStatus, Link, Severity};
use ordo_model::job::{Run, RunStatus};
use ordo_model::notification::NotificationState;
use ordo_model::{EntityId, JobId, Kind, Millis, Timestamp};

use crate::api::incidents::find;
use crate::http::path::{IncidentId, Named};
use crate::http::problem::Problem;
use crate::pages::charts::around::{self, Around};
use crate::pages::docs::plain_markdown;
use crate::pages::incidents::story::{StoryStep, story};
use crate::pages::incidents::{severity, status};
use crate::pages::layout::answer;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::html::Html;
use crate::pages::layout::moment::length;
use crate::pages::layout::shell::{NavSection, PageShell, queries};
use crate::pages::runs::outcome::{Badge, Counted, counted};
use crate::pages::runs::row::short_id;

const NOTIFICATIONS_SHOWN: usize = 400;
const SIMILAR_SHOWN: usize = 5;
/// How many runs the chart shows before and since the start.
const RUNS_BEFORE: usize = 100;
const RUNS_SINCE: usize = 200;
/// The chart reaches at least and at most that far beyond the incident.
const MARGIN_MIN: Millis = Millis::from_secs(15 * 60);
const MARGIN_MAX: Millis = Millis::from_secs(12 * 3_600);

#[derive(Template)]
#[template(path = "incident.html")]
struct IncidentPage {
    shell: PageShell,
    id: String,
    title: String,
    description: String,
    /// `sev1`, and whether it is still going on: how loud the page is.
    sev: &'static str,
    is_ended: bool,
    severities: Vec<(&'static str, bool)>,
    status: Badge,
    moves: Vec<(&'static str, &'static str)>,
    assignee: String,
    roles: Vec<(&'static str, &'static str, String)>,
    acknowledged: Option<(String, Html)>,
    can_acknowledge: bool,
    snoozed: Option<(String, Html)>,
    /// The job or monitor that it comes from.
    origin: Option<String>,
    started: Html,
    ended: Option<Html>,
    duration: Html,
    response: String,
    failures: Option<String>,
    impact: String,
    actions: Vec<ActionRow>,
    open_actions: usize,
    links: Vec<(String, String)>,
    steps: Vec<StoryStep>,
    chart: Option<IncidentChart>,
    similar: Vec<SimilarRow>,
    analysis: Option<Html>,
    export: String,
}

struct ActionRow {
    number: u32,
    text: String,
    owner: Option<String>,
    done: Option<Html>,
}

struct IncidentChart {
    label: String,
    job: String,
    around: Around,
}

struct SimilarRow {
    href: String,
    title: String,
    severity: Badge,
    status: Badge,
    started: Html,
    lasted: Option<String>,
}

pub(crate) async fn show(ctx: PageContext, Named(IncidentId(id)): Named<IncidentId>) -> Result<Response, Problem> {
    let kept = find(&ctx.app, id).await?;
    let times = ctx.times();
    let timeline = queries(&ctx).timeline(id).await?;
    let entity = EntityId { kind: Kind::Incident, id };
    let notifications = queries(&ctx).notifications_about(entity, None, NOTIFICATIONS_SHOWN).await?.items;
    let similar = queries(&ctx).similar(&kept, SIMILAR_SHOWN).await?;
    let written = queries(&ctx).postmortem(&kept).await?;
    let acknowledged_at = timeline
        .iter()
        .find(|happened| matches!(happened.event, ordo_model::incident::IncidentEvent::Acknowledged { .. }))
        .map(|happened| happened.at);
    let runs = runs_around(&ctx, &kept).await?;
    let is_ended = kept.status.is_ended();
    let page = IncidentPage {
        shell: PageShell::new(&ctx, NavSection::Incidents, kept.title.clone()).await?,
        id: id.to_string(),
        title: kept.title.clone(),
        description: kept.description.clone(),
        sev: kept.severity.name(),
        is_ended,
        severities: Severity::ALL.map(|one| (one.name(), one == kept.severity)).to_vec(),
        status: status(kept.status),
        moves: kept.status.moves().iter().map(|to| (to.name(), verb(*to))).collect(),
        assignee: kept.assignee.clone().unwrap_or_default(),
        roles: IncidentRole::ALL.map(|role| (role.name(), title_of(role), held(&kept, role))).to_vec(),
        acknowledged: kept.acknowledged.as_ref().map(|ack| (ack.by.to_string(), times.relative(ack.at))),
        can_acknowledge: kept.acknowledged.is_none() && !is_ended,
        snoozed: kept.snoozed.as_ref().map(|snooze| (snooze.by.to_string(), times.relative(snooze.until))),
        origin: origin(&kept),
        started: times.relative(kept.created_at),
        ended: kept.ended_at.map(|at| times.relative(at)),
        duration: match kept.ended_at {
            Some(at) => Html::new().text(&length(at.ms() - kept.created_at.ms())),
            None => times.elapsed(kept.created_at),
        },
        response: acknowledged_at.map_or_else(|| "–".to_owned(), |at| length(at.ms() - kept.created_at.ms())),
        failures: runs.as_ref().map(|(_, _, runs)| failures(&kept, runs)),
        impact: kept.impact.clone(),
        actions: kept
            .actions
            .iter()
            .map(|item| ActionRow {
                number: item.number,
                text: item.text.clone(),
                owner: item.owner.clone(),
                done: item.done_at.map(|at| times.relative(at)),
            })
            .collect(),
        open_actions: kept.actions.iter().filter(|item| item.done_at.is_none()).count(),
        links: kept.links.iter().map(|link| place(&ctx, link)).collect(),
        steps: story(&ctx, kept.created_at, &timeline, &notifications),
        chart: runs.map(|(job, label, runs)| IncidentChart {
            label,
            job: ctx.link(&format!("/jobs/{job}")),
            around: around::draw(&runs, (kept.created_at, kept.ended_at.unwrap_or(ctx.now)), &times, |run| {
                ctx.link(&format!("/runs/{}", run.id))
            }),
        }),
        similar: similar.iter().map(|other| similar_row(&ctx, other)).collect(),
        analysis: (!written.trim().is_empty()).then(|| plain_markdown(&written)),
        export: ctx.link(&format!("/v1/incidents/{id}/export")),
    };
    answer::ok(&page)
}

/// The runs of the first linked job around the time of the incident, with what the job is called.
async fn runs_around(
    ctx: &PageContext,
    incident: &Versioned<Incident>,
) -> Result<Option<(JobId, String, Vec<Run>)>, Problem> {
    let linked = incident.links.iter().find_map(|link| match link {
        Link::Job { id } => Some(*id),
        Link::Run { .. } => None,
    });
    let Some(id) = linked else { return Ok(None) };
    let (from, to) = (incident.created_at, incident.ended_at.unwrap_or(ctx.now));
    let margin = to.since(from).max(MARGIN_MIN).min(MARGIN_MAX);
    let before = queries(ctx).runs_between(id, from.minus(margin), from, RUNS_BEFORE, true).await?;
    let since = queries(ctx).runs_between(id, from, to.plus(margin), RUNS_SINCE, false).await?;
    let runs: Vec<Run> = before.into_iter().rev().chain(since).collect();
    let label = runs.last().map(|run| run.label.clone());
    Ok(label.map(|label| (id, label, runs)))
}

/// How many runs failed while it lasted, the one that opened it among them; counted as far as runs were read.
fn failures(incident: &Incident, runs: &[Run]) -> String {
    let begin = incident.created_at.minus(Millis::from_secs(1));
    let is_inside = |run: &&Run| {
        run.finished_at.is_none_or(|end| end >= begin) && incident.ended_at.is_none_or(|at| run.fired_at <= at)
    };
    let failed = runs.iter().filter(is_inside).filter(|run| matches!(run.status, RunStatus::Failed { .. })).count();
    let is_exact = runs.iter().filter(|run| run.fired_at >= incident.created_at).count() < RUNS_SINCE;
    counted(Counted { count: failed, is_exact }, "failed run", "failed runs")
}

fn held(incident: &Incident, role: IncidentRole) -> String {
    incident.roles.get(&role).cloned().unwrap_or_default()
}

const fn title_of(role: IncidentRole) -> &'static str {
    match role {
        IncidentRole::Lead => "Lead",
        IncidentRole::Communications => "Communications",
    }
}

/// The name that silences go by, if a job or a monitor started it.
fn origin(incident: &Incident) -> Option<String> {
    match incident.started_by.source {
        IncidentSource::Job | IncidentSource::Monitor => Some(incident.started_by.actor.clone()),
        IncidentSource::Api
        | IncidentSource::Cli
        | IncidentSource::Page
        | IncidentSource::Slack
        | IncidentSource::Escalation => None,
    }
}

const fn verb(to: IncidentStatus) -> &'static str {
    match to {
        IncidentStatus::Open => "Reopen",
        IncidentStatus::Mitigating => "Mitigating",
        IncidentStatus::Resolved => "Resolve",
        IncidentStatus::Declined => "Decline",
    }
}

fn place(ctx: &PageContext, link: &Link) -> (String, String) {
    match link {
        Link::Job { id } => (ctx.link(&format!("/jobs/{id}")), "the job".to_owned()),
        Link::Run { id } => (ctx.link(&format!("/runs/{id}")), format!("run {}", short_id(&id.to_string()))),
    }
}

fn similar_row(ctx: &PageContext, other: &Versioned<Incident>) -> SimilarRow {
    let lasted = |ended: Timestamp| length(ended.ms() - other.created_at.ms());
    SimilarRow {
        href: ctx.link(&format!("/incidents/{}", other.id)),
        title: other.title.clone(),
        severity: severity(other.severity),
        status: status(other.status),
        started: ctx.times().relative(other.created_at),
        lasted: other.ended_at.map(lasted),
    }
}

pub(crate) fn notification_state(state: &NotificationState) -> Badge {
    let (class, icon) = match state {
        NotificationState::Waiting { .. } => ("pending", "pending"),
        NotificationState::Delivered { .. } => ("completed", "completed"),
        NotificationState::DeadLettered { .. } => ("failed", "failed"),
        NotificationState::Forgotten | NotificationState::Silenced { .. } => ("skipped", "skipped"),
    };
    Badge { text: state.name().replace('_', " "), class, icon }
}
