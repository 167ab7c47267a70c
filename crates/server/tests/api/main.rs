//! The API as its users meet it: a real engine on a real store in a temporary folder, asked over HTTP.

#![allow(clippy::unwrap_used)]

mod alerting;
mod auth;
mod events;
mod executors;
mod hooks;
mod http;
mod jobs;
mod pages;
mod upkeep;
mod xxl;
