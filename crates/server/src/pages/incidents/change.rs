//! What the buttons and forms of an incident do. Each leads back with a word about it.

use axum::extract::{Form, Path};
use axum::response::Response;
use ordo_model::incident::{Incident, IncidentCommand, IncidentRole, IncidentStatus};
use uuid::Uuid;

use crate::http::path::{IncidentId, Name, Named};
use crate::http::problem::Problem;
use crate::pages::incidents::by;
use crate::pages::jobs::actions::{FormFields, field};
use crate::pages::layout::context::{Flash, PageContext};

/// A text as it was typed; empty when there is none.
fn typed(fields: &[(String, String)], name: &str) -> String {
    field(fields, name).unwrap_or_default().to_owned()
}

pub(crate) async fn acknowledge(ctx: PageContext, Named(IncidentId(id)): Named<IncidentId>) -> Response {
    let command = IncidentCommand::Acknowledge { by: by(&ctx) };
    change(&ctx, id, command, "Acknowledged").await
}

pub(crate) async fn set_status(
    ctx: PageContext,
    Named(IncidentId(id)): Named<IncidentId>,
    Form(fields): FormFields,
) -> Response {
    let Some(status) = field(&fields, "status").and_then(IncidentStatus::named) else {
        return ctx.go(&format!("/incidents/{id}"), &Flash::bad("There is no such status"));
    };
    let message = field(&fields, "message").map(str::to_owned);
    change(&ctx, id, IncidentCommand::UpdateStatus { status, message, by: by(&ctx) }, "Saved").await
}

pub(crate) async fn set_severity(
    ctx: PageContext,
    Named(IncidentId(id)): Named<IncidentId>,
    Form(fields): FormFields,
) -> Response {
    let Some(severity) = field(&fields, "severity").and_then(|text| text.parse().ok()) else {
        return ctx.go(&format!("/incidents/{id}"), &Flash::bad("There is no such severity"));
    };
    change(&ctx, id, IncidentCommand::SetSeverity { severity, by: by(&ctx) }, "Saved").await
}

pub(crate) async fn set_assignee(
    ctx: PageContext,
    Named(IncidentId(id)): Named<IncidentId>,
    Form(fields): FormFields,
) -> Response {
    let assignee = field(&fields, "assignee").map(str::to_owned);
    change(&ctx, id, IncidentCommand::SetAssignee { assignee, by: by(&ctx) }, "Saved").await
}

pub(crate) async fn set_role(
    ctx: PageContext,
    Named(IncidentId(id)): Named<IncidentId>,
    Form(fields): FormFields,
) -> Response {
    let Some(role) = field(&fields, "role").and_then(IncidentRole::named) else {
        return ctx.go(&format!("/incidents/{id}"), &Flash::bad("There is no such role"));
    };
    let person = field(&fields, "person").map(str::to_owned);
    change(&ctx, id, IncidentCommand::SetRole { role, person, by: by(&ctx) }, "Saved").await
}

pub(crate) async fn describe_impact(
    ctx: PageContext,
    Named(IncidentId(id)): Named<IncidentId>,
    Form(fields): FormFields,
) -> Response {
    let command = IncidentCommand::DescribeImpact { text: typed(&fields, "text"), by: by(&ctx) };
    change(&ctx, id, command, "Saved").await
}

pub(crate) async fn add_action(
    ctx: PageContext,
    Named(IncidentId(id)): Named<IncidentId>,
    Form(fields): FormFields,
) -> Response {
    let owner = field(&fields, "owner").map(str::to_owned);
    let command = IncidentCommand::AddAction { text: typed(&fields, "text"), owner, by: by(&ctx) };
    change(&ctx, id, command, "Added").await
}

pub(crate) async fn set_action(
    ctx: PageContext,
    Path((id, number)): Path<(String, u32)>,
    Form(fields): FormFields,
) -> Result<Response, Problem> {
    let IncidentId(id) = id.parse().map_err(|_| IncidentId::missing(&id))?;
    let is_done = field(&fields, "done") == Some("true");
    let command = IncidentCommand::SetAction { number, is_done, by: by(&ctx) };
    Ok(change(&ctx, id, command, if is_done { "Completed" } else { "Reopened" }).await)
}

pub(crate) async fn snooze(
    ctx: PageContext,
    Named(IncidentId(id)): Named<IncidentId>,
    Form(fields): FormFields,
) -> Response {
    let by = by(&ctx);
    match field(&fields, "for").map(str::parse::<ordo_model::Millis>) {
        Some(Ok(length)) => {
            let until = ctx.now.plus(length);
            change(&ctx, id, IncidentCommand::Snooze { until, by }, "Snoozed").await
        }
        Some(Err(error)) => ctx.go(&format!("/incidents/{id}"), &Flash::bad(error.to_string())),
        None => change(&ctx, id, IncidentCommand::EndSnooze { by }, "The snooze is over").await,
    }
}

pub(crate) async fn note(
    ctx: PageContext,
    Named(IncidentId(id)): Named<IncidentId>,
    Form(fields): FormFields,
) -> Response {
    let text = typed(&fields, "text");
    change(&ctx, id, IncidentCommand::AddNote { text, by: by(&ctx) }, "Noted").await
}

pub(super) async fn change(ctx: &PageContext, id: Uuid, command: IncidentCommand, done: &str) -> Response {
    let own = format!("/incidents/{id}");
    change_from(ctx, id, command, done, &own).await
}

/// The same from a page of its own, to which a refusal leads back.
pub(super) async fn change_from(
    ctx: &PageContext,
    id: Uuid,
    command: IncidentCommand,
    done: &str,
    from: &str,
) -> Response {
    if let Err(problem) = ctx.operator() {
        return ctx.go(from, &Flash::bad(problem.detail));
    }
    match ctx.app.engine.command::<Incident>(id, command).await {
        Ok(_) => ctx.go(&format!("/incidents/{id}"), &Flash::good(done)),
        Err(error) => ctx.go(from, &Flash::bad(error.to_string())),
    }
}
