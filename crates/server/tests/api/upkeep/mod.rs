//! The server itself: how it is doing, what it measures, its store.

mod exposition;
mod forecast;
mod metrics;
mod status;
mod store;
