//! Silences: which there are, and a form to add one.

use axum::extract::Form;
use axum::response::Response;
use ordo_engine::Versioned;
use ordo_model::silence::{Silence, SilenceCommand};
use ordo_model::subscription::EventPattern;

use crate::api::incidents::silences::add;
use crate::http::path::{Named, SilenceId};
use crate::http::problem::Problem;
use crate::pages::jobs::actions::{FormFields, field};
use crate::pages::layout::context::{Flash, PageContext};
use crate::pages::layout::html::Html;
use crate::pages::layout::listing::{self, ListContents, ListIntro, ListRow, button, code, quiet, text};
use crate::pages::layout::shell::{NavSection, queries};

const SILENCES: ListIntro = ListIntro {
    section: NavSection::Notifications,
    heading: "Silences",
    icon: "paused",
    about: "A silence holds back notifications about some jobs, monitors or incidents for a while. Runs and incidents go on.",
    commands: &[(
        "Silence all backups for two hours",
        "ordo silence add 'backup-*' --for 2h --reason \"disk replacement\"",
    )],
    heads: &["Matching", "Ends", "Reason", "Added by", "Added", ""],
    create: None,
};

/// How long a silence may last, as the form offers it.
pub(crate) const LENGTHS: [(&str, &str); 5] =
    [("30m", "30 minutes"), ("2h", "2 hours"), ("8h", "8 hours"), ("1d", "1 day"), ("7d", "7 days")];

pub(crate) async fn show(ctx: PageContext) -> Result<Response, Problem> {
    let all = queries(&ctx).silences().await?;
    let shown = ListContents {
        extra: if ctx.viewer.may_operate { form(&ctx) } else { Html::new() },
        rows: all.iter().map(|one| row(&ctx, one)).collect(),
        ..ListContents::default()
    };
    listing::page(&ctx, &SILENCES, shown).await
}

fn row(ctx: &PageContext, silence: &Versioned<Silence>) -> ListRow {
    let times = ctx.times();
    let end = ctx.link(&format!("/silences/{}/end", silence.id));
    ListRow {
        id: format!("silence-{}", silence.id),
        cells: vec![
            code(silence.matching.as_str()),
            times.relative(silence.until),
            if silence.reason.is_empty() { quiet("–") } else { text(&silence.reason) },
            text(&silence.by.to_string()),
            times.relative(silence.created_at),
            match ctx.viewer.may_operate {
                true => button(&end, "/silences", "End", &format!("the silence of {}", silence.matching)),
                false => Html::new(),
            },
        ],
    }
}

fn form(ctx: &PageContext) -> Html {
    let mut html = Html::new()
        .raw("<details class=\"fold start\" id=\"add\" data-keep><summary>Add a silence</summary><form method=\"post\" action=\"")
        .text(&ctx.link("/silences"))
        .raw("\" class=\"card stack narrow\" data-refill><div class=\"field\"><label for=\"matching\">Matching</label>")
        .raw("<input id=\"matching\" name=\"matching\" maxlength=\"200\" class=\"mono\" aria-describedby=\"matching-hint\" required>")
        .raw("<p class=\"hint\" id=\"matching-hint\">The label of a job, the name of a monitor or the identifier of an incident; * matches anything.</p></div>")
        .raw("<div class=\"field\"><label for=\"for\">For</label><select id=\"for\" name=\"for\">");
    for (value, words) in LENGTHS {
        html = html.raw(format_args!("<option value=\"{value}\">{words}</option>"));
    }
    html.raw("</select></div><div class=\"field\"><label for=\"reason\">Reason</label><input id=\"reason\" name=\"reason\" maxlength=\"200\"></div>")
        .raw("<div class=\"acts\"><button class=\"button primary\">Add silence</button></div></form></details>")
}

/// `POST /silences`
pub(crate) async fn create(ctx: PageContext, Form(fields): FormFields) -> Response {
    let to = field(&fields, "back").unwrap_or("/silences");
    match added(&ctx, &fields).await {
        Ok(matching) => ctx.go(to, &Flash::good(format!("Silenced {matching}"))),
        Err(problem) => ctx.go(to, &Flash::bad(problem.detail)),
    }
}

async fn added(ctx: &PageContext, fields: &[(String, String)]) -> Result<EventPattern, Problem> {
    ctx.operator()?;
    let wrong = |name: &'static str, why: String| Problem::field(ordo_api::Code::InvalidSilence, name, why);
    let matching = field(fields, "matching").unwrap_or_default().parse::<EventPattern>();
    let matching = matching.map_err(|error| wrong("matching", error.to_string()))?;
    let length = field(fields, "for").unwrap_or_default().parse::<ordo_model::Millis>();
    let until = ctx.now.plus(length.map_err(|error| wrong("for", error.to_string()))?);
    let reason = field(fields, "reason").unwrap_or_default().to_owned();
    add(&ctx.app, matching.clone(), until, reason).await?;
    Ok(matching)
}

/// `POST /silences/{id}/end`
pub(crate) async fn end(ctx: PageContext, Named(SilenceId(id)): Named<SilenceId>) -> Response {
    if let Err(problem) = ctx.operator() {
        return ctx.go("/silences", &Flash::bad(problem.detail));
    }
    match ctx.app.engine.command::<Silence>(id, SilenceCommand::End).await {
        Ok(_) => ctx.go("/silences", &Flash::good("The silence is over")),
        Err(error) => ctx.go("/silences", &Flash::bad(error.to_string())),
    }
}
