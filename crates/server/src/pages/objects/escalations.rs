//! Escalation chains: who is notified next, step by step; those of the store are made and changed here.

use axum::extract::Form;
use axum::http::HeaderMap;
use axum::response::Response;
use ordo_api::Code;
use ordo_engine::escalations::{DEFAULT_ESCALATION, NamedEscalation};
use ordo_model::incident::{Escalation, EscalationStep};
use serde_json::{Value, json};

use super::form::{self, FormField, FormIntro, InputKind};
use super::view::{self, ObjectView, command, confirmed, facts, link_button};
use super::{body, signed};
use crate::api::channels::escalations as api;
use crate::http::cookies::encode;
use crate::http::path::{ChainName, Named};
use crate::http::problem::Problem;
use crate::pages::jobs::actions::{FormFields, field};
use crate::pages::layout::context::{Flash, PageContext};
use crate::pages::layout::html::Html;
use crate::pages::layout::listing::{quiet, text};
use crate::pages::layout::moment::length;
use crate::pages::layout::shell::NavSection;
use crate::pages::runs::outcome::Badge;

const LIST: (&str, &str) = ("Channels", "/channels");
const ABOUT: &str = "Each step notifies somebody if nobody has acknowledged the incident by then. An incident takes the \
                     chain when it begins; later changes do not reach into it.";

/// The configuration gives names of any letters.
pub(crate) fn path(name: &str) -> String {
    format!("/escalations/{}", encode(name))
}

fn words(ms: u64) -> String {
    length(i64::try_from(ms).unwrap_or(i64::MAX))
}

/// The steps as a numbered list.
pub(crate) fn steps(escalation: &Escalation) -> Html {
    let item = |html: Html, step: &EscalationStep| {
        let after = match step.after.ms() {
            0 => "at once".to_owned(),
            ms => format!("after {}", words(ms)),
        };
        html.raw("<li>")
            .raw(quiet(&after))
            .raw(" <b>")
            .text(&step.notify)
            .raw("</b> ")
            .raw(quiet(&format!("through {}", step.via.as_deref().unwrap_or("all channels"))))
            .raw("</li>")
    };
    escalation.steps.iter().fold(Html::new().raw("<ol class=\"steps\">"), item).raw("</ol>")
}

pub(crate) fn acknowledgement(escalation: &Escalation) -> Option<String> {
    let timeout = escalation.ack_timeout?;
    Some(format!("Acknowledgements expire after {}; the chain then starts over.", words(timeout.ms())))
}

/// What can be named where incidents are set up.
pub(crate) async fn chain_names(ctx: &PageContext) -> Result<Vec<String>, Problem> {
    let chains = ctx.app.engine.escalation_chains().await?;
    Ok(chains.iter().filter(|chain| chain.is_in_force()).map(|chain| chain.name().to_owned()).collect())
}

/// `GET /escalations/{name}`
pub(crate) async fn show(ctx: PageContext, Named(ChainName(name)): Named<ChainName>) -> Result<Response, Problem> {
    let chain = api::find(&ctx.app, &name).await?;
    let own = path(chain.name());
    let times = ctx.times();
    let used = match chain.name() == DEFAULT_ESCALATION {
        true => "for incidents that name no chain".to_owned(),
        false => "for incidents, jobs and monitors that name it".to_owned(),
    };
    let mut known = vec![("Used", text(&used))];
    known.extend(acknowledgement(chain.escalation()).map(|words| ("Acknowledgement", text(&words))));
    let (badge, acts) = match chain.stored() {
        Some(stored) => {
            known.push(("Created", times.exact(stored.created_at)));
            known.push(("Changed", times.exact(stored.updated_at)));
            (Badge { text: "in force".to_owned(), class: "completed", icon: "completed" }, acts(&ctx, &own))
        }
        None => {
            let place = Html::new().raw("<code>[escalation.").text(chain.name()).raw("]</code>, then restart");
            known.push(("Change it in the configuration", place));
            (Badge { text: "from the configuration".to_owned(), class: "pending", icon: "completed" }, Html::new())
        }
    };
    let start = format!("ordo incident start 'Payments are slow' --escalation {}", chain.name());
    let try_it =
        Html::new().raw("<div class=\"commands\">").raw(command("Start an incident with it", &start)).raw("</div>");
    let view = ObjectView {
        section: NavSection::Channels,
        list: LIST,
        heading: chain.name().to_owned(),
        badge: Some(badge),
        under: Html::new(),
        acts,
        cards: vec![
            ("Steps", String::new(), steps(chain.escalation())),
            ("Settings", String::new(), facts(&known)),
            ("Use it", String::new(), try_it),
        ],
    };
    view::page(&ctx, view).await
}

fn acts(ctx: &PageContext, own: &str) -> Html {
    if !ctx.viewer.may_admin {
        return Html::new();
    }
    Html::new().raw(link_button(&ctx.link(&format!("{own}/edit")), "Edit")).raw(confirmed(
        &ctx.link(&format!("{own}/remove")),
        "Remove",
        "Incidents that have begun keep its steps. Later ones that name it notify nobody beyond the channels.",
    ))
}

fn intro(heading: String, target: String, submit: &'static str) -> FormIntro {
    FormIntro { section: NavSection::Channels, list: LIST, heading, about: ABOUT, target, submit }
}

