//! Who is asking.

use ordo_engine::Versioned;
use ordo_model::api_token::{ApiToken, BrowserSession, TokenIdentity};
use ordo_model::credential::to_use;
use ordo_model::executor::{Owner, Speaker};
use ordo_model::executor_scope::ExecutorScope;
use ordo_model::{Actor, ActorSource, Kind, Right, Role, Timestamp};

use crate::auth::session::Session;

/// Whoever was let in; the guard puts it into the request's extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The name of the token, or `local` for the socket.
    pub name: String,
    pub role: Role,
    /// The way it came.
    pub(crate) source: ActorSource,
    /// What let it in; None: the socket.
    pub(crate) credential: Option<Credential>,
    /// Whom executors that it registers may serve.
    pub(crate) scope: ExecutorScope,
}

/// What let somebody in, and for how long at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Credential {
    pub(crate) token: TokenIdentity,
    /// The session of a browser that showed the token once.
    pub(crate) session: Option<BrowserSession>,
    pub(crate) until: Option<Timestamp>,
}

impl Credential {
    /// Whether the token as it is now still lets its holder in.
    pub(crate) fn is_good(&self, token: &ApiToken, now: Timestamp) -> bool {
        token.is_alive(now)
            && token.identity(self.token.id) == self.token
            && self.until.is_none_or(|until| now < until)
            && !self.session.is_some_and(|session| token.is_session_over(session))
    }
}

impl Caller {
    /// Whoever may open the socket of the server is its owner.
    pub(crate) fn socket(source: ActorSource) -> Caller {
        let (name, scope) = ("local".into(), ExecutorScope::default());
        Caller { name, role: Role::Admin, source, credential: None, scope }
    }

    /// The session of a browser is a page's, wherever it leads.
    pub(crate) fn with(token: &Versioned<ApiToken>, session: Option<&Session>, source: ActorSource) -> Caller {
        let source = if session.is_some() { ActorSource::Page } else { source };
        let ends = token.expires_at.into_iter().chain(session.map(|session| session.until));
        let (token_is, browser) = (token.identity(token.id), session.map(|session| session.browser));
        let credential = Credential { token: token_is, session: browser, until: ends.min() };
        let (name, scope) = (token.name.clone(), token.scope.clone());
        Caller { name, role: token.role, source, credential: Some(credential), scope }
    }

    /// As the events say that it brings about.
    pub(crate) fn actor(&self) -> Actor {
        Actor::new(self.name.clone(), self.source)
    }

    pub fn may(&self, right: Right) -> bool {
        self.role.may(right)
    }

    /// Whether it sees the credentials of such an entity: those who may use them do.
    pub(crate) fn sees_credentials(&self, kind: Kind) -> bool {
        to_use(kind).is_none_or(|right| self.may(right))
    }

    /// For which executors it may speak: an admin for all, anybody else for those that are its own.
    pub(crate) fn speaker(&self) -> Speaker {
        match &self.credential {
            Some(credential) if !self.may(Right::Administer) => Speaker::Token(credential.token),
            Some(_) | None => Speaker::Admin,
        }
    }

    /// To whom an executor belongs that it registers.
    pub(crate) fn owner(&self) -> Option<Owner> {
        self.credential.as_ref().map(|credential| Owner { token: credential.token, name: self.name.clone() })
    }
}
