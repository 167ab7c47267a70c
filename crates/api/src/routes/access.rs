//! The routes of secrets and tokens, and how a browser gets in and out.

use super::{ADMIN, Delete, Get, OPEN, Post, Put, SEALS, text};
use crate::access::{LoginForm, NewToken, Resealed, SecretValue, SecretView, TokenView};
use crate::code::Code;
use crate::operation::Operation;
use crate::route::{Method, Need, READS, Route, WRITES};

fn route(method: Method, path: &'static str, need: Need) -> Route {
    Route::new(method, path, need, "access")
}

pub(crate) fn list_secrets() -> Route {
    route(Get, "/v1/secrets", ADMIN)
        .summary("The names of all secrets")
        .saying("By name. A value is never answered.")
        .paged::<SecretView>("A page of names.")
        .refuses(READS)
}

pub(crate) fn put_secret() -> Route {
    route(Put, "/v1/secrets/{name}", ADMIN)
        .summary("Keep a value under a name")
        .saying(
            "A job refers to it by `{\"secret\": \"name\"}` wherever its `tool_input` takes a text, or by \
             `{\"secret\": \"name\", \"prefix\": \"Bearer \"}`. The value is sealed with the server's key file.",
        )
        .body::<SecretValue>()
        .answers::<SecretView>(200, "The secret has the new value.")
        .answers::<SecretView>(201, "The secret is new.")
        .refuses(&[Code::InvalidSecret, Code::SecretNotFound])
        .refuses(SEALS)
        .refuses(WRITES)
}

pub(crate) fn remove_secret() -> Route {
    route(Delete, "/v1/secrets/{name}", ADMIN)
        .summary("Forget a secret")
        .saying("Attempts that refer to it fail from now on and say why.")
        .answers::<SecretView>(200, "What was removed.")
        .refuses(&[Code::SecretNotFound])
        .refuses(WRITES)
}

pub(crate) fn reseal_secrets() -> Route {
    route(Post, "/v1/store/reseal", ADMIN)
        .summary("Seal all secrets with the first key of the key file")
        .saying("After a new key was put before the old one; the old one is needed no more then.")
        .answers::<Resealed>(200, "How many there are.")
        .refuses(SEALS)
        .refuses(WRITES)
}

pub(crate) fn list_tokens() -> Route {
    route(Get, "/v1/tokens", ADMIN)
        .summary("All tokens, without their text")
        .saying("By name. One that was revoked or has expired is listed for 30 days more.")
        .paged::<TokenView>("A page of tokens.")
        .refuses(READS)
}

pub(crate) fn create_token() -> Route {
    route(Post, "/v1/tokens", ADMIN)
        .summary("Make a token")
        .saying("The answer holds its text, and no other answer ever will. Without an expiry it ends by revocation.")
        .body::<NewToken>()
        .answers::<TokenView>(201, "The token.")
        .leads_to(201, &[Operation::RevokeToken], "id", "$response.body#/id")
        .refuses(&[Code::InvalidToken, Code::TokenExists, Code::IdempotencyKeyUnsupported])
        .refuses(WRITES)
}

pub(crate) fn revoke_token() -> Route {
    route(Delete, "/v1/tokens/{id}", ADMIN)
        .summary("Revoke a token")
        .saying(
            "It lets nobody in from now on, nor do the sessions of browsers that showed it; on other nodes within two \
             seconds.",
        )
        .answers::<TokenView>(200, "The token.")
        .refuses(&[Code::TokenNotFound])
        .refuses(WRITES)
}

fn login(method: Method) -> Route {
    route(method, "/login", OPEN)
        .answers_as(303, "The browser has a session: on to the dashboard.", Vec::new())
        .header(303, "Location", "Where to go.")
        .header(303, "Set-Cookie", "The session.")
        .refuses(&[Code::Unauthorized, Code::RateLimited])
        .refuses(SEALS)
        .refuses(READS)
}

pub(crate) fn login_link() -> Route {
    login(Get)
        .summary("Log a browser in by a link")
        .query("token", text(), "A token.")
        .query("next", text(), "The path to go to.")
        .refuses(&[Code::InvalidQuery])
}

pub(crate) fn login_form() -> Route {
    login(Post).summary("Log a browser in by a form").form::<LoginForm>()
}

pub(crate) fn logout() -> Route {
    route(Post, "/logout", OPEN)
        .summary("End the session of a browser")
        .answers_as(303, "Back to the login page.", Vec::new())
        .header(303, "Location", "Where to go.")
        .header(303, "Set-Cookie", "The session that ends.")
        .refuses(SEALS)
        .refuses(WRITES)
}
