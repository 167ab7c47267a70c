//! The routes of subscriptions.

use super::{ADMIN, Delete, Get, Patch, Post, READ};
use crate::alerting::subscriptions::{
    NewSubscription, SubscriptionPatch, SubscriptionRemoved, SubscriptionTest, SubscriptionView,
};
use crate::code::Code;
use crate::operation::Operation;
use crate::route::{Method, Need, READS, Route, WRITES};

const ONE: &str = "/v1/subscriptions/{id}";

const TAKES_SUBSCRIPTION: &[Operation] = &[
    Operation::ReadSubscription,
    Operation::UpdateSubscription,
    Operation::RemoveSubscription,
    Operation::TestSubscription,
];

fn route(method: Method, path: &'static str, need: Need) -> Route {
    Route::new(method, path, need, "subscriptions")
}

pub(crate) fn list() -> Route {
    route(Get, "/v1/subscriptions", READ)
        .summary("List subscriptions")
        .paged::<SubscriptionView>("A page of subscriptions, oldest first.")
        .refuses(READS)
}

pub(crate) fn create() -> Route {
    route(Post, "/v1/subscriptions", ADMIN)
        .summary("Send events to a URL")
        .saying("The signing secret is in this answer and in no other.")
        .body::<NewSubscription>()
        .answers::<SubscriptionView>(201, "The subscription, with its secret.")
        .leads_to(201, TAKES_SUBSCRIPTION, "id", "$response.body#/id")
        .refuses(&[Code::InvalidSubscription, Code::TooManySubscriptions, Code::IdempotencyKeyUnsupported])
        .refuses(WRITES)
}

pub(crate) fn read() -> Route {
    route(Get, ONE, READ)
        .summary("Read a subscription")
        .answers::<SubscriptionView>(200, "The subscription.")
        .refuses(&[Code::SubscriptionNotFound])
        .refuses(READS)
}

pub(crate) fn update() -> Route {
    route(Patch, ONE, ADMIN)
        .summary("Change a subscription, or replace its secret")
        .saying("A secret that was replaced goes on signing for a day, beside the new one.")
        .body::<SubscriptionPatch>()
        .answers::<SubscriptionView>(200, "The subscription, with its secret if that is new.")
        .refuses(&[Code::SubscriptionNotFound, Code::InvalidSubscription])
        .refuses(WRITES)
}

pub(crate) fn remove() -> Route {
    route(Delete, ONE, ADMIN)
        .summary("Remove a subscription")
        .answers::<SubscriptionRemoved>(200, "It is gone.")
        .refuses(&[Code::SubscriptionNotFound])
        .refuses(WRITES)
}

pub(crate) fn test() -> Route {
    route(Post, "/v1/subscriptions/{id}/test", ADMIN)
        .summary("Send one message now")
        .saying("Of the type `test`. Nothing is tried again.")
        .answers::<SubscriptionTest>(200, "How it went.")
        .refuses(&[Code::SubscriptionNotFound, Code::NotReady])
        .refuses(READS)
}
