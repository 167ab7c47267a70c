//! Lists of what surrounds jobs: monitors, hooks with what came in, notifications nobody took, tokens, nodes.

use axum::extract::{Form, Path};
use axum::response::Response;
use ordo_engine::object_queries::IndexRange as Part;
use ordo_engine::{CommitExtras, Versioned};
use ordo_model::hook::{Delivery, DeliveryOutcome, Hook};
use ordo_model::monitor::MonitorStatus;
use ordo_model::notification::{Notification, NotificationCommand, NotificationState};
use uuid::Uuid;

use crate::http::params::{Cursor, Params};
use crate::http::path::{Named, NotificationId};
use crate::http::problem::Problem;
use crate::pages::incidents::incident::notification_state;
use crate::pages::jobs::actions::{FormFields, field};
use crate::pages::layout::context::{Flash, PageContext};
use crate::pages::layout::html::Html;
use crate::pages::layout::listing::{self, ListContents, ListIntro, ListRow, button, code, link, quiet, text};
use crate::pages::layout::shell::{NavSection, queries};
use crate::pages::runs::outcome::Badge;
use crate::pages::runs::row::short_id;

const PER_PAGE: usize = 50;
const DELIVERIES_SHOWN: usize = 3;

/// Where a page of a list begins.
fn after(params: &mut Params) -> Option<Cursor> {
    params.take_text("after").and_then(|text| text.parse().ok())
}

fn next(ctx: &PageContext, path: &str, cursor: Option<Cursor>) -> Option<String> {
    cursor.map(|cursor| ctx.link(&format!("{path}?after={cursor}")))
}

const MONITORS: ListIntro = ListIntro {
    section: NavSection::Monitors,
    heading: "Monitors",
    icon: "monitors",
    about: "A monitor expects regular pings from something that runs elsewhere, and opens an incident when they stop.",
    commands: &[
        ("Add one", "ordo monitor add backup --every 1d --grace 1h"),
        ("Watch a command", "ordo watch --monitor backup -- echo 'backed up'"),
    ],
    heads: &["Monitor", "Status", "Expected", "Due", "Last ping", "Ping it at"],
};

pub(crate) async fn monitors(ctx: PageContext, mut params: Params) -> Result<Response, Problem> {
    let found = queries(&ctx).monitors(after(&mut params).as_ref(), PER_PAGE).await?;
    let times = ctx.times();
    let mut rows = Vec::with_capacity(found.items.len());
    for monitor in &found.items {
        let settings = &monitor.settings;
        let expected = match (&settings.every, &settings.cron) {
            (Some(every), _) => format!("every {every}, grace {}", settings.grace),
            (None, Some(cron)) => format!("{cron}, grace {}", settings.grace),
            (None, None) => String::new(),
        };
        let (class, icon) = match monitor.status {
            MonitorStatus::New => ("pending", "pending"),
            MonitorStatus::Up => ("completed", "completed"),
            MonitorStatus::Silent { .. } | MonitorStatus::Failing { .. } => ("failed", "failed"),
        };
        let badge = Badge { text: monitor.status.name().to_owned(), class, icon };
        rows.push(ListRow {
            id: format!("monitor-{}", monitor.id),
            cells: vec![
                Html::new().raw("<span class=\"strong\">").text(&settings.name).raw("</span>"),
                badge.html(),
                text(&expected),
                monitor.due_at.map_or_else(|| quiet("–"), |at| times.relative(at)),
                monitor.pings.last().map_or_else(|| quiet("never"), |ping| times.relative(ping.at)),
                if ctx.viewer.may_operate {
                    code(&ctx.link(&format!("/ping/{}", monitor.token)))
                } else {
                    quiet("–")
                },
            ],
        });
    }
    let next = next(&ctx, "/monitors", found.next);
    listing::page(&ctx, &MONITORS, ListContents { rows, next, ..ListContents::default() }).await
}