fn fields(before: Option<&NamedEscalation>) -> Vec<FormField> {
    let name = match before {
        Some(chain) => FormField::new("name", "Name", InputKind::Fixed).value(chain.name()),
        None => {
            FormField::line("name", "Name").required().hint("Incidents that name no chain take the one called default")
        }
    };
    let lines = |chain: &NamedEscalation| {
        chain.escalation().steps.iter().map(ToString::to_string).collect::<Vec<String>>().join("\n")
    };
    let ack_timeout = before.and_then(|chain| chain.escalation().ack_timeout);
    vec![
        name,
        FormField::new("escalation", "Steps", InputKind::Lines)
            .required()
            .value(before.map_or_else(String::new, lines))
            .hint("One per line: #on-call via slack, then 15m lead@example.org via email. Time and channel may be left out"),
        FormField::line("ack_timeout", "Acknowledgements expire after")
            .value(ack_timeout.map_or_else(String::new, |timeout| timeout.to_string()))
            .hint("2h, 1d; empty: never"),
    ]
}

/// The chain as a client would write it down.
fn written(typed: &[(String, String)]) -> Result<Value, Problem> {
    let lines = field(typed, "escalation").unwrap_or_default().lines().map(str::trim).filter(|line| !line.is_empty());
    let steps: Result<Vec<EscalationStep>, _> = lines.map(str::parse).collect();
    let steps = steps.map_err(|wrong: ordo_model::incident::NotAStep| {
        Problem::field(Code::InvalidEscalation, "escalation", wrong.to_string())
    })?;
    let mut escalation = json!({ "steps": steps });
    if let Some(timeout) = form::typed(typed, "ack_timeout") {
        escalation["ack_timeout"] = timeout;
    }
    Ok(json!({ "escalation": escalation }))
}

/// What is wrong inside the chain is shown at the field that it was typed into.
fn at_its_field(mut problem: Problem) -> Problem {
    for error in &mut problem.errors {
        if error.field.ends_with("ack_timeout") {
            error.field = "ack_timeout".to_owned();
        } else if error.field.starts_with("steps") {
            error.field = "escalation".to_owned();
        }
    }
    problem
}

/// `GET /escalations/new`
pub(crate) async fn blank(ctx: PageContext) -> Result<Response, Problem> {
    form::page(&ctx, new_intro(), fields(None)).await
}

fn new_intro() -> FormIntro {
    intro("New escalation chain".to_owned(), "/escalations/new".to_owned(), "Create chain")
}

/// `POST /escalations/new`
pub(crate) async fn create(ctx: PageContext, Form(typed): FormFields) -> Result<Response, Problem> {
    match add(&ctx, &typed).await {
        Ok(name) => Ok(ctx.go(&path(&name), &Flash::good(created(&name)))),
        Err(problem) => form::refused(&ctx, new_intro(), fields(None), &typed, &at_its_field(problem)).await,
    }
}

fn created(name: &str) -> String {
    match name == DEFAULT_ESCALATION {
        true => format!("Created {name}: the next incident that names no chain takes it"),
        false => format!("Created {name}: incidents that name it take it"),
    }
}

async fn add(ctx: &PageContext, typed: &[(String, String)]) -> Result<String, Problem> {
    let name = field(typed, "name").unwrap_or_default().to_owned();
    let mut chain = written(typed)?;
    chain["name"] = json!(name);
    api::create(signed(ctx), HeaderMap::new(), body(&chain)).await?;
    Ok(name)
}

/// `GET /escalations/{name}/edit`
pub(crate) async fn edit(ctx: PageContext, Named(ChainName(name)): Named<ChainName>) -> Result<Response, Problem> {
    let chain = api::find(&ctx.app, &name).await?;
    form::page(&ctx, edit_intro(&name), fields(Some(&chain))).await
}

fn edit_intro(name: &str) -> FormIntro {
    intro(format!("Edit {name}"), format!("{}/edit", path(name)), "Save")
}

/// `POST /escalations/{name}/edit`
pub(crate) async fn change(
    ctx: PageContext,
    Named(ChainName(name)): Named<ChainName>,
    Form(typed): FormFields,
) -> Result<Response, Problem> {
    let chain = api::find(&ctx.app, &name).await?;
    let changed = match written(&typed) {
        Ok(patch) => api::update(signed(&ctx), Named(ChainName(name.clone())), body(&patch)).await.map(drop),
        Err(problem) => Err(problem),
    };
    match changed {
        Ok(()) => Ok(ctx.go(&path(&name), &Flash::good("Saved"))),
        Err(problem) => {
            form::refused(&ctx, edit_intro(&name), fields(Some(&chain)), &typed, &at_its_field(problem)).await
        }
    }
}

/// `POST /escalations/{name}/remove`
pub(crate) async fn remove(ctx: PageContext, Named(ChainName(name)): Named<ChainName>) -> Response {
    match api::remove(signed(&ctx), Named(ChainName(name.clone()))).await {
        Ok(_) => ctx.go("/channels", &Flash::good(format!("Removed {name}"))),
        Err(problem) => ctx.go("/channels", &Flash::bad(problem.detail)),
    }
}
