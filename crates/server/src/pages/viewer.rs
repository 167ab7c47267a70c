//! Who looks at a page, and what they may do there.
//!
//! Invariant: the pages ask here and nowhere else; whoever may not act sees no button and is refused when acting.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Viewer {
    pub(crate) name: String,
    /// Trigger, pause, cancel, create, change.
    pub(crate) may_operate: bool,
    /// Tokens and the store.
    pub(crate) may_admin: bool,
    /// Signed in by a cookie, so that signing out means something.
    pub(crate) may_leave: bool,
}

impl<S: Send + Sync> FromRequestParts<S> for Viewer {
    type Rejection = Infallible;

    /// Whoever was let in is an administrator: there is one token.
    async fn from_request_parts(_parts: &mut Parts, _state: &S) -> Result<Viewer, Infallible> {
        Ok(Viewer { name: "admin".to_owned(), may_operate: true, may_admin: true, may_leave: false })
    }
}