const HOOKS: ListIntro = ListIntro {
    section: NavSection::Hooks,
    heading: "Hooks",
    icon: "hooks",
    about: "A hook accepts webhooks from other systems, stores them and starts jobs.",
    commands: &[
        ("Add one", "ordo hook add github --verify github"),
        ("Start a job with it", "ordo job add deploy --on-hook github -- ./deploy.sh"),
    ],
    heads: &["Hook", "Verified", "Jobs", "Last deliveries"],
};

pub(crate) async fn hooks(ctx: PageContext, mut params: Params) -> Result<Response, Problem> {
    let from = after(&mut params);
    let part = Part { after: from.as_ref(), ..Part::all(0, PER_PAGE) };
    let found = queries(&ctx).objects::<Hook>(&part).await?;
    let slugs: Vec<&str> = found.items.iter().map(|hook| hook.slug.as_str()).collect();
    let listeners = queries(&ctx).listeners_of(&slugs).await?;
    let last = queries(&ctx).last_deliveries(&slugs, DELIVERIES_SHOWN).await?;
    let mut rows = Vec::with_capacity(found.items.len());
    for ((hook, listeners), last) in found.items.iter().zip(listeners).zip(last) {
        let verified = hook.terms.verify.as_ref().map(|verify| verify.scheme.name());
        rows.push(ListRow {
            id: format!("hook-{}", hook.slug),
            cells: vec![
                code(&ctx.link(&format!("/hooks/{}", hook.slug))),
                verified.map_or_else(|| quiet("no"), text),
                text(&listeners.len().to_string()),
                deliveries(&ctx, &hook.slug, &last),
            ],
        });
    }
    let next = next(&ctx, "/hooks", found.next);
    listing::page(&ctx, &HOOKS, ListContents { rows, next, ..ListContents::default() }).await
}

/// The last of them: when, what they started, and once more.
fn deliveries(ctx: &PageContext, slug: &str, last: &[Versioned<Delivery>]) -> Html {
    if last.is_empty() {
        return quiet("none yet");
    }
    let mut html = Html::new().raw("<ul class=\"deliveries\">");
    for delivery in last {
        html = html.raw("<li>").raw(ctx.times().relative(delivery.received_at)).raw(" ").text(delivery.status());
        for bound in &delivery.bound {
            html = match &bound.outcome {
                DeliveryOutcome::Running { run } | DeliveryOutcome::Ended { run, .. } => html
                    .raw(" · ")
                    .raw(link(&ctx.link(&format!("/runs/{run}")), &format!("run {}", short_id(&run.to_string())))),
                DeliveryOutcome::Waiting | DeliveryOutcome::Refused { .. } => html,
            };
        }
        if ctx.viewer.may_operate && delivery.payload.is_some() && !delivery.is_open() {
            let action = ctx.link(&format!("/deliveries/{slug}/{}/replay", delivery.id));
            html = html.raw(" ").raw(button(&action, "/hooks", "Replay", "the delivery"));
        }
        html = html.raw("</li>");
    }
    html.raw("</ul>")
}

/// `POST /deliveries/{slug}/{id}/replay`
pub(crate) async fn replay_delivery(ctx: PageContext, Path((slug, id)): Path<(String, Uuid)>) -> Response {
    if let Err(problem) = ctx.operator() {
        return ctx.go("/hooks", &Flash::bad(problem.detail));
    }
    match ctx.app.engine.replay(&slug, id, CommitExtras::default()).await {
        Ok(_) => ctx.go("/hooks", &Flash::good("Replayed")),
        Err(error) => ctx.go("/hooks", &Flash::bad(error.to_string())),
    }
}

const NOTIFICATIONS: ListIntro = ListIntro {
    section: NavSection::Notifications,
    heading: "Notifications",
    icon: "dead",
    about: "Notifications that could not be delivered, however often it was tried, are listed here.",
    commands: &[("The same on the command line", "ordo notification list --state dead_lettered")],
    heads: &["Sender", "About", "Event", "State", "Written", "Last error", ""],
};

