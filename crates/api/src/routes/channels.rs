//! The routes of channels and of the escalation chains.

use super::{ADMIN, Delete, Get, Patch, Post, READ, SEALS};
use crate::alerting::channels::{ChannelPatch, ChannelRemoved, ChannelTest, ChannelView, NewChannel};
use crate::alerting::escalations::{EscalationChainPatch, EscalationChainView, NewEscalationChain};
use crate::code::Code;
use crate::operation::Operation;
use crate::route::{READS, Route, WRITES};

const ONE_CHANNEL: &str = "/v1/channels/{name}";
const TAKES_CHANNEL: &[Operation] =
    &[Operation::ReadChannel, Operation::UpdateChannel, Operation::RemoveChannel, Operation::TestChannel];
const ONE_CHAIN: &str = "/v1/escalations/{name}";
const TAKES_CHAIN: &[Operation] =
    &[Operation::ReadEscalation, Operation::UpdateEscalation, Operation::RemoveEscalation];

pub(crate) fn list() -> Route {
    Route::new(Get, "/v1/channels", READ, "channels")
        .summary("List channels")
        .saying(
            "Those of the configuration of the node that answers, and those of the store. Subscriptions are listed by \
             `GET /v1/subscriptions`.",
        )
        .answers_page::<ChannelView>("All of them.")
        .refuses(READS)
}

pub(crate) fn add() -> Route {
    Route::new(Post, "/v1/channels", ADMIN, "channels")
        .summary("Add a channel")
        .saying(
            "Messages go out through it from now on, from every node. A secret that is given is sealed and never shown; a \
             signing key that is made is in this answer and in no other.",
        )
        .body::<NewChannel>()
        .answers::<ChannelView>(201, "The channel, durable.")
        .leads_to(201, TAKES_CHANNEL, "name", "$response.body#/name")
        .refuses(&[Code::InvalidChannel, Code::ChannelExists, Code::TooManyChannels, Code::IdempotencyKeyUnsupported])
        .refuses(SEALS)
        .refuses(WRITES)
}

pub(crate) fn read() -> Route {
    Route::new(Get, ONE_CHANNEL, READ, "channels")
        .summary("Read a channel")
        .answers::<ChannelView>(200, "The channel.")
        .refuses(&[Code::ChannelNotFound])
        .refuses(READS)
}

pub(crate) fn update() -> Route {
    Route::new(Patch, ONE_CHANNEL, ADMIN, "channels")
        .summary("Change a channel of the store")
        .saying("The next message goes out as the channel is then, those that wait too. Its kind stays.")
        .body::<ChannelPatch>()
        .answers::<ChannelView>(200, "The channel as it is now.")
        .refuses(&[Code::ChannelNotFound, Code::InvalidChannel, Code::WrongState])
        .refuses(SEALS)
        .refuses(WRITES)
}

pub(crate) fn remove() -> Route {
    Route::new(Delete, ONE_CHANNEL, ADMIN, "channels")
        .summary("Remove a channel of the store")
        .saying("Notifications that wait for it are dead-lettered; they can be replayed once there is one of its name again.")
        .answers::<ChannelRemoved>(200, "It is gone.")
        .refuses(&[Code::ChannelNotFound, Code::WrongState])
        .refuses(WRITES)
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
        .summary("List escalation chains")
        .saying("Those of the configuration of the node that answers, and those of the store.")
        .answers_page::<EscalationChainView>("All of them, by name.")
        .refuses(READS)
}

pub(crate) fn add_escalation() -> Route {
    Route::new(Post, "/v1/escalations", ADMIN, "channels")
        .summary("Add an escalation chain")
        .saying("In force from the next incident on, on every node. A name of the configuration is refused.")
        .body::<NewEscalationChain>()
        .answers::<EscalationChainView>(201, "The chain, durable.")
        .leads_to(201, TAKES_CHAIN, "name", "$response.body#/name")
        .refuses(&[Code::InvalidEscalation, Code::EscalationExists, Code::TooManyEscalations])
        .refuses(&[Code::IdempotencyKeyUnsupported])
        .refuses(WRITES)
}

pub(crate) fn read_escalation() -> Route {
    Route::new(Get, ONE_CHAIN, READ, "channels")
        .summary("Read the escalation chain that is in force under a name")
        .answers::<EscalationChainView>(200, "The chain.")
        .refuses(&[Code::EscalationNotFound])
        .refuses(READS)
}

pub(crate) fn update_escalation() -> Route {
    Route::new(Patch, ONE_CHAIN, ADMIN, "channels")
        .summary("Change an escalation chain of the store")
        .saying("Incidents that have begun keep the steps they began with.")
        .body::<EscalationChainPatch>()
        .answers::<EscalationChainView>(200, "The chain as it is now.")
        .refuses(&[Code::EscalationNotFound, Code::InvalidEscalation, Code::WrongState])
        .refuses(WRITES)
}

pub(crate) fn remove_escalation() -> Route {
    Route::new(Delete, ONE_CHAIN, ADMIN, "channels")
        .summary("Remove an escalation chain of the store")
        .saying("Incidents that have begun keep their steps. Later ones that name the chain have none.")
        .answers::<EscalationChainView>(200, "The chain as it was.")
        .refuses(&[Code::EscalationNotFound, Code::WrongState])
        .refuses(WRITES)
}
