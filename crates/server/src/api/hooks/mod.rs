//! Hooks: add, look at, change, remove.
//!
//! Invariant: a secret that comes with a hook goes to the secret store before the hook names it, and never comes back.

mod asked;
pub(crate) mod deliveries;
pub(crate) mod receive;
pub(crate) mod test;

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ordo_api::hooks::{HookPatch, HookView, NewHook};
use ordo_api::{Code, Page};
use ordo_engine::object_queries::IndexRange;
use ordo_engine::secrets::{SecretText, SecretsError};
use ordo_engine::{CommitExtras, SubmitError, Versioned};
use ordo_model::hook::{Hook, HookCommand, HookRefusal, HookTerms, TermsPatch};
use ordo_model::limits::PAYLOAD_DEFAULT_BYTES;
use ordo_model::object::Object;

use crate::api::hooks::asked::HookRequest;
use crate::app::{App, Signed};
use crate::auth::caller::Caller;
use crate::http::body::Body;
use crate::http::idempotency::{self, Once};
use crate::http::params::{Cursor, Params, next_cursor};
use crate::http::path::{Name, Named, Slug};
use crate::http::problem::{Problem, of_submit};

pub(crate) async fn list(State(app): State<App>, mut params: Params) -> Result<Response, Problem> {
    let limit = params.take_limit()?;
    let after = params.take_cursor::<Cursor>()?;
    params.finish()?;
    let section = IndexRange { after: after.as_ref(), ..IndexRange::all(0, limit) };
    let found = app.engine.queries().objects::<Hook>(&section).await?;
    let slugs: Vec<&str> = found.items.iter().map(|hook| hook.slug.as_str()).collect();
    let listeners = app.engine.queries().listeners_of(&slugs).await?;
    let items = found.items.iter().zip(listeners).map(|(hook, jobs)| HookView::of(hook, jobs)).collect();
    Ok(Json(Page { items, next_cursor: next_cursor(found.next) }).into_response())
}

pub(crate) async fn show(State(app): State<App>, Named(Slug(slug)): Named<Slug>) -> Result<Json<HookView>, Problem> {
    Ok(Json(view(&app, &find(&app, &slug).await?).await?))
}

pub(crate) async fn find(app: &App, slug: &str) -> Result<Versioned<Hook>, Problem> {
    app.engine.queries().hook(slug).await?.ok_or_else(|| Slug::missing(slug))
}

pub(crate) async fn create(
    Signed(app): Signed,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let form: NewHook = body.parse()?;
    let once = Once::read(&headers, "POST /v1/hooks", &body.bytes)?;
    if let Some(once) = &once
        && let Some(slug) = once.earlier::<String>(&app).await?
    {
        return Ok(idempotency::replayed(created(&app, &find(&app, &slug).await?).await?));
    }
    let own_secret = Hook::own_secret(&form.slug);
    let asked = form.verify.map(|verify| HookRequest::of(verify, &own_secret, &caller)).transpose()?;
    let slug = form.slug;
    let terms = HookTerms {
        verify: asked.as_ref().map(|asked| asked.verify.clone()),
        filter: form.filter,
        max_bytes: form.max_bytes.unwrap_or(PAYLOAD_DEFAULT_BYTES),
    };
    let command = HookCommand::Add { slug: slug.clone(), terms };
    let before = app.engine.queries().hook(&slug).await?;
    // Judged before the secret is kept: a hook that is refused must not leave one behind, or replace another's.
    Hook::decide(Hook::id(&slug).id, before.as_deref(), command.clone(), app.now()).map_err(refused)?;
    keep_secret(&app, &own_secret, asked.as_ref()).await?;
    let dedup = once.as_ref().map(|once| once.dedup(&slug, app.now()));
    let extras = CommitExtras { dedup: dedup.into_iter().collect(), ..CommitExtras::default() };
    match (app.engine.command_with::<Hook>(Hook::id(&slug).id, command, extras).await, once) {
        (Ok(added), _) => created(&app, &added.state).await,
        (Err(SubmitError::Duplicate(value)), Some(once)) => {
            let slug: String = once.resolve(&value)?;
            Ok(idempotency::replayed(created(&app, &find(&app, &slug).await?).await?))
        }
        (Err(error), _) => Err(of_submit(error, refused)),
    }
}

