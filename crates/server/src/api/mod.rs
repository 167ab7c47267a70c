//! The handlers of the API, by resource. Each translates between the wire and the engine.

pub(crate) mod audit;
pub(crate) mod channels;
pub(crate) mod cron;
pub(crate) mod events;
pub(crate) mod executors;
pub(crate) mod forecast;
pub(crate) mod health;
pub(crate) mod hooks;
pub(crate) mod incidents;
pub(crate) mod jobs;
pub(crate) mod maintenance;
pub(crate) mod metrics;
pub(crate) mod monitors;
pub(crate) mod nodes;
pub(crate) mod notifications;
pub(crate) mod runs;
pub(crate) mod secrets;
pub(crate) mod slack;
pub(crate) mod status;
pub(crate) mod store;
pub(crate) mod subscriptions;
pub(crate) mod tokens;
pub(crate) mod xxl;
