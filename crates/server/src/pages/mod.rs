//! The dashboard: pages for people, made on the server, of the same parts as the API.
//!
//! Invariant: every page can be read and its main buttons used without a script; scripts only make it live. All
//! addresses go through [`ctx::PageContext::link`] or [`shell::Shell::link`], so that a path prefix holds everywhere.

mod ansi;
mod answer;
mod assets;
mod bulk;
mod chain;
mod charts;
mod context;
mod cookies;
mod equivalents;
mod executors;
pub(crate) mod frame;
mod history;
mod home;
mod html;
mod incident;
mod incidents;
mod job;
mod job_actions;
mod job_edit;
mod job_fields;
mod job_row;
mod jobs;
mod json_view;
mod listing;
mod live;
pub(crate) mod login;
mod moment;
mod others;
mod outcome;
mod places;
mod policies;
mod preferences;
mod run;
mod run_log;
mod run_row;
mod runs;
mod search;
mod shell;
mod trouble;
mod viewer;

use axum::routing::{MethodRouter, get, post};

pub(crate) use self::trouble::PageCaches;
use crate::app::App;

/// Every page with what it answers. They are for people: the description of the API does not list them.
pub(crate) fn table() -> Vec<(&'static str, MethodRouter<App>)> {
    vec![
        ("/", get(home::show)),
        ("/live", get(live::follow)),
        ("/preferences", post(preferences::change)),
        ("/assets/{mark}/{name}", get(assets::show)),
        ("/jobs", get(jobs::show)),
        ("/jobs/new", get(job_edit::blank).post(job_edit::create)),
        ("/jobs/preview", post(job_edit::preview)),
        ("/jobs/bulk", post(bulk::order)),
        ("/jobs/{id}", get(job::show)),
        ("/jobs/{id}/edit", get(job_edit::edit).post(job_edit::change)),
        ("/jobs/{id}/trigger", post(job_actions::trigger)),
        ("/jobs/{id}/pause", post(job_actions::pause)),
        ("/jobs/{id}/resume", post(job_actions::resume)),
        ("/jobs/{id}/cancel", post(job_actions::cancel)),
        ("/jobs/{id}/backfill", post(job_actions::backfill)),
        ("/runs", get(runs::show)),
        ("/runs/{id}", get(run::show)),
        ("/runs/{id}/log.txt", get(run_log::download)),
        ("/runs/{id}/cancel", post(run::cancel)),
        ("/runs/{id}/retry", post(run::retry)),
        ("/incidents", get(incidents::show).post(incidents::start)),
        ("/incidents/{id}", get(incident::show)),
        ("/incidents/{id}/ack", post(incident::acknowledge)),
        ("/incidents/{id}/status", post(incident::set_status)),
        ("/incidents/{id}/severity", post(incident::set_severity)),
        ("/incidents/{id}/assignee", post(incident::set_assignee)),
        ("/incidents/{id}/notes", post(incident::note)),
        ("/monitors", get(others::monitors)),
        ("/hooks", get(others::hooks)),
        ("/deliveries/{slug}/{id}/replay", post(others::replay_delivery)),
        ("/executors", get(executors::show)),
        ("/executors/{id}/drain", post(executors::drain)),
        ("/nodes", get(places::nodes)),
        ("/notifications", get(others::notifications)),
        ("/notifications/{id}/replay", post(others::replay_notification)),
        ("/tokens", get(others::tokens)),
    ]
}
