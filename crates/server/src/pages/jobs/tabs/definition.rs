//! The definition of a job as it is, and those before: who changed what, and a button to go back.

use axum::extract::Form;
use axum::response::Response;
use ordo_api::jobs::RevisionView;
use ordo_model::JobId;
use ordo_model::job::{FieldChange, Job, JobState};
use serde_json::Value;

use super::{card, page};
use crate::api::jobs::{find, revisions};
use crate::http::if_match::IfMatch;
use crate::http::path::Named;
use crate::http::problem::Problem;
use crate::pages::jobs::actions::{FormFields, field};
use crate::pages::layout::context::{Flash, PageContext};
use crate::pages::layout::html::Html;
use crate::pages::layout::json_view;
use crate::pages::layout::shell::queries;

/// How many revisions are shown.
const REVISIONS_SHOWN: usize = 50;

pub(crate) async fn show(ctx: PageContext, Named(id): Named<JobId>) -> Result<Response, Problem> {
    let job = find(&ctx.app, id).await?;
    let found = queries(&ctx).revisions(&job).await?;
    let views = revisions::views(&found);
    let current = serde_json::to_value(&*job.definition).unwrap_or_default();
    let pretty = serde_json::to_string_pretty(&current).unwrap_or_default();
    let json = Html::new()
        .raw(json_view::draw(&current))
        .raw("<details class=\"fold\" data-keep><summary>As JSON</summary><div class=\"commands\"><div class=\"command\"><pre tabindex=\"0\"><code>")
        .text(&pretty)
        .raw("</code></pre><button type=\"button\" class=\"icon-button\" data-copy hidden aria-label=\"Copy the definition\"><svg class=\"icon\" aria-hidden=\"true\"><use href=\"#i-copy\"/></svg></button></div></div></details>");
    let side = format!("revision {}", job.revision);
    let note = if found.is_cut { "the newest of a long history may be missing" } else { "newest first" };
    let body = Html::new()
        .raw("<div class=\"grid two\">")
        .raw(card("revisions", "Revisions", note, &list(&ctx, &job, &views)))
        .raw(card("definition", "Definition", &side, &json))
        .raw("</div>");
    page(&ctx, &job, "/definition", body).await
}

fn list(ctx: &PageContext, job: &Job, views: &[RevisionView]) -> Html {
    let times = ctx.times();
    let may_revert = ctx.viewer.may_operate && job.state() != JobState::Cancelled;
    let mut html = Html::new().raw("<ol class=\"revisions\">");
    for view in views.iter().take(REVISIONS_SHOWN) {
        let who = view.actor.as_ref().map_or_else(
            || "no longer recorded".to_owned(),
            |actor| {
                let whom = actor.on_behalf_of.as_ref().map(|whom| format!(" for {whom}")).unwrap_or_default();
                format!("{}{whom} · {}", actor.name, actor.source.name())
            },
        );
        html = html
            .raw(format_args!(
                "<li id=\"revision-{}\"><div class=\"revision-head\"><b>Revision {}</b><span class=\"quiet\">",
                view.revision, view.revision
            ))
            .text(&who)
            .raw("</span><span class=\"quiet\">")
            .raw(times.relative(view.at))
            .raw("</span>");
        if may_revert && view.revision != job.revision {
            html = html.raw(revert_form(ctx, job, view.revision));
        }
        html = html.raw("</div>").raw(changes(&view.changes, view.revision)).raw("</li>");
    }
    html.raw("</ol>")
}

fn revert_form(ctx: &PageContext, job: &Job, revision: u64) -> Html {
    Html::new()
        .raw("<details class=\"pop push\"><summary class=\"button small\">Revert to this…</summary><form method=\"post\" action=\"")
        .text(&ctx.link(&format!("/jobs/{}/revert", job.id)))
        .raw(format_args!(
            "\" class=\"sheet stack\"><input type=\"hidden\" name=\"revision\" value=\"{revision}\"><input type=\"hidden\" name=\"if_revision\" value=\"{}\"><p>The job gets the definition of revision {revision} back, as a new revision. Runs and history stay.</p><button class=\"button primary\">Revert to revision {revision}</button></form></details>",
            job.revision
        ))
}

/// Before and after, as everybody reads it.
fn changes(changes: &[FieldChange], revision: u64) -> Html {
    if changes.is_empty() {
        let words = if revision == 1 { "As it was created." } else { "What it changed is no longer known." };
        return Html::new().raw("<p class=\"nothing\">").text(words).raw("</p>");
    }
    let mut html = Html::new().raw("<dl class=\"diff\">");
    for change in changes {
        html = html.raw("<div><dt>").text(&change.field).raw("</dt>");
        for (class, mark, value) in [("was", "removed", &change.before), ("is", "added", &change.after)] {
            if let Some(value) = value {
                html = html
                    .raw(format_args!("<dd class=\"{class}\"><span class=\"hidden\">{mark}: </span><code>"))
                    .text(&shown(value))
                    .raw("</code></dd>");
            }
        }
        html = html.raw("</div>");
    }
    html.raw("</dl>")
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// `POST /jobs/{id}/revert`
pub(crate) async fn revert(ctx: PageContext, Named(id): Named<JobId>, Form(fields): FormFields) -> Response {
    let to = format!("/jobs/{id}/definition");
    match reverted(&ctx, id, &fields).await {
        Ok(job) => {
            ctx.go(&to, &Flash::good(format!("Reverted {}: it is at revision {}", job.definition.label, job.revision)))
        }
        Err(problem) => ctx.go(&to, &Flash::bad(problem.detail)),
    }
}

async fn reverted(ctx: &PageContext, id: JobId, fields: &[(String, String)]) -> Result<Job, Problem> {
    ctx.operator()?;
    let number = |name: &'static str| {
        let given = field(fields, name).and_then(|text| text.parse::<u64>().ok());
        given.ok_or_else(|| Problem::field(ordo_api::Code::InvalidBody, name, "must be a number"))
    };
    let condition = IfMatch::OneOf(vec![number("if_revision")?]);
    revisions::give_back(&ctx.app, id, number("revision")?, &condition).await
}
