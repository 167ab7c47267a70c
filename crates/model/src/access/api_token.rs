//! A token of the API: a name, a role and an end. The token itself is not here, only its hash.
//!
//! Invariant: a name belongs to one token that is alive; a revoked or expired one lets nobody in, whatever comes later.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::access::executor_scope::{ExecutorScope, ScopeRefusal};
use crate::access::role::Role;
use crate::id::{EntityId, Kind};
use crate::limits::{ENDED_SESSIONS_MAX, TOKEN_EXPIRY_MAX, TOKEN_KEPT, TOKEN_NAME_MAX_BYTES, TOKEN_USE_NOTED};
use crate::object::{Misplaced, Object};
use crate::text::is_default;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiToken {
    pub name: String,
    pub role: Role,
    /// SHA-256 of the token, in hexadecimal digits.
    pub hash: String,
    /// How the token begins, so that people know which one it is.
    pub prefix: String,
    pub created_at: Timestamp,
    pub created_by: String,
    pub expires_at: Option<Timestamp>,
    /// To within an hour.
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    /// Whom executors that register with it may serve.
    #[serde(default, skip_serializing_if = "is_default")]
    pub scope: ExecutorScope,
    /// Sessions of browsers that ended before their time, and when that would have been.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ended_sessions: BTreeMap<Uuid, Timestamp>,
    /// Sessions that began until then are over.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sessions_ended_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub forgotten: bool,
}

/// What a new token is to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewApiToken {
    pub name: String,
    pub role: Role,
    pub hash: String,
    pub prefix: String,
    pub created_by: String,
    pub expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub scope: ExecutorScope,
}

/// The session of a browser that showed a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrowserSession {
    pub id: Uuid,
    pub begun_at: Timestamp,
}

/// One issue of a token: another token of the same name is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TokenIdentity {
    #[serde(rename = "token")]
    pub id: Uuid,
    pub issued_at: Timestamp,
}

impl ApiToken {
    pub fn identity(&self, id: Uuid) -> TokenIdentity {
        TokenIdentity { id, issued_at: self.created_at }
    }

    /// The one token of this name.
    pub fn id(name: &str) -> EntityId {
        EntityId::named(Kind::ApiToken, name)
    }

    /// Whether it lets anybody in.
    pub fn is_alive(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }

    /// Whether a browser's session with this token was ended.
    pub fn is_session_over(&self, session: BrowserSession) -> bool {
        self.ended_sessions.contains_key(&session.id) || self.sessions_ended_at.is_some_and(|at| session.begun_at <= at)
    }

    /// Whether its use is worth writing down.
    pub fn is_use_news(&self, now: Timestamp) -> bool {
        self.last_used_at.is_none_or(|last| now.since(last) >= TOKEN_USE_NOTED)
    }

    fn ended_at(&self) -> Option<Timestamp> {
        self.revoked_at.or(self.expires_at)
    }
}

#[derive(Debug, Clone)]
pub enum ApiTokenCommand {
    Issue(NewApiToken),
    /// The same, in the place of one that is still alive: that one ends.
    Replace(NewApiToken),
    Revoke,
    /// It was used.
    Note,
    /// A browser's session ends before its time, which would have been `until`.
    EndSession {
        session: Uuid,
        until: Timestamp,
    },
    /// It ended long ago.
    Forget,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
pub enum ApiTokenEvent {
    TokenIssued(NewApiToken),
    TokenUsed {},
    SessionEnded {
        session: Uuid,
        until: Timestamp,
    },
    /// All that there were.
    SessionsEnded {},
    TokenRevoked {},
    TokenForgotten {},
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApiTokenRefusal {
    #[error("there is no such token")]
    NoSuchToken,
    #[error("there is a token {name:?} already: choose another name, or revoke that one first")]
    Exists { name: String },
    #[error(
        "{name:?} is not a name for a token: write 1 to {TOKEN_NAME_MAX_BYTES} letters, digits, '.', '_', '-' or '@'"
    )]
    BadName { name: String },
    #[error("a token expires in the future, within {TOKEN_EXPIRY_MAX}")]
    BadExpiry,
    #[error(transparent)]
    BadScope(#[from] ScopeRefusal),
}

impl Object for ApiToken {
    const KIND: Kind = Kind::ApiToken;
    const CHECKPOINT_EVERY: Option<u64> = Some(50);
    type Command = ApiTokenCommand;
    type Event = ApiTokenEvent;
    type Refusal = ApiTokenRefusal;

