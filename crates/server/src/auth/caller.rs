//! Who is asking.

use ordo_engine::Versioned;
use ordo_model::api_token::ApiToken;
use ordo_model::{Right, Role};
use uuid::Uuid;

/// Whoever was let in; the guard puts it into the request's extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The name of the token, or `local` for the socket.
    pub name: String,
    pub role: Role,
    /// The token; None: the socket.
    pub(crate) token: Option<Uuid>,
}

impl Caller {
    /// Whoever may open the socket of the server is its owner.
    pub(crate) fn socket() -> Caller {
        Caller { name: "local".into(), role: Role::Admin, token: None }
    }

    pub(crate) fn with(token: &Versioned<ApiToken>) -> Caller {
        Caller { name: token.name.clone(), role: token.role, token: Some(token.id) }
    }

    pub fn may(&self, right: Right) -> bool {
        self.role.may(right)
    }
}
