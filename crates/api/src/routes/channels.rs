//! The routes of channels and of the escalation chains.

use super::{ADMIN, Delete, Get, Patch, Post, READ};
use crate::alerting::channels::{ChannelTest, ChannelView};
use crate::alerting::escalations::{EscalationChainPatch, EscalationChainView, NewEscalationChain};
use crate::code::Code;
use crate::operation::Operation;
use crate::route::{READS, Route, WRITES};

const ONE_CHAIN: &str = "/v1/escalations/{name}";
const TAKES_CHAIN: &[Operation] =
    &[Operation::ReadEscalation, Operation::UpdateEscalation, Operation::RemoveEscalation];

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
