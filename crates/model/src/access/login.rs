//! A login to the dashboard: who came in, or that somebody was turned away. Kept for a while, for those who look back.
//!
//! Invariant: a token never stands here, right or wrong. Whoever is turned away again and again on one day is one login
//! with a count, and the count has an end: nobody fills the store by guessing. Whoever comes in again and again in one minute
//! is one login too.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::id::{EntityId, Kind};
use crate::limits::{LOGIN_DENIALS_MAX, LOGIN_RETENTION};
use crate::object::{Misplaced, Object};
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Login {
    /// Where it came from, as far as the server can tell.
    pub address: String,
    /// How often somebody was turned away; 0: somebody came in.
    pub denied: u32,
    pub at: Timestamp,
    #[serde(default, skip_serializing_if = "crate::text::is_default")]
    pub is_forgotten: bool,
}

#[derive(Debug, Clone)]
pub enum LoginCommand {
    Enter {
        address: String,
    },
    Deny {
        address: String,
    },
    /// Its time is over.
    Forget,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
pub enum LoginEvent {
    LoggedIn { address: String },
    LoginDenied { address: String },
    LoginForgotten {},
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no such login")]
pub struct NoSuchLogin;

impl Login {
    /// All that are turned away from one address on one day.
    pub fn denied_id(address: &str, now: Timestamp) -> Uuid {
        EntityId::named(Kind::Login, &format!("{address} {}", now.ms() / 86_400_000)).id
    }

    /// All with which the holder of one token comes in from one address in one minute.
    pub fn entered_id(name: &str, address: &str, now: Timestamp) -> Uuid {
        EntityId::named(Kind::Login, &format!("{name}\n{address}\n{}", now.ms() / 60_000)).id
    }

    fn begun(address: &str, denied: u32, at: Timestamp) -> Login {
        Login { address: address.to_owned(), denied, at, is_forgotten: false }
    }
}

impl Object for Login {
    const KIND: Kind = Kind::Login;
    type Command = LoginCommand;
    type Event = LoginEvent;
    type Refusal = NoSuchLogin;

    fn decide(
        _id: Uuid,
        before: Option<&Login>,
        command: LoginCommand,
        now: Timestamp,
    ) -> Result<Vec<LoginEvent>, NoSuchLogin> {
        match (before, command) {
            // Coming in again and again within a minute is one login: a holder of a token fills no store by that.
            (Some(login), LoginCommand::Enter { .. }) if login.denied == 0 => Ok(Vec::new()),
            (_, LoginCommand::Enter { address }) => Ok(vec![LoginEvent::LoggedIn { address }]),
            (Some(login), LoginCommand::Deny { .. }) if login.denied >= LOGIN_DENIALS_MAX => Ok(Vec::new()),
            (_, LoginCommand::Deny { address }) => Ok(vec![LoginEvent::LoginDenied { address }]),
            (None, LoginCommand::Forget) => Err(NoSuchLogin),
            (Some(login), LoginCommand::Forget) => match login.next_turn() {
                Some(due) if due <= now => Ok(vec![LoginEvent::LoginForgotten {}]),
                Some(_) | None => Ok(Vec::new()),
            },
        }
    }

    fn apply(_id: Uuid, before: Option<Login>, event: &LoginEvent, at: Timestamp) -> Result<Login, Misplaced> {
        match (event, before) {
            (LoginEvent::LoggedIn { address }, _) => Ok(Login::begun(address, 0, at)),
            (LoginEvent::LoginDenied { address }, before) => {
                Ok(Login::begun(address, before.map_or(0, |login| login.denied) + 1, at))
            }
            (LoginEvent::LoginForgotten {}, Some(login)) => Ok(Login { is_forgotten: true, ..login }),
            (LoginEvent::LoginForgotten {}, None) => Err(Misplaced { event: "LoginForgotten" }),
        }
    }

    fn next_turn(&self) -> Option<Timestamp> {
        (!self.is_forgotten).then(|| self.at.plus(LOGIN_RETENTION))
    }

    fn is_over(&self) -> bool {
        self.is_forgotten
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_ms(1_000_000_000_000 + secs * 1_000).unwrap()
    }

    fn play(times: u32, now: Timestamp) -> (Login, usize) {
        let (mut state, mut count) = (None, 0);
        for _ in 0..times {
            let command = LoginCommand::Deny { address: "192.0.2.7".into() };
            for event in Login::decide(Uuid::nil(), state.as_ref(), command, now).unwrap() {
                state = Some(Login::apply(Uuid::nil(), state, &event, now).unwrap());
                count += 1;
            }
        }
        (state.unwrap(), count)
    }

    #[test]
    fn whoever_guesses_on_writes_no_more_than_so_much() {
        let (login, events) = play(LOGIN_DENIALS_MAX + 50, at(0));
        assert_eq!((login.denied, events), (LOGIN_DENIALS_MAX, LOGIN_DENIALS_MAX as usize));
        assert_eq!(Login::denied_id("a", at(0)), Login::denied_id("a", at(60)), "of one day");
        assert_ne!(Login::denied_id("a", at(0)), Login::denied_id("a", at(86_400)));
        assert_ne!(Login::denied_id("a", at(0)), Login::denied_id("b", at(0)));
    }

    #[test]
    fn whoever_comes_in_again_and_again_writes_once_a_minute() {
        let enter = |before: Option<&Login>| {
            Login::decide(Uuid::nil(), before, LoginCommand::Enter { address: "192.0.2.7".into() }, at(0)).unwrap()
        };
        let first = enter(None);
        assert_eq!(first.len(), 1);
        let login = Login::apply(Uuid::nil(), None, &first[0], at(0)).unwrap();
        assert!(enter(Some(&login)).is_empty());
        let id = |name, address, secs| Login::entered_id(name, address, at(secs));
        assert_eq!(id("ana", "a", 0), id("ana", "a", 10));
        assert_ne!(id("ana", "a", 0), id("ana", "a", 60));
        assert_ne!(id("ana", "a", 0), id("ben", "a", 0));
        assert_ne!(id("ana", "a", 0), id("ana", "b", 0));
    }

    #[test]
    fn a_login_is_forgotten_when_its_time_is_over_and_not_before() {
        let (login, _) = play(1, at(0));
        let due = at(0).plus(LOGIN_RETENTION);
        assert_eq!(login.next_turn(), Some(due));
        let forget = |now| Login::decide(Uuid::nil(), Some(&login), LoginCommand::Forget, now).unwrap();
        assert!(forget(at(1)).is_empty());
        let gone = Login::apply(Uuid::nil(), Some(login.clone()), &forget(due)[0], due).unwrap();
        assert!(gone.is_over());
    }
}
