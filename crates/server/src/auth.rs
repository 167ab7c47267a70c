//! Who may ask: whoever holds the token, or sits behind the Unix socket.
//!
//! Invariant: a route is closed unless it is listed as open; the token itself is not kept, only its hash.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::Response;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::app::App;
use crate::code::Code;
use crate::peer::Peer;
use crate::problem::Problem;

/// Routes that need no token.
const OPEN: [&str; 4] = ["/healthz", "/readyz", "/metrics", "/openapi.json"];
/// Scripts, styles and icons of the dashboard: the same for everybody, also on the page that asks for a token.
const OPEN_BELOW: &str = "/assets/";

/// The tokens that are let in over TCP.
#[derive(Clone)]
pub struct Auth {
    admin: Option<[u8; 32]>,
}

impl std::fmt::Debug for Auth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Auth").field("has_token", &self.admin.is_some()).finish()
    }
}

impl Auth {
    /// Lets in whoever sends this token. An empty one lets nobody in.
    pub fn token(secret: &str) -> Auth {
        let secret = secret.trim();
        Auth { admin: (!secret.is_empty()).then(|| digest(secret)) }
    }

    /// Lets nobody in over TCP: the server is used through its Unix socket.
    pub fn socket_only() -> Auth {
        Auth { admin: None }
    }

    fn admits(&self, given: &str) -> bool {
        let given = given.trim();
        match &self.admin {
            Some(admin) if !given.is_empty() => digest(given).ct_eq(admin).into(),
            Some(_) | None => false,
        }
    }
}

fn digest(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

pub(crate) async fn guard(State(app): State<App>, request: Request, next: Next) -> Result<Response, Problem> {
    let peer = request.extensions().get::<Peer>().cloned().unwrap_or_default();
    peer.check_host(request.headers())?;
    if !peer.is_local() && !is_open(request.uri().path()) {
        check_token(&app.auth, request.headers())?;
    }
    Ok(next.run(request).await)
}

fn is_open(path: &str) -> bool {
    OPEN.contains(&path) || path.starts_with(OPEN_BELOW)
}

fn check_token(auth: &Auth, headers: &HeaderMap) -> Result<(), Problem> {
    let refuse = |text: &str| Problem::new(Code::Unauthorized, text);
    let Some(token) = bearer(headers) else {
        return Err(refuse("send the token as `Authorization: Bearer <token>`; the server keeps it in .ordo/token"));
    };
    if auth.admits(token) { Ok(()) } else { Err(refuse("the token is not one of this server's")) }
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
    fn only_the_token_is_let_in() {
        let auth = Auth::token("s3cret\n");
        assert!(auth.admits("s3cret"));
        for wrong in ["", " ", "s3cre", "s3cret2", "S3CRET"] {
            assert!(!auth.admits(wrong), "{wrong:?}");
        }
    }

    #[test]
    fn without_a_token_nobody_is_let_in() {
        for auth in [Auth::token("  "), Auth::token(""), Auth::socket_only()] {
            assert!(!auth.admits("") && !auth.admits(" ") && !auth.admits("x"));
        }
    }

    #[test]
    fn the_token_does_not_show_in_debug_output() {
        assert_eq!(format!("{:?}", Auth::token("s3cret")), "Auth { has_token: true }");
    }
}