pub(crate) async fn update(
    Signed(app): Signed,
    Extension(caller): Extension<Caller>,
    Named(Slug(slug)): Named<Slug>,
    body: Body,
) -> Result<Json<HookView>, Problem> {
    let form: HookPatch = body.parse()?;
    let own_secret = Hook::own_secret(&slug);
    let before = find(&app, &slug).await?;
    let (asked, verify) = match form.verify {
        Some(Some(verify)) => {
            let asked = HookRequest::of(verify, &own_secret, &caller)?;
            let verify = Some(asked.verify.clone());
            (Some(asked), Some(verify))
        }
        Some(None) => (None, Some(None)),
        None => (None, None),
    };
    let max_bytes = form.max_bytes.map(|max| max.unwrap_or(PAYLOAD_DEFAULT_BYTES));
    let command = HookCommand::Update { patch: TermsPatch { verify, filter: form.filter, max_bytes } };
    Hook::decide(before.id, Some(&before), command.clone(), app.now()).map_err(refused)?;
    keep_secret(&app, &own_secret, asked.as_ref()).await?;
    let updated = app.engine.command::<Hook>(before.id, command).await.map_err(|error| of_submit(error, refused))?;
    if uses(&before, &own_secret) && !uses(&updated.state, &own_secret) {
        forget_secret(&app, &own_secret).await;
    }
    Ok(Json(view(&app, &updated.state).await?))
}

pub(crate) async fn remove(Signed(app): Signed, Named(Slug(slug)): Named<Slug>) -> Result<Json<HookView>, Problem> {
    let before = find(&app, &slug).await?;
    let removed =
        app.engine.command::<Hook>(before.id, HookCommand::Remove).await.map_err(|error| of_submit(error, refused))?;
    let own_secret = Hook::own_secret(&slug);
    if uses(&before, &own_secret) {
        forget_secret(&app, &own_secret).await;
    }
    Ok(Json(view(&app, &removed.state).await?))
}

fn uses(hook: &Hook, secret: &str) -> bool {
    hook.terms.verify.as_ref().is_some_and(|verify| verify.secret == secret)
}

/// Keeps a secret that came along; one that is only named must be there.
async fn keep_secret(app: &App, own_secret: &str, asked: Option<&HookRequest>) -> Result<(), Problem> {
    let Some(HookRequest { verify, secret }) = asked else { return Ok(()) };
    let secrets = app.engine.secrets();
    match secret {
        Some(value) => drop(secrets.put(own_secret, &SecretText::new(value.clone())).await.map_err(of_secrets)?),
        None if secrets.reveal(&verify.secret).await.map_err(of_secrets)?.is_none() => {
            return Err(of_secrets(SecretsError::Unknown { name: verify.secret.clone() }));
        }
        None => {}
    }
    Ok(())
}

/// The hook is gone; its secret is of no more use. Should it stay, that is said, and does no harm.
async fn forget_secret(app: &App, name: &str) {
    if let Err(error) = app.engine.secrets().remove(name).await {
        tracing::warn!(%error, secret = name, "the secret of a removed hook is still kept");
    }
}

async fn view(app: &App, hook: &Versioned<Hook>) -> Result<HookView, Problem> {
    Ok(HookView::of(hook, app.engine.queries().listeners(&hook.slug).await?))
}

async fn created(app: &App, hook: &Versioned<Hook>) -> Result<Response, Problem> {
    let mut answer = (StatusCode::CREATED, Json(view(app, hook).await?)).into_response();
    if let Ok(place) = HeaderValue::from_str(&format!("/v1/hooks/{}", hook.slug)) {
        answer.headers_mut().insert(header::LOCATION, place);
    }
    Ok(answer)
}

fn refused(refusal: HookRefusal) -> Problem {
    match refusal {
        HookRefusal::NoSuchHook => Problem::new(Code::HookNotFound, refusal.to_string()),
        HookRefusal::Exists { .. } => Problem::new(Code::HookExists, refusal.to_string()),
        HookRefusal::Invalid { field, message } => Problem::field(Code::InvalidHook, field, message),
    }
}

pub(crate) fn of_secrets(error: SecretsError) -> Problem {
    let text = error.to_string();
    match error {
        SecretsError::Submit(SubmitError::Refused(_)) | SecretsError::Length | SecretsError::Unknown { .. } => {
            Problem::field(Code::InvalidHook, "verify.secret", text)
        }
        SecretsError::Unopened { .. } | SecretsError::NoKey | SecretsError::Key(_) | SecretsError::Random(_) => {
            tracing::error!(error = %text, "the secret of a hook could not be used");
            Problem::new(Code::HookSecretUnavailable, text)
        }
        SecretsError::Submit(_) => error.into(),
    }
}
