//! How a browser gets in and out: a token is shown once, by a link or in a form, and becomes a cookie.
//!
//! Invariant: the token is in no answer, no cookie and no log line; whoever guesses is slowed down by address.

use std::net::IpAddr;

use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ordo_api::Code;
use ordo_engine::tokens::is_minted;
use ordo_model::login::{Login, LoginCommand};
use ordo_model::{Actor, ActorSource};

use crate::app::App;
use crate::auth;
use crate::auth::origin;
use crate::auth::session::{self, Session};
use crate::http::body::Body;
use crate::http::params::Params;
use crate::http::peer::RemoteAddress;
use crate::http::problem::Problem;
use crate::http::trace::request_span::RequestId;

/// Whoever is turned away.
const NOBODY: &str = "nobody";

/// `/login?token=…`: the link that `ordo serve` prints.
pub(crate) async fn by_link(
    State(app): State<App>,
    remote: Option<Extension<RemoteAddress>>,
    headers: HeaderMap,
    mut params: Params,
) -> Result<Response, Response> {
    let token = params.take_text("token");
    let next = params.take_text("next");
    params.finish().map_err(Problem::into_response)?;
    let Some(token) = token else {
        return Err(Problem::new(Code::Unauthorized, "log in with a token: /login?token=…").into_response());
    };
    // A page elsewhere must not choose who somebody is here.
    origin::refuse_foreign(&axum::http::Method::POST, &headers).map_err(Problem::into_response)?;
    enter(&app, remote, &headers, &token, next).await
}

/// The form of the login page: the fields `token` and `next`.
pub(crate) async fn by_form(
    State(app): State<App>,
    remote: Option<Extension<RemoteAddress>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Response> {
    let (mut token, mut next) = (None, None);
    for (name, value) in form_urlencoded::parse(&body.bytes) {
        match name.as_ref() {
            "token" => token = Some(value.into_owned()),
            "next" => next = Some(value.into_owned()),
            _ => {}
        }
    }
    let missing = || Problem::field(Code::InvalidBody, "token", "is missing: send it as a form").into_response();
    enter(&app, remote, &headers, &token.ok_or_else(missing)?, next).await
}

/// The session is over from now on, also for whoever has a copy of the cookie.
pub(crate) async fn leave(
    State(app): State<App>,
    request_id: RequestId,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    if let Some(cookie) = session::sent(&headers)
        && let Some((session, token)) = auth::of_session(&app, &cookie).await?
    {
        let app = app.signed_by(Actor::new(token.name.clone(), ActorSource::Page).with_request(request_id.0));
        app.engine.tokens().end_session(token.id, session.browser.id, session.until).await?;
        app.auth.known.forget_all();
    }
    Ok(redirect(&format!("{}/login", app.base_path), session::forgotten(&headers)))
}

async fn enter(
    app: &App,
    remote: Option<Extension<RemoteAddress>>,
    headers: &HeaderMap,
    token: &str,
    next: Option<String>,
) -> Result<Response, Response> {
    let address = remote.map(|Extension(RemoteAddress(address))| address);
    let share = address.and_then(|address| app.rates.of_login(address));
    let refusal = share.and_then(|share| share.refusal());
    // Many may come through one proxy, and one of them may be guessing: who has a token that nobody can guess gets in.
    if let Some(refusal) = refusal.filter(|_| !is_minted(token)) {
        return Err(refusal);
    }
    let (name, cookie) = match (cookie(app, headers, token).await, share.and_then(|share| share.refusal())) {
        (Ok(entered), _) => entered,
        (Err(_), Some(refusal)) => return Err(refusal),
        (Err(problem), None) => {
            if problem.code == Code::Unauthorized {
                record(app, NOBODY, address, false).await;
            }
            return Err(problem.into_response());
        }
    };
    record(app, &name, address, true).await;
    address.into_iter().for_each(|address| app.rates.logged_in(address));
    let home = format!("{}/", app.base_path);
    Ok(redirect(next.as_deref().filter(|next| is_here(next)).unwrap_or(&home), Some(cookie)))
}

/// Writes down that somebody came in or was turned away. Whoever may come in does so even if it cannot be written.
async fn record(app: &App, name: &str, address: Option<IpAddr>, is_in: bool) {
    let address = address.map_or_else(|| "socket".to_owned(), |address| address.to_string());
    let app = app.signed_by(Actor::new(name, ActorSource::Page));
    let (id, command) = match is_in {
        true => (Login::entered_id(name, &address, app.now()), LoginCommand::Enter { address }),
        false => (Login::denied_id(&address, app.now()), LoginCommand::Deny { address }),
    };
    if let Err(error) = app.engine.command::<Login>(id, command).await {
        tracing::warn!(%error, name, "a login could not be written down");
    }
}

/// The token's name, and the header that the browser keeps.
async fn cookie(app: &App, headers: &HeaderMap, token: &str) -> Result<(String, HeaderValue), Problem> {
    let refused = || Problem::new(Code::Unauthorized, "the token is not one of this server's, or it ended");
    let token = auth::find(app, token).await?.ok_or_else(refused)?;
    let key = app.engine.secrets().sealing_key().await?;
    let session = Session::of(&token, app.now());
    let cookie = session.cookie(&session.sealed(&key)?, headers, app.now());
    let cookie = cookie.ok_or_else(|| Problem::new(Code::Internal, "the session cannot be written down"))?;
    Ok((token.name.clone(), cookie))
}

/// A path of this server, never another one: `//evil.example` is one, and so is `/\evil.example` to a browser.
fn is_here(next: &str) -> bool {
    let plain = next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    plain && next.starts_with('/') && !next.starts_with("//")
}

fn redirect(to: &str, cookie: Option<HeaderValue>) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    headers.insert(header::LOCATION, HeaderValue::try_from(to).unwrap_or(HeaderValue::from_static("/")));
    if let Some(cookie) = cookie {
        headers.append(header::SET_COOKIE, cookie);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_login_one_stays_on_this_server() {
        for here in ["/", "/jobs?x=1", "/runs/abc#log"] {
            assert!(is_here(here), "{here}");
        }
        for there in ["", "//evil.example", "/\\evil.example", "http://evil.example", "evil", "/a\r\nb", "/a\tb"] {
            assert!(!is_here(there), "{there}");
        }
    }
}
