//! Lists of what surrounds jobs: monitors, hooks with what came in, notifications nobody took, tokens, nodes.

use axum::extract::{Form, Path};
use axum::response::Response;
use ordo_engine::Along;
use ordo_engine::object::deliveries_prefix;
use ordo_engine::object_queries::Section as Part;
use ordo_model::hook::{Delivery, Fate, Hook};
use ordo_model::monitor::MonitorStatus;
use ordo_model::notification::{Notification, NotificationCommand, NotificationState};
use ordo_store::Order;
use uuid::Uuid;

use super::desk::{Desk, Flash};
use super::html::Html;
use super::incident::notification_state;
use super::job_actions::field;
use super::listing::{self, About, Row, Shown, button, code, link, quiet, text};
use super::outcome::Badge;
use super::run_row::short_id;
use super::shell::{Section, queries};
use crate::hex;
use crate::params::Params;
use crate::path::{Named, NotificationId};
use crate::problem::Problem;

const PER_PAGE: usize = 50;
const DELIVERIES_SHOWN: usize = 3;

type Fields = Form<Vec<(String, String)>>;

/// Where a page of a list begins.
fn after(params: &mut Params) -> Option<Vec<u8>> {
    params.take_text("after").as_deref().and_then(hex::decode)
}

fn next(desk: &Desk, path: &str, key: Option<Vec<u8>>) -> Option<String> {
    key.map(|key| desk.link(&format!("{path}?after={}", hex::encode(&key))))
}

const MONITORS: About = About {
    section: Section::Monitors,
    heading: "Monitors",
    icon: "monitors",
    about: "A monitor watches something that runs elsewhere and says so when it falls silent.",
    commands: &[
        ("Add one", "ordo monitor add backup --every 1d --grace 1h"),
        ("Watch a command", "ordo watch --monitor backup -- ./backup.sh"),
    ],
    heads: &["Monitor", "Status", "Expected", "Due", "Last ping", "Ping it at"],
};

pub(crate) async fn monitors(desk: Desk, mut params: Params) -> Result<Response, Problem> {
    let found = queries(&desk).monitors(after(&mut params).as_deref(), PER_PAGE).await?;
    let times = desk.times();
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
        rows.push(Row {
            id: format!("monitor-{}", monitor.id),
            cells: vec![
                Html::new().raw("<span class=\"strong\">").text(&settings.name).raw("</span>"),
                badge.html(),
                text(&expected),
                monitor.due_at.map_or_else(|| quiet("–"), |at| times.relative(at)),
                monitor.pings.last().map_or_else(|| quiet("never"), |ping| times.relative(ping.at)),
                if desk.viewer.may_operate {
                    code(&desk.link(&format!("/ping/{}", monitor.token)))
                } else {
                    quiet("–")
                },
            ],
        });
    }
    let next = next(&desk, "/monitors", found.next);
    listing::page(&desk, &MONITORS, Shown { rows, next, ..Shown::default() }).await
}

const HOOKS: About = About {
    section: Section::Hooks,
    heading: "Hooks",
    icon: "hooks",
    about: "A hook takes calls from other systems, keeps them and starts jobs.",
    commands: &[
        ("Add one", "ordo hook add github --verify github"),
        ("Let a job run on it", "ordo job add deploy --on-hook github -- ./deploy.sh"),
    ],
    heads: &["Hook", "Verified", "Jobs", "Last deliveries"],
};

pub(crate) async fn hooks(desk: Desk, mut params: Params) -> Result<Response, Problem> {
    let from = after(&mut params);
    let part = Part { after: from.as_deref(), ..Part::all(0, PER_PAGE) };
    let found = queries(&desk).objects::<Hook>(&part).await?;
    let mut rows = Vec::with_capacity(found.items.len());
    for hook in &found.items {
        let listeners = queries(&desk).listeners(&hook.slug).await?.len();
        let verified = hook.terms.verify.as_ref().map(|verify| verify.scheme.name());
        rows.push(Row {
            id: format!("hook-{}", hook.slug),
            cells: vec![
                code(&desk.link(&format!("/hooks/{}", hook.slug))),
                verified.map_or_else(|| quiet("no"), text),
                text(&listeners.to_string()),
                deliveries(&desk, &hook.slug).await?,
            ],
        });
    }
    let next = next(&desk, "/hooks", found.next);
    listing::page(&desk, &HOOKS, Shown { rows, next, ..Shown::default() }).await
}

