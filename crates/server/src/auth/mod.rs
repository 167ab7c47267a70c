//! Who may ask: whoever sits behind the Unix socket, holds a token, or showed one in this browser.
//!
//! Invariant: nothing behind this guard runs for a request whose route, role and origin were not judged. The text of a
//! token is not kept, only its hash.

pub(crate) mod access;
pub(crate) mod caller;
pub(crate) mod known_tokens;
pub(crate) mod login;
pub(crate) mod origin;
pub(crate) mod session;

use std::sync::Arc;

use axum::extract::{MatchedPath, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::{IntoResponse, Response};
use ordo_api::Code;
use ordo_api::Need;
use ordo_engine::Versioned;
use ordo_engine::tokens::TokenHash;
use ordo_model::api_token::ApiToken;
use ordo_model::{ActorSource, Right};

use crate::app::App;
use crate::auth::access::need;
use crate::auth::caller::Caller;
use crate::auth::known_tokens::{KnownTokens, TokenKey};
use crate::auth::session::Session;
use crate::http::peer::Peer;
use crate::http::problem::Problem;
use crate::http::rate::Allowance;

/// Routes for callers that are no users: signed, or known by a secret in the path.
const CALLED_BY_OTHERS: [&str; 5] = ["/hooks/", "/ping/", "/badge/", "/slack/", "/xxl-job-admin/"];

/// How a client may call itself.
const CLIENT: HeaderName = HeaderName::from_static("ordo-client");

/// How tokens are recognised. Which tokens there are stands in the store.
#[derive(Debug, Default)]
pub struct Auth {
    /// The token in the server's own folder: it has no limit.
    local: Option<TokenHash>,
    pub(crate) known: KnownTokens,
}

impl Auth {
    /// The token in the server's own folder. It must be among the tokens of the engine, like every other.
    pub fn token(secret: &str) -> Auth {
        let secret = secret.trim();
        Auth { local: (!secret.is_empty()).then(|| TokenHash::of(secret)), ..Auth::default() }
    }

    /// The server has no token of its own.
    pub fn socket_only() -> Auth {
        Auth::default()
    }

    fn is_local(&self, token: &ApiToken) -> bool {
        self.local.as_ref().is_some_and(|local| local.as_str() == token.hash)
    }
}

/// What a request that was let in brings along.
struct Admitted {
    caller: Option<Caller>,
    allowance: Option<Allowance>,
}

pub(crate) async fn guard<F: Future<Output = Response>>(
    app: &App,
    request: Request,
    next: impl FnOnce(Request) -> F,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let Admitted { caller, allowance } = match admit(app, &parts).await {
        Ok(admitted) => admitted,
        Err(refusal) => return *refusal,
    };
    if let Some(caller) = caller {
        parts.extensions.insert(caller);
    }
    let mut response = next(Request::from_parts(parts, body)).await;
    if let Some(allowance) = allowance {
        allowance.write_to(response.headers_mut());
    }
    response
}

type AccessRefusal = Box<Response>;

async fn admit(app: &App, request: &Parts) -> Result<Admitted, AccessRefusal> {
    let (method, headers) = (&request.method, &request.headers);
    let peer = request.extensions.get::<Peer>().cloned().unwrap_or_default();
    let route = request.extensions.get::<MatchedPath>().map(MatchedPath::as_str);
    // Others call by whatever name leads here, and prove themselves in ways of their own.
    if !route.is_some_and(|route| CALLED_BY_OTHERS.iter().any(|prefix| route.starts_with(prefix))) {
        peer.check_host(headers).map_err(answer)?;
    }
    origin::refuse_foreign(method, headers).map_err(answer)?;
    let need = route.map(|route| need(method, route));
    let source = source(route, need, headers);
    if peer.is_local() {
        return Ok(Admitted { caller: Some(Caller::socket(source)), allowance: None });
    }
    if need == Some(Need::Open) {
        return Ok(Admitted { caller: None, allowance: None });
    }
    let shown = show(app, headers).await.map_err(answer)?;
    if shown.session.is_some() && !method.is_safe() {
        origin::require_own(method, headers).map_err(answer)?;
    }
    let is_local = app.auth.is_local(&shown.token);
    let allowance = within(if is_local { None } else { app.rates.of_token(shown.token.id) })?;
    let caller = Caller::with(&shown.token, shown.session.as_ref(), source);
    match need {
        // A missing route may be named to whoever was let in.
        Some(Need::Open) | None => {}
        Some(Need::Right(right)) => check_right(&caller, right).map_err(answer)?,
        // Of what it has a run is judged where that is known.
        Some(Need::RightOrHolder(_)) if caller.may(Right::Execute) => {}
        Some(Need::RightOrHolder(right)) => check_right(&caller, right).map_err(answer)?,
    }
    Ok(Admitted { caller: Some(caller), allowance })
}

/// The way a request comes: by what it asks for; only the command line is believed to be what it says.
fn source(route: Option<&str>, need: Option<Need>, headers: &HeaderMap) -> ActorSource {
    let claimed = || headers.get(CLIENT).and_then(|value| value.to_str().ok());
    match (route, need) {
        (_, Some(Need::Right(Right::Execute))) => ActorSource::Executor,
        (Some(route), _) if !route.starts_with("/v1/") => ActorSource::Page,
        (_, _) => ActorSource::Api.calling_itself(claimed()),
    }
}

fn within(allowance: Option<Allowance>) -> Result<Option<Allowance>, AccessRefusal> {
    match allowance.and_then(|allowance| allowance.refusal()) {
        Some(refusal) => Err(Box::new(refusal)),
        None => Ok(allowance),
    }
}

fn answer(problem: Problem) -> AccessRefusal {
    Box::new(problem.into_response())
}

fn check_right(caller: &Caller, right: Right) -> Result<(), Problem> {
    if caller.may(right) {
        return Ok(());
    }
    let detail = format!("the token {:?} has the role {}; this needs {}", caller.name, caller.role, right.least());
    Err(Problem::new(Code::Forbidden, detail))
}

/// A token that lets somebody in, and how it was shown.
struct PresentedToken {
    token: Arc<Versioned<ApiToken>>,
    /// By the cookie of this session; None: in the clear.
    session: Option<Session>,
}

/// A token that was sent counts before a cookie: whoever sends one means it.
async fn show(app: &App, headers: &HeaderMap) -> Result<PresentedToken, Problem> {
    if headers.contains_key(header::AUTHORIZATION) {
        let token = bearer(headers).ok_or_else(|| refuse("send the token as `Authorization: Bearer <token>`"))?;
        let token = find(app, token).await?.ok_or_else(|| refuse("the token is not one of this server's, or ended"))?;
        return Ok(PresentedToken { token, session: None });
    }
    let Some(cookie) = session::sent(headers) else {
        return Err(refuse(
            "send the token as `Authorization: Bearer <token>`; the server keeps its own in .ordo/token",
        ));
    };
    let found = of_session(app, &cookie).await?;
    let (session, token) = found.ok_or_else(|| refuse("the session has ended: log in again"))?;
    Ok(PresentedToken { token, session: Some(session) })
}

fn refuse(text: &str) -> Problem {
    Problem::new(Code::Unauthorized, text)
}

/// The token with this text, if it lets anybody in.
pub(crate) async fn find(app: &App, text: &str) -> Result<Option<Arc<Versioned<ApiToken>>>, Problem> {
    let key = TokenKey::Hash(TokenHash::of(text));
    Ok(app.auth.known.find(app.engine.by_itself().tokens(), key, app.now()).await?)
}

/// The session in a cookie with its token, if both let somebody in.
pub(crate) async fn of_session(
    app: &App,
    cookie: &str,
) -> Result<Option<(Session, Arc<Versioned<ApiToken>>)>, Problem> {
    let keys = app.engine.secrets().keyring().keys().map_err(ordo_engine::secrets::SecretsError::from)?;
    let Some(session) = Session::opened(cookie, &keys, app.now()) else { return Ok(None) };
    let found = app.auth.known.find(app.engine.by_itself().tokens(), TokenKey::Id(session.token), app.now()).await?;
    Ok(found.filter(|token| session.is_of(token)).map(|token| (session, token)))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_does_not_show_in_debug_output() {
        assert!(!format!("{:?}", Auth::token("s3cret")).contains("s3cret"));
        assert!(Auth::token("  ").local.is_none() && Auth::socket_only().local.is_none());
    }
}
