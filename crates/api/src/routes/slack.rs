//! The routes that Slack calls.

use super::{OPEN, Post};
use crate::code::Code;
use crate::route::{Media, Route, WRITES};

fn route(path: &'static str) -> Route {
    Route::new(Post, path, OPEN, "slack")
        .saying("Needs no token: the request is signed, by Slack's scheme v0.")
        .raw_body()
        .refuses(&[Code::InvalidBody, Code::RequestTimeout, Code::BodyTooLarge, Code::InvalidJson])
        .refuses(&[Code::SlackSignatureInvalid, Code::SlackNotConfigured])
        .refuses(WRITES)
}

pub(crate) fn events() -> Route {
    route("/slack/events").summary("Receive events from Slack").answers_as(
        200,
        "It is kept; Slack's question whether somebody is there is answered with its `challenge`.",
        vec![Media::AnyObject],
    )
}

pub(crate) fn interaction() -> Route {
    route("/slack/interaction").summary("Buttons and menus of a card").answers_as(
        200,
        "It is done, or cannot be.",
        vec![Media::AnyObject],
    )
}
