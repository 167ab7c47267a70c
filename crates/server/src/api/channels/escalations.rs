//! Escalation chains: list, add, change, remove.
//!
//! Invariant: what the configuration names is changed there and nowhere else; a chain of the store can always be removed.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use ordo_api::alerting::escalations::{EscalationChainPatch, EscalationChainView, NewEscalationChain};
use ordo_api::{Code, Page};
use ordo_engine::Versioned;
use ordo_engine::escalations::NamedEscalation;
use ordo_model::incident::{EscalationChain, EscalationChainCommand, EscalationChainRefusal};
use ordo_model::limits::ESCALATION_CHAINS_MAX;

use crate::app::{App, Signed};
use crate::http::body::Body;
use crate::http::idempotency;
use crate::http::path::{ChainName, Name, Named};
use crate::http::problem::Problem;

fn view(chain: &NamedEscalation) -> EscalationChainView {
    match chain {
        NamedEscalation::Configured { name, escalation } => EscalationChainView::configured(name, escalation),
        NamedEscalation::Stored { chain, is_overridden } => EscalationChainView::stored(chain, !is_overridden),
    }
}

pub(crate) async fn list(State(app): State<App>) -> Result<Json<Page<EscalationChainView>>, Problem> {
    Ok(Json(Page::whole(app.engine.escalation_chains().await?.iter().map(view).collect())))
}

pub(crate) async fn show(
    State(app): State<App>,
    Named(ChainName(name)): Named<ChainName>,
) -> Result<Json<EscalationChainView>, Problem> {
    Ok(Json(view(&find(&app, &name).await?)))
}

pub(crate) async fn find(app: &App, name: &str) -> Result<NamedEscalation, Problem> {
    app.engine.escalation_chain(name).await?.ok_or_else(|| ChainName::missing(name))
}

pub(crate) async fn create(Signed(app): Signed, headers: HeaderMap, body: Body) -> Result<Response, Problem> {
    idempotency::refuse(&headers)?;
    let NewEscalationChain { name, escalation } = body.parse()?;
    if app.engine.escalations().contains_key(&name) {
        let detail = format!("the configuration has a chain {name:?} already: choose another name, or change it there");
        return Err(Problem::field(Code::EscalationExists, "name", detail));
    }
    if app.engine.queries().escalation_chains().await?.len() >= ESCALATION_CHAINS_MAX {
        let detail = format!("there are {ESCALATION_CHAINS_MAX} escalation chains already: remove one first");
        return Err(Problem::new(Code::TooManyEscalations, detail));
    }
    let id = EscalationChain::id(&name);
    let added = app.engine.command(id, EscalationChainCommand::Add { name, escalation }).await?;
    Ok((StatusCode::CREATED, Json(EscalationChainView::stored(&added.state, true))).into_response())
}

pub(crate) async fn update(
    Signed(app): Signed,
    Named(ChainName(name)): Named<ChainName>,
    body: Body,
) -> Result<Json<EscalationChainView>, Problem> {
    let EscalationChainPatch { escalation } = body.parse()?;
    refuse_configured(&app, &name)?;
    let before = stored(&app, &name).await?;
    let changed =
        app.engine.command::<EscalationChain>(before.id, EscalationChainCommand::Change { escalation }).await?;
    Ok(Json(EscalationChainView::stored(&changed.state, true)))
}

/// Also one that the configuration overrides: it is of no use.
pub(crate) async fn remove(
    Signed(app): Signed,
    Named(ChainName(name)): Named<ChainName>,
) -> Result<Json<EscalationChainView>, Problem> {
    let before = match stored(&app, &name).await {
        Ok(before) => before,
        Err(problem) => {
            refuse_configured(&app, &name)?;
            return Err(problem);
        }
    };
    app.engine.command::<EscalationChain>(before.id, EscalationChainCommand::Remove).await?;
    Ok(Json(EscalationChainView::stored(&before, !app.engine.escalations().contains_key(&name))))
}

async fn stored(app: &App, name: &str) -> Result<Versioned<EscalationChain>, Problem> {
    let found = app.engine.queries().object::<EscalationChain>(EscalationChain::id(name)).await?;
    found.ok_or_else(|| ChainName::missing(name))
}

fn refuse_configured(app: &App, name: &str) -> Result<(), Problem> {
    match app.engine.escalations().contains_key(name) {
        true => {
            let detail =
                format!("{name:?} stands in the configuration: change [escalation.{name}] there, then restart");
            Err(Problem::new(Code::WrongState, detail))
        }
        false => Ok(()),
    }
}

impl From<EscalationChainRefusal> for Problem {
    fn from(refusal: EscalationChainRefusal) -> Problem {
        let text = refusal.to_string();
        match refusal {
            EscalationChainRefusal::NoSuchChain => Problem::new(Code::EscalationNotFound, text),
            EscalationChainRefusal::Exists { .. } => Problem::field(Code::EscalationExists, "name", text),
            EscalationChainRefusal::Invalid(invalid) => {
                Problem::field(Code::InvalidEscalation, invalid.field, invalid.message)
            }
        }
    }
}