pub(crate) async fn notifications(ctx: PageContext, mut params: Params) -> Result<Response, Problem> {
    let dead_lettered = NotificationState::code_of("dead_lettered").unwrap_or_default();
    let found = queries(&ctx).notifications(dead_lettered, after(&mut params).as_ref(), PER_PAGE).await?;
    let times = ctx.times();
    let row = |notification: &ordo_engine::Versioned<Notification>| ListRow {
        id: format!("notification-{}", notification.id),
        cells: vec![
            text(&notification.sender),
            notification.message.label().map_or_else(|| quiet("–"), text),
            text(notification.message.event()),
            notification_state(&notification.state).html(),
            times.relative(notification.written_at),
            quiet(notification.last_error.as_deref().unwrap_or("–")),
            match ctx.viewer.may_operate {
                true => {
                    let action = ctx.link(&format!("/notifications/{}/replay", notification.id));
                    button(&action, "/notifications", "Replay", &format!("the notification to {}", notification.sender))
                }
                false => Html::new(),
            },
        ],
    };
    let rows = found.items.iter().map(row).collect();
    let next = next(&ctx, "/notifications", found.next);
    listing::page(&ctx, &NOTIFICATIONS, ListContents { rows, next, ..ListContents::default() }).await
}

/// `POST /notifications/{id}/replay`
pub(crate) async fn replay_notification(
    ctx: PageContext,
    Named(NotificationId(id)): Named<NotificationId>,
    Form(fields): FormFields,
) -> Response {
    let to = field(&fields, "back").unwrap_or("/notifications");
    if let Err(problem) = ctx.operator() {
        return ctx.go(to, &Flash::bad(problem.detail));
    }
    match ctx.app.engine.command::<Notification>(id, NotificationCommand::Replay).await {
        Ok(_) => ctx.go(to, &Flash::good("It is tried again")),
        Err(error) => ctx.go(to, &Flash::bad(error.to_string())),
    }
}

const TOKENS: ListIntro = ListIntro {
    section: NavSection::Tokens,
    heading: "Tokens",
    icon: "tokens",
    about: "A token gives a person or a program access, with the role it needs and no more.",
    commands: &[("Create one for somebody who only reads", "ordo token add ada --role viewer")],
    heads: &["Name", "Role", "State", "Begins with", "Made", "Last used", "Ends"],
};

pub(crate) async fn tokens(ctx: PageContext, mut params: Params) -> Result<Response, Problem> {
    let found = ctx.app.engine.tokens().list(after(&mut params).as_ref(), PER_PAGE).await?;
    let times = ctx.times();
    let row = |token: &ordo_engine::Versioned<ordo_model::api_token::ApiToken>| {
        let (state, class, icon) = match (token.revoked_at, token.is_alive(ctx.now)) {
            (Some(_), _) => ("revoked", "cancelled", "cancelled"),
            (None, true) => ("active", "completed", "active"),
            (None, false) => ("expired", "skipped", "skipped"),
        };
        ListRow {
            id: format!("token-{}", token.id),
            cells: vec![
                Html::new().raw("<span class=\"strong\">").text(&token.name).raw("</span>"),
                text(&token.role.to_string()),
                Badge { text: state.to_owned(), class, icon }.html(),
                code(&token.prefix),
                times.relative(token.created_at),
                token.last_used_at.map_or_else(|| quiet("never"), |at| times.relative(at)),
                token.expires_at.map_or_else(|| quiet("never"), |at| times.relative(at)),
            ],
        }
    };
    let rows = found.items.iter().map(row).collect();
    let next = next(&ctx, "/tokens", found.next);
    listing::page(&ctx, &TOKENS, ListContents { rows, next, ..ListContents::default() }).await
}