/// The last of them: when, what they started, and once more.
async fn deliveries(desk: &Desk, slug: &str) -> Result<Html, Problem> {
    let prefix = deliveries_prefix(slug);
    let part = Part { prefix: &prefix, order: Order::Descending, ..Part::all(0, DELIVERIES_SHOWN) };
    let found = queries(desk).objects::<Delivery>(&part).await?.items;
    if found.is_empty() {
        return Ok(quiet("none yet"));
    }
    let mut html = Html::new().raw("<ul class=\"deliveries\">");
    for delivery in &found {
        html = html.raw("<li>").raw(desk.times().relative(delivery.received_at)).raw(" ").text(delivery.status());
        for bound in &delivery.bound {
            html = match &bound.fate {
                Fate::Running { run } | Fate::Ended { run, .. } => html
                    .raw(" · ")
                    .raw(link(&desk.link(&format!("/runs/{run}")), &format!("run {}", short_id(&run.to_string())))),
                Fate::Waiting | Fate::Refused { .. } => html,
            };
        }
        if desk.viewer.may_operate && delivery.payload.is_some() && !delivery.is_open() {
            let action = desk.link(&format!("/deliveries/{slug}/{}/replay", delivery.id));
            html = html.raw(" ").raw(button(&action, "/hooks", "Replay", "the delivery"));
        }
        html = html.raw("</li>");
    }
    Ok(html.raw("</ul>"))
}

/// `POST /deliveries/{slug}/{id}/replay`
pub(crate) async fn replay_delivery(desk: Desk, Path((slug, id)): Path<(String, Uuid)>) -> Response {
    if let Err(problem) = desk.operator() {
        return desk.go("/hooks", &Flash::bad(problem.detail));
    }
    match desk.app.engine.replay(&slug, id, Along::default()).await {
        Ok(_) => desk.go("/hooks", &Flash::good("Replayed")),
        Err(error) => desk.go("/hooks", &Flash::bad(error.to_string())),
    }
}

const NOTIFICATIONS: About = About {
    section: Section::Notifications,
    heading: "Notifications",
    icon: "dead",
    about: "What could not be delivered after all its retries waits here for people.",
    commands: &[("See what failed lately", "ordo run list --status failed")],
    heads: &["Sender", "About", "Event", "State", "Written", "Last error", ""],
};

pub(crate) async fn notifications(desk: Desk, mut params: Params) -> Result<Response, Problem> {
    let dead_lettered = NotificationState::code_of("dead_lettered").unwrap_or_default();
    let found = queries(&desk).notifications(dead_lettered, after(&mut params).as_deref(), PER_PAGE).await?;
    let times = desk.times();
    let row = |notification: &ordo_engine::Kept<Notification>| Row {
        id: format!("notification-{}", notification.id),
        cells: vec![
            text(&notification.sender),
            notification.message.label().map_or_else(|| quiet("–"), text),
            text(&notification.message.event),
            notification_state(&notification.state).html(),
            times.relative(notification.written_at),
            quiet(notification.last_error.as_deref().unwrap_or("–")),
            match desk.viewer.may_operate {
                true => {
                    let action = desk.link(&format!("/notifications/{}/replay", notification.id));
                    button(&action, "/notifications", "Replay", &format!("the notification to {}", notification.sender))
                }
                false => Html::new(),
            },
        ],
    };
    let rows = found.items.iter().map(row).collect();
    let next = next(&desk, "/notifications", found.next);
    listing::page(&desk, &NOTIFICATIONS, Shown { rows, next, ..Shown::default() }).await
}

/// `POST /notifications/{id}/replay`
pub(crate) async fn replay_notification(
    desk: Desk,
    Named(NotificationId(id)): Named<NotificationId>,
    Form(fields): Fields,
) -> Response {
    let to = field(&fields, "back").unwrap_or("/notifications");
    if let Err(problem) = desk.operator() {
        return desk.go(to, &Flash::bad(problem.detail));
    }
    match desk.app.engine.ask::<Notification>(id, NotificationCommand::Replay).await {
        Ok(_) => desk.go(to, &Flash::good("It is tried again")),
        Err(error) => desk.go(to, &Flash::bad(error.to_string())),
    }
}

const TOKENS: About = About {
    section: Section::Tokens,
    heading: "Tokens",
    icon: "tokens",
    about: "A token lets a person or a program in, with the role it needs and no more.",
    commands: &[("Make one for somebody who only looks", "ordo token add ada --role viewer")],
    heads: &["Name", "Role", "State", "Begins with", "Made", "Last used", "Ends"],
};

pub(crate) async fn tokens(desk: Desk, mut params: Params) -> Result<Response, Problem> {
    let found = desk.app.engine.tokens().list(after(&mut params).as_deref(), PER_PAGE).await?;
    let times = desk.times();
    let row = |token: &ordo_engine::Kept<ordo_model::api_token::ApiToken>| {
        let (state, class, icon) = match (token.revoked_at, token.is_alive(desk.now)) {
            (Some(_), _) => ("revoked", "cancelled", "cancelled"),
            (None, true) => ("active", "completed", "active"),
            (None, false) => ("expired", "skipped", "skipped"),
        };
        Row {
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
    let next = next(&desk, "/tokens", found.next);
    listing::page(&desk, &TOKENS, Shown { rows, next, ..Shown::default() }).await
}
