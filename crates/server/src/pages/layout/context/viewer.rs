//! Who looks at a page, and what they may do there.
//!
//! Invariant: the pages ask here and nowhere else; whoever may not act sees no button and is refused when acting.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use ordo_model::Right;

use crate::auth::caller::Caller;
use crate::auth::session;

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

    /// Whoever was let in; nobody, on a page that says why somebody was not.
    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Viewer, Infallible> {
        let caller = parts.extensions.get::<Caller>();
        let may = |right| caller.is_some_and(|caller| caller.may(right));
        Ok(Viewer {
            name: caller.map(|caller| caller.name.clone()).unwrap_or_default(),
            may_operate: may(Right::Operate),
            may_admin: may(Right::Administer),
            may_leave: session::sent(&parts.headers).is_some(),
        })
    }
}
