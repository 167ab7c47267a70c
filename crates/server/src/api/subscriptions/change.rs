//! `PATCH /v1/subscriptions/{id}`

use axum::Json;
use axum::extract::Extension;
use axum::response::{IntoResponse, Response};
use ordo_api::alerting::subscriptions::SubscriptionPatch;
use ordo_model::subscription::SubscriptionCommand;

use super::find;
use super::order;
use super::secret;
use super::view;
use crate::app::Signed;
use crate::auth::caller::Caller;
use crate::http::body::Body;
use crate::http::path::{Named, SubscriptionId};
use crate::http::problem::Problem;

/// What stands for a secret that is to be made.
const NEW: &str = "new";

pub(crate) async fn update(
    Signed(app): Signed,
    Extension(caller): Extension<Caller>,
    Named(SubscriptionId(id)): Named<SubscriptionId>,
    body: Body,
) -> Result<Response, Problem> {
    let form: SubscriptionPatch = body.parse()?;
    let before = find(&app, id).await?;
    let mut kept = order(&app, id, SubscriptionCommand::Change { terms: form.laid_over(&before.terms) }).await?;
    let mut shown = None;
    if let Some(given) = form.secret {
        let made = secret::keep(&app, id, kept.version + 1, Some(given).filter(|text| text != NEW)).await?;
        kept = order(&app, id, SubscriptionCommand::ReplaceSecret { secret: made.name }).await?;
        shown = Some(made.value);
    }
    if let Some(enabled) = form.enabled {
        let command = match enabled {
            true => SubscriptionCommand::Enable,
            false => SubscriptionCommand::Disable { reason: "disabled by its owner".to_owned() },
        };
        kept = order(&app, id, command).await?;
    }
    let answer = view(&caller, &kept);
    Ok(Json(match shown {
        Some(secret) => answer.with_secret(secret),
        None => answer,
    })
    .into_response())
}