    fn decide(
        _id: Uuid,
        before: Option<&ApiToken>,
        command: ApiTokenCommand,
        now: Timestamp,
    ) -> Result<Vec<ApiTokenEvent>, ApiTokenRefusal> {
        match (command, before) {
            (ApiTokenCommand::Issue(new), Some(token)) if token.is_alive(now) => {
                Err(ApiTokenRefusal::Exists { name: new.name })
            }
            (ApiTokenCommand::Issue(new) | ApiTokenCommand::Replace(new), _) => issue(new, now),
            (_, None) => Err(ApiTokenRefusal::NoSuchToken),
            (ApiTokenCommand::Revoke, Some(token)) if token.revoked_at.is_some() => Ok(vec![]),
            (ApiTokenCommand::Revoke, Some(_)) => Ok(vec![ApiTokenEvent::TokenRevoked {}]),
            (ApiTokenCommand::Note, Some(token)) if token.is_alive(now) && token.is_use_news(now) => {
                Ok(vec![ApiTokenEvent::TokenUsed {}])
            }
            (ApiTokenCommand::Note, Some(_)) => Ok(vec![]),
            (ApiTokenCommand::EndSession { session, until }, Some(token)) => {
                Ok(end_session(token, session, until, now).into_iter().collect())
            }
            (ApiTokenCommand::Forget, Some(token)) if token.next_turn().is_some_and(|at| at <= now) => {
                Ok(vec![ApiTokenEvent::TokenForgotten {}])
            }
            (ApiTokenCommand::Forget, Some(_)) => Ok(vec![]),
        }
    }

    fn apply(_id: Uuid, before: Option<ApiToken>, event: &ApiTokenEvent, at: Timestamp) -> Result<ApiToken, Misplaced> {
        match (event, before) {
            (ApiTokenEvent::TokenIssued(new), _) => Ok(issued(new.clone(), at)),
            (ApiTokenEvent::TokenUsed {}, Some(token)) => Ok(ApiToken { last_used_at: Some(at), ..token }),
            (ApiTokenEvent::SessionEnded { session, until }, Some(mut token)) => {
                // One that would have ended by itself need not be remembered any longer.
                token.ended_sessions.retain(|_, until| *until > at);
                token.ended_sessions.insert(*session, *until);
                Ok(token)
            }
            (ApiTokenEvent::SessionsEnded {}, Some(token)) => {
                Ok(ApiToken { ended_sessions: BTreeMap::new(), sessions_ended_at: Some(at), ..token })
            }
            (ApiTokenEvent::SessionEnded { .. }, None) => Err(Misplaced { event: "SessionEnded" }),
            (ApiTokenEvent::SessionsEnded {}, None) => Err(Misplaced { event: "SessionsEnded" }),
            (ApiTokenEvent::TokenRevoked {}, Some(token)) => Ok(ApiToken { revoked_at: Some(at), ..token }),
            (ApiTokenEvent::TokenForgotten {}, Some(token)) => Ok(ApiToken { forgotten: true, ..token }),
            (ApiTokenEvent::TokenUsed {}, None) => Err(Misplaced { event: "TokenUsed" }),
            (ApiTokenEvent::TokenRevoked {}, None) => Err(Misplaced { event: "TokenRevoked" }),
            (ApiTokenEvent::TokenForgotten {}, None) => Err(Misplaced { event: "TokenForgotten" }),
        }
    }

    /// One that ended is listed for a while, then forgotten.
    fn next_turn(&self) -> Option<Timestamp> {
        self.ended_at().map(|end| end.plus(TOKEN_KEPT))
    }

