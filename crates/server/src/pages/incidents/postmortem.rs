//! The editor of a postmortem: what people write in Markdown, beside what Ordo knows by itself.

use askama::Template;
use axum::extract::Form;
use axum::response::Response;
use ordo_model::incident::{IncidentCommand, POSTMORTEM_DRAFT};
use ordo_model::limits::POSTMORTEM_MAX_BYTES;

use crate::api::incidents::find;
use crate::http::path::{IncidentId, Named};
use crate::http::problem::Problem;
use crate::pages::docs::plain_markdown;
use crate::pages::incidents::by;
use crate::pages::incidents::change::change_from;
use crate::pages::jobs::actions::FormFields;
use crate::pages::layout::answer;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::html::Html;
use crate::pages::layout::shell::{NavSection, PageShell, queries};

#[derive(Template)]
#[template(path = "postmortem.html")]
struct PostmortemPage {
    shell: PageShell,
    id: String,
    title: String,
    text: String,
    preview: Html,
    edited: Option<(String, Html)>,
    export: String,
    max_bytes: usize,
}

pub(crate) async fn edit(ctx: PageContext, Named(IncidentId(id)): Named<IncidentId>) -> Result<Response, Problem> {
    ctx.operator()?;
    let kept = find(&ctx.app, id).await?;
    let written = queries(&ctx).postmortem(&kept).await?;
    let text = if written.is_empty() { POSTMORTEM_DRAFT.to_owned() } else { written };
    answer::ok(&PostmortemPage {
        shell: PageShell::new(&ctx, NavSection::Incidents, format!("Postmortem of {}", kept.title)).await?,
        id: id.to_string(),
        title: kept.title.clone(),
        preview: plain_markdown(&text),
        text,
        edited: kept.postmortem.as_ref().map(|edit| (edit.by.to_string(), ctx.times().relative(edit.at))),
        export: ctx.link(&format!("/v1/incidents/{id}/export")),
        max_bytes: POSTMORTEM_MAX_BYTES,
    })
}

pub(crate) async fn save(
    ctx: PageContext,
    Named(IncidentId(id)): Named<IncidentId>,
    Form(fields): FormFields,
) -> Response {
    // As it was typed: blank lines mean something in Markdown. Forms send line ends of two characters.
    let typed = fields.iter().find(|(name, _)| name == "text").map(|(_, text)| text.replace("\r\n", "\n"));
    let command = IncidentCommand::WritePostmortem { text: typed.unwrap_or_default(), by: by(&ctx) };
    change_from(&ctx, id, command, "Saved the postmortem", &format!("/incidents/{id}/postmortem")).await
}
