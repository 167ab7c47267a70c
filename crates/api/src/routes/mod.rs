//! The rows of the route table, by resource.

pub(crate) mod access;
pub(crate) mod channels;
pub(crate) mod events;
pub(crate) mod executors;
pub(crate) mod forecast;
pub(crate) mod hooks;
pub(crate) mod incidents;
pub(crate) mod jobs;
pub(crate) mod monitors;
pub(crate) mod runs;
pub(crate) mod slack;
pub(crate) mod subscriptions;
pub(crate) mod upkeep;
pub(crate) mod xxl;

use ordo_model::Right;
use serde_json::{Value, json};

use crate::code::Code;
use crate::route::{Method, Need};

const OPEN: Need = Need::Open;
const READ: Need = Need::Right(Right::Read);
const READ_OR_HOLD: Need = Need::RightOrHolder(Right::Read);
const OPERATE: Need = Need::Right(Right::Operate);
const HOOKS: Need = Need::Right(Right::ManageHooks);
const EXECUTE: Need = Need::Right(Right::Execute);
const ADMIN: Need = Need::Right(Right::Administer);

use Method::{Delete, Get, Patch, Post, Put};

/// What the header `Idempotency-Replayed` says.
const REPLAYED: &str = "`true` when an earlier request with the same key did it.";
/// The errors of an operation that needs the key for secrets.
const SEALS: &[Code] = &[Code::SecretsUnavailable];

fn text() -> Value {
    json!({ "type": "string" })
}

fn reference(component: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{component}") })
}