    fn is_over(&self) -> bool {
        self.forgotten
    }
}

fn issue(new: NewApiToken, now: Timestamp) -> Result<Vec<ApiTokenEvent>, ApiTokenRefusal> {
    if !is_name(&new.name) {
        return Err(ApiTokenRefusal::BadName { name: new.name });
    }
    if new.expires_at.is_some_and(|end| end <= now || end > now.plus(TOKEN_EXPIRY_MAX)) {
        return Err(ApiTokenRefusal::BadExpiry);
    }
    new.scope.validate(new.role)?;
    Ok(vec![ApiTokenEvent::TokenIssued(new)])
}

fn end_session(token: &ApiToken, session: Uuid, until: Timestamp, now: Timestamp) -> Option<ApiTokenEvent> {
    if until <= now || !token.is_alive(now) || token.ended_sessions.contains_key(&session) {
        return None;
    }
    let remembered = token.ended_sessions.values().filter(|until| **until > now).count();
    Some(match remembered < ENDED_SESSIONS_MAX {
        true => ApiTokenEvent::SessionEnded { session, until },
        false => ApiTokenEvent::SessionsEnded {},
    })
}

fn issued(new: NewApiToken, at: Timestamp) -> ApiToken {
    let NewApiToken { name, role, hash, prefix, created_by, expires_at, scope } = new;
    ApiToken {
        name,
        role,
        hash,
        prefix,
        created_at: at,
        created_by,
        expires_at,
        last_used_at: None,
        revoked_at: None,
        scope,
        ended_sessions: BTreeMap::new(),
        sessions_ended_at: None,
        forgotten: false,
    }
}

fn is_name(name: &str) -> bool {
    (1..=TOKEN_NAME_MAX_BYTES).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'@'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Millis;

    const HOUR: i64 = 3_600_000;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ms(ms).unwrap()
    }

    fn new(hash: &str, expires_at: Option<Timestamp>) -> NewApiToken {
        NewApiToken {
            name: "ci".into(),
            role: Role::Operator,
            hash: hash.into(),
            prefix: "ordo_o_abc".into(),
            created_by: "admin".into(),
            expires_at,
            scope: ExecutorScope::default(),
        }
    }

    fn play(commands: Vec<(i64, ApiTokenCommand)>) -> Result<ApiToken, ApiTokenRefusal> {
        let (id, mut state) = (ApiToken::id("ci").id, None);
        for (ms, command) in commands {
            for event in ApiToken::decide(id, state.as_ref(), command, at(ms))? {
                state = Some(ApiToken::apply(id, state, &event, at(ms)).unwrap());
            }
        }
        state.ok_or(ApiTokenRefusal::NoSuchToken)
    }

    #[test]
    fn a_name_belongs_to_one_living_token() {
        use ApiTokenCommand::{Issue, Replace, Revoke};
        let twice = play(vec![(0, Issue(new("1", None))), (1, Issue(new("2", None)))]);
        assert_eq!(twice, Err(ApiTokenRefusal::Exists { name: "ci".into() }));
        let after_revocation = play(vec![(0, Issue(new("1", None))), (1, Revoke), (2, Issue(new("2", None)))]).unwrap();
        assert_eq!((after_revocation.hash.as_str(), after_revocation.revoked_at), ("2", None));
        let after_expiry = play(vec![(0, Issue(new("1", Some(at(5))))), (5, Issue(new("2", None)))]).unwrap();
        assert!(after_expiry.is_alive(at(9)));
        assert_eq!(play(vec![(0, Issue(new("1", None))), (1, Replace(new("2", None)))]).unwrap().hash, "2");
    }

    #[test]
    fn a_token_ends_by_its_expiry_or_by_revocation() {
        use ApiTokenCommand::{Issue, Revoke};
        let token = play(vec![(0, Issue(new("1", Some(at(5)))))]).unwrap();
        assert!(token.is_alive(at(4)) && !token.is_alive(at(5)));
        let token = play(vec![(0, Issue(new("1", None))), (7, Revoke), (8, Revoke)]).unwrap();
        assert_eq!((token.is_alive(at(7)), token.revoked_at), (false, Some(at(7))));
        assert_eq!(play(vec![(0, Revoke)]), Err(ApiTokenRefusal::NoSuchToken));
    }

