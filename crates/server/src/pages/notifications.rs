//! Notifications by state; those that were given up are sent once more, one by one or all of them.

use axum::extract::Form;
use axum::response::Response;
use ordo_engine::Versioned;
use ordo_model::notification::{Notification, NotificationCommand, NotificationState};

use crate::http::params::Params;
use crate::http::path::{Named, NotificationId};
use crate::http::problem::Problem;
use crate::pages::incidents::incident::notification_state;
use crate::pages::jobs::actions::{FormFields, field};
use crate::pages::layout::context::{Flash, PageContext};
use crate::pages::layout::html::Html;
use crate::pages::layout::listing::{self, ListContents, ListIntro, ListRow, button, quiet, text};
use crate::pages::layout::shell::{NavSection, queries};
use crate::pages::objects::{PER_PAGE, after};
use crate::pages::runs::outcome::{Counted, counted};

/// How many notifications one press of the button replays.
const REPLAYED_MAX: usize = 1_000;
const DEAD: &str = "dead_lettered";

const TWIN: &str = "The same on the command line";

/// What is said of a state that no notification is in.
fn intro(state: &str) -> ListIntro {
    let (about, commands): (&'static str, &'static [(&'static str, &'static str)]) = match state {
        "waiting" => (
            "Notifications that wait to be sent, or for their next try, are listed here.",
            &[(TWIN, "ordo notification list --state waiting")],
        ),
        "delivered" => (
            "Notifications that were delivered are listed here.",
            &[(TWIN, "ordo notification list --state delivered")],
        ),
        "silenced" => (
            "Notifications that a silence held back are listed here.",
            &[(TWIN, "ordo notification list --state silenced")],
        ),
        _ => (
            "Notifications that could not be delivered after all retries are listed here.",
            &[(TWIN, "ordo notification list --state dead_lettered")],
        ),
    };
    ListIntro {
        section: NavSection::Notifications,
        heading: "Notifications",
        icon: "dead",
        about,
        commands,
        heads: &["Sender", "About", "Event", "State", "Written", "Last error", ""],
        create: None,
    }
}

/// `GET /notifications`
pub(crate) async fn show(ctx: PageContext, mut params: Params) -> Result<Response, Problem> {
    let wanted = params.take_text("state").filter(|name| NotificationState::code_of(name).is_some());
    let wanted = wanted.unwrap_or_else(|| DEAD.to_owned());
    let code = NotificationState::code_of(&wanted).unwrap_or_default();
    let found = queries(&ctx).notifications(code, after(&mut params).as_ref(), PER_PAGE).await?;
    let address = |state: &str| ctx.link(&format!("/notifications?state={state}"));
    let states =
        [("Not delivered", DEAD), ("Waiting", "waiting"), ("Delivered", "delivered"), ("Silenced", "silenced")];
    let is_dead = wanted == DEAD;
    let shown = ListContents {
        chips: states.map(|(label, state)| (label, address(state), state == wanted)).to_vec(),
        extra: if is_dead && ctx.viewer.may_operate && !found.items.is_empty() {
            replay_all_form(&ctx).await?
        } else {
            Html::new()
        },
        rows: found.items.iter().map(|one| row(&ctx, one)).collect(),
        next: found.next.map(|cursor| format!("{}&after={cursor}", address(&wanted))),
    };
    listing::page(&ctx, &intro(&wanted), shown).await
}

fn row(ctx: &PageContext, notification: &Versioned<Notification>) -> ListRow {
    let is_dead =
        matches!(notification.state, NotificationState::DeadLettered { .. } | NotificationState::Silenced { .. });
    let replay = match ctx.viewer.may_operate && is_dead {
        true => {
            let action = ctx.link(&format!("/notifications/{}/replay", notification.id));
            // Back to the list that it was in.
            let back = format!("/notifications?state={}", notification.state.name());
            button(&action, &back, "Replay", &format!("the notification to {}", notification.sender))
        }
        false => Html::new(),
    };
    ListRow {
        id: format!("notification-{}", notification.id),
        cells: vec![
            text(&notification.sender),
            notification.message.label().map_or_else(|| quiet("–"), text),
            text(notification.message.event()),
            notification_state(&notification.state).html(),
            ctx.times().relative(notification.written_at),
            quiet(notification.last_error.as_deref().unwrap_or("–")),
            replay,
        ],
    }
}

async fn replay_all_form(ctx: &PageContext) -> Result<Html, Problem> {
    let code = NotificationState::code_of(DEAD).unwrap_or_default();
    let all = Counted::up_to(REPLAYED_MAX, queries(ctx).count_notifications(code, REPLAYED_MAX + 1).await?);
    let words = counted(all, "notification", "notifications");
    Ok(Html::new()
        .raw("<div class=\"acts\"><details class=\"pop start-side\"><summary class=\"button\">Replay all…</summary><form method=\"post\" action=\"")
        .text(&ctx.link("/notifications/replay"))
        .raw("\" class=\"sheet stack\"><p>")
        .text(&format!("{words} were given up. Each is tried again from the beginning; at most {REPLAYED_MAX} at once."))
        .raw("</p><button class=\"button primary\">Replay all</button></form></details></div>"))
}

/// `POST /notifications/replay`
pub(crate) async fn replay_all(ctx: PageContext) -> Result<Response, Problem> {
    let code = NotificationState::code_of(DEAD).unwrap_or_default();
    let mut done = 0;
    // Each that is replayed leaves the list: its beginning is read until it is empty, or the bound is reached.
    while done < REPLAYED_MAX {
        let found = queries(&ctx).notifications(code, None, PER_PAGE.min(REPLAYED_MAX - done)).await?;
        if found.items.is_empty() {
            break;
        }
        let before = done;
        for one in &found.items {
            if ctx.app.engine.command::<Notification>(one.id, NotificationCommand::Replay).await.is_ok() {
                done += 1;
            }
        }
        if done == before {
            return Ok(ctx.go("/notifications", &Flash::bad("None of them could be replayed")));
        }
    }
    let words = counted(Counted::exactly(done), "notification", "notifications");
    Ok(ctx.go("/notifications", &Flash::good(format!("Replayed {words}"))))
}

/// `POST /notifications/{id}/replay`
pub(crate) async fn replay(
    ctx: PageContext,
    Named(NotificationId(id)): Named<NotificationId>,
    Form(fields): FormFields,
) -> Response {
    let to = field(&fields, "back").unwrap_or("/notifications");
    if let Err(problem) = ctx.operator() {
        return ctx.go(to, &Flash::bad(problem.detail));
    }
    match ctx.app.engine.command::<Notification>(id, NotificationCommand::Replay).await {
        Ok(_) => ctx.go(to, &Flash::good("It is being sent again")),
        Err(error) => ctx.go(to, &Flash::bad(error.to_string())),
    }
}
