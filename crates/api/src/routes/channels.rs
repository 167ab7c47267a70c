//! The routes of channels and of the escalation chains.

use super::{ADMIN, Get, Post, READ};
use crate::alerting::channels::{ChannelTest, ChannelView, EscalationChain};
use crate::code::Code;
use crate::route::{READS, Route};

pub(crate) fn list() -> Route {
    Route::new(Get, "/v1/channels", READ, "channels")
        .summary("The channels that the configuration names")
        .saying("Of the node that answers. Subscriptions are listed by `GET /v1/subscriptions`.")
        .answers_page::<ChannelView>("All of them.")
        .refuses(READS)
}

pub(crate) fn test() -> Route {
    Route::new(Post, "/v1/channels/{name}/test", ADMIN, "channels")
        .summary("Send a test message through a channel")
        .saying("Sent once, now; nothing is stored and nothing is tried again.")
        .answers::<ChannelTest>(200, "How it went.")
        .refuses(&[Code::ChannelNotFound])
        .refuses(READS)
}

pub(crate) fn escalations() -> Route {
    Route::new(Get, "/v1/escalations", READ, "channels")
        .summary("The escalation chains that the configuration names")
        .answers_page::<EscalationChain>("All of them.")
        .refuses(READS)
}