    #[test]
    fn its_use_is_noted_once_an_hour() {
        use ApiTokenCommand::{Issue, Note, Revoke};
        let used = |notes: &[i64]| {
            let notes = notes.iter().map(|ms| (*ms, Note));
            play([(0, Issue(new("1", None)))].into_iter().chain(notes).collect()).unwrap().last_used_at
        };
        assert_eq!(used(&[]), None);
        assert_eq!(used(&[1, HOUR, HOUR / 2]), Some(at(1)));
        assert_eq!(used(&[1, HOUR + 1]), Some(at(HOUR + 1)));
        let revoked = play(vec![(0, Issue(new("1", None))), (1, Revoke), (2, Note)]).unwrap();
        assert_eq!(revoked.last_used_at, None, "a dead token is not used");
    }

    #[test]
    fn a_session_that_was_ended_is_over_and_the_others_go_on() {
        use ApiTokenCommand::{EndSession, Issue};
        let session = |id: u128, ms: i64| BrowserSession { id: Uuid::from_u128(id), begun_at: at(ms) };
        let end = |id: u128, until: i64| EndSession { session: Uuid::from_u128(id), until: at(until) };
        let token = play(vec![(0, Issue(new("1", None))), (5, end(1, 100)), (6, end(1, 100))]).unwrap();
        assert!(token.is_session_over(session(1, 2)) && !token.is_session_over(session(2, 2)));
        let later = play(vec![(0, Issue(new("1", None))), (5, end(1, 100)), (200, end(2, 300))]).unwrap();
        assert_eq!(later.ended_sessions.len(), 1, "what would be over by now is forgotten");
        let many = (0..=ENDED_SESSIONS_MAX as u128).map(|id| (9, end(id, 100)));
        let full = play([(0, Issue(new("1", None)))].into_iter().chain(many).collect()).unwrap();
        assert!(full.ended_sessions.is_empty() && full.is_session_over(session(7, 9)), "all of them are over");
        assert!(!full.is_session_over(session(8, 10)));
        let again =
            play(vec![(0, Issue(new("1", None))), (1, end(1, 9)), (2, ApiTokenCommand::Replace(new("2", None)))]);
        assert!(again.unwrap().ended_sessions.is_empty(), "another token has sessions of its own");
    }

    #[test]
    fn one_that_ended_is_forgotten_after_a_while_and_not_before() {
        use ApiTokenCommand::{Forget, Issue, Revoke};
        let kept = i64::try_from(TOKEN_KEPT.ms()).unwrap();
        let story = |ms: i64| play(vec![(0, Issue(new("1", None))), (1, Revoke), (ms, Forget)]).unwrap();
        assert!(!story(kept).is_over() && story(kept + 1).is_over());
        assert_eq!(story(2).next_turn(), Some(at(kept + 1)));
        assert_eq!(play(vec![(0, Issue(new("1", None)))]).unwrap().next_turn(), None);
    }

    #[test]
    fn names_and_expiries_are_checked() {
        let named =
            |name: &str| play(vec![(0, ApiTokenCommand::Issue(NewApiToken { name: name.into(), ..new("1", None) }))]);
        for bad in ["", "a b", "ä", "a/b", &"x".repeat(129)] {
            assert!(matches!(named(bad), Err(ApiTokenRefusal::BadName { .. })), "{bad:?}");
        }
        assert!(named("admin@node-1").is_ok());
        let until = |end: Timestamp| play(vec![(5, ApiTokenCommand::Issue(new("1", Some(end))))]);
        assert_eq!(until(at(5)), Err(ApiTokenRefusal::BadExpiry));
        assert_eq!(until(at(6).plus(TOKEN_EXPIRY_MAX)), Err(ApiTokenRefusal::BadExpiry));
        assert!(until(at(5).plus(Millis::from_days(90))).is_ok());
    }
}
