//! Names in paths: ids of jobs, runs and the like, names of streams and secrets. What cannot be one names nothing.

use std::str::FromStr;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use ordo_api::Code;
use ordo_model::hook::is_slug;
use ordo_model::text::quoted;
use ordo_model::{EntityId, JobId, RunId};
use uuid::Uuid;

use crate::http::problem::Problem;

/// The thing that the path names.
#[derive(Debug)]
pub(crate) struct Named<T>(pub(crate) T);

pub(crate) trait Name: FromStr {
    fn missing(given: &str) -> Problem;
}

impl Name for JobId {
    fn missing(given: &str) -> Problem {
        no_such(Code::JobNotFound, "job", given)
    }
}

impl Name for RunId {
    fn missing(given: &str) -> Problem {
        no_such(Code::RunNotFound, "run", given)
    }
}

/// The id of something that has no type of its own for it in the model.
macro_rules! id {
    ($name:ident, $code:ident, $what:literal) => {
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $name(pub(crate) Uuid);

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<$name, uuid::Error> {
                text.parse().map($name)
            }
        }

        impl Name for $name {
            fn missing(given: &str) -> Problem {
                no_such(Code::$code, $what, given)
            }
        }
    };
}

id!(IncidentId, IncidentNotFound, "incident");
id!(NotificationId, NotificationNotFound, "notification");
id!(SilenceId, SilenceNotFound, "silence");
id!(SubscriptionId, SubscriptionNotFound, "subscription");
id!(TokenId, TokenNotFound, "token");

impl Name for EntityId {
    fn missing(given: &str) -> Problem {
        let shown = quoted(given);
        Problem::new(Code::StreamNotFound, format!("there is no stream {shown}: streams are called ordo-job-<uuid>"))
    }
}

/// The slug of a hook.
#[derive(Debug)]
pub(crate) struct Slug(pub(crate) String);

impl FromStr for Slug {
    type Err = ();

    fn from_str(text: &str) -> Result<Slug, ()> {
        is_slug(text).then(|| Slug(text.to_owned())).ok_or(())
    }
}

impl Name for Slug {
    fn missing(given: &str) -> Problem {
        Problem::new(Code::HookNotFound, format!("there is no hook {}", quoted(given)))
    }
}

/// A name that is taken as it was given: whoever looks it up says whether it is one.
macro_rules! any_name {
    ($name:ident, $code:ident, $what:literal) => {
        #[derive(Debug)]
        pub(crate) struct $name(pub(crate) String);

        impl FromStr for $name {
            type Err = std::convert::Infallible;

            fn from_str(text: &str) -> Result<$name, Self::Err> {
                Ok($name(text.to_owned()))
            }
        }

        impl Name for $name {
            fn missing(given: &str) -> Problem {
                Problem::new(Code::$code, format!("there is no {} {}", $what, quoted(given)))
            }
        }
    };
}

any_name!(SecretNamePath, SecretNotFound, "secret");
any_name!(ChannelName, ChannelNotFound, "channel");
any_name!(ChainName, EscalationNotFound, "escalation chain");

impl<T: Name, S: Send + Sync> FromRequestParts<S> for Named<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Named<T>, Problem> {
        let Path(text) = Path::<String>::from_request_parts(parts, state).await.map_err(|_| T::missing(""))?;
        text.parse().map(Named).map_err(|_| T::missing(&text))
    }
}

fn no_such(code: Code, what: &str, given: &str) -> Problem {
    Problem::new(code, format!("there is no {what} {}: its id is a UUID", quoted(given)))
}
