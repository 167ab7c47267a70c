//! The dashboard: pages for people, made on the server, of the same parts as the API.
//!
//! Invariant: every page can be read and its main buttons used without a script; scripts only make it live. All
//! addresses go through [`layout::context::PageContext::link`] or [`layout::shell::PageShell::link`], so that a path prefix holds everywhere.

mod audit;
mod calendar;
mod channels;
mod charts;
mod docs;
mod executors;
mod home;
mod import;
mod incidents;
mod jobs;
pub(crate) mod layout;
mod nodes;
mod notifications;
mod objects;
mod runs;

use axum::routing::{MethodRouter, get, post};

pub(crate) use self::layout::caches::PageCaches;
use self::objects::{escalations, hooks, monitors, secrets, subscriptions, tokens};
use crate::app::App;

/// Every page with what it answers. They are for people: the description of the API does not list them.
pub(crate) fn table() -> Vec<(&'static str, MethodRouter<App>)> {
    vec![
        ("/", get(home::show)),
        ("/live", get(layout::live::follow)),
        ("/preferences", post(layout::context::preferences::change)),
        ("/assets/{mark}/{name}", get(layout::assets::show)),
        ("/jobs", get(jobs::show)),
        ("/jobs/new", get(jobs::edit::blank).post(jobs::edit::create)),
        ("/jobs/preview", post(jobs::edit::preview)),
        ("/jobs/bulk", post(jobs::bulk::order)),
        ("/jobs/import", get(import::blank).post(import::take)),
        ("/jobs/{id}", get(jobs::job::show)),
        ("/chains", get(jobs::tabs::graph::all)),
        ("/jobs/{id}/definition", get(jobs::tabs::definition::show)),
        ("/jobs/{id}/chain", get(jobs::tabs::graph::of_job)),
        ("/jobs/{id}/history", get(jobs::tabs::history)),
        ("/jobs/{id}/incidents", get(jobs::tabs::incidents)),
        ("/jobs/{id}/revert", post(jobs::tabs::definition::revert)),
        ("/jobs/{id}/edit", get(jobs::edit::edit).post(jobs::edit::change)),
        ("/jobs/{id}/trigger", post(jobs::actions::trigger)),
        ("/jobs/{id}/pause", post(jobs::actions::pause)),
        ("/jobs/{id}/resume", post(jobs::actions::resume)),
        ("/jobs/{id}/cancel", post(jobs::actions::cancel)),
        ("/jobs/{id}/backfill", post(jobs::actions::backfill)),
        ("/calendar", get(calendar::show)),
        ("/runs", get(runs::show)),
        ("/runs/{id}", get(runs::run::show)),
        ("/runs/{id}/log.txt", get(runs::log::download)),
        ("/runs/{id}/cancel", post(runs::run::cancel)),
        ("/runs/{id}/retry", post(runs::run::retry)),
        ("/incidents", get(incidents::show).post(incidents::start)),
        ("/incidents/{id}", get(incidents::incident::show)),
        ("/incidents/{id}/ack", post(incidents::change::acknowledge)),
        ("/incidents/{id}/status", post(incidents::change::set_status)),
        ("/incidents/{id}/severity", post(incidents::change::set_severity)),
        ("/incidents/{id}/assignee", post(incidents::change::set_assignee)),
        ("/incidents/{id}/roles", post(incidents::change::set_role)),
        ("/incidents/{id}/impact", post(incidents::change::describe_impact)),
        ("/incidents/{id}/actions", post(incidents::change::add_action)),
        ("/incidents/{id}/actions/{number}", post(incidents::change::set_action)),
        ("/incidents/{id}/snooze", post(incidents::change::snooze)),
        ("/incidents/{id}/notes", post(incidents::change::note)),
        ("/incidents/{id}/postmortem", get(incidents::postmortem::edit).post(incidents::postmortem::save)),
        ("/silences", get(incidents::silences::show).post(incidents::silences::create)),
        ("/silences/{id}/end", post(incidents::silences::end)),
        ("/monitors", get(monitors::list)),
        ("/monitors/new", get(monitors::blank).post(monitors::create)),
        ("/monitors/{name}", get(monitors::show)),
        ("/monitors/{name}/edit", get(monitors::edit).post(monitors::change)),
        ("/monitors/{name}/remove", post(monitors::remove)),
        ("/hooks", get(hooks::list)),
        ("/hook", get(hooks::blank).post(hooks::create)),
        ("/hook/{slug}", get(hooks::show)),
        ("/hook/{slug}/edit", get(hooks::edit).post(hooks::change)),
        ("/hook/{slug}/test", post(hooks::test)),
        ("/hook/{slug}/remove", post(hooks::remove)),
        ("/deliveries/{slug}/{id}/replay", post(hooks::replay)),
        ("/executors", get(executors::show)),
        ("/executors/{id}", get(executors::one)),
        ("/executors/{id}/drain", post(executors::drain)),
        ("/channels", get(channels::show)),
        ("/channels/new", get(objects::channels::blank).post(objects::channels::create)),
        ("/channels/{name}", get(objects::channels::show)),
        ("/channels/{name}/edit", get(objects::channels::edit).post(objects::channels::change)),
        ("/channels/{name}/remove", post(objects::channels::remove)),
        ("/channels/{name}/test", post(channels::test)),
        ("/escalations/new", get(escalations::blank).post(escalations::create)),
        ("/escalations/{name}", get(escalations::show)),
        ("/escalations/{name}/edit", get(escalations::edit).post(escalations::change)),
        ("/escalations/{name}/remove", post(escalations::remove)),
        ("/nodes", get(nodes::nodes)),
        ("/nodes/{name}/drain", post(nodes::drain)),
        ("/docs", get(docs::front)),
        ("/docs/{*page}", get(docs::page)),
        ("/notifications", get(notifications::show)),
        ("/notifications/replay", post(notifications::replay_all)),
        ("/notifications/{id}/replay", post(notifications::replay)),
        ("/subscriptions", get(subscriptions::list)),
        ("/subscriptions/new", get(subscriptions::blank).post(subscriptions::create)),
        ("/subscriptions/{id}", get(subscriptions::show)),
        ("/subscriptions/{id}/edit", get(subscriptions::edit).post(subscriptions::change)),
        ("/subscriptions/{id}/test", post(subscriptions::test)),
        ("/subscriptions/{id}/enable", post(subscriptions::enable)),
        ("/subscriptions/{id}/disable", post(subscriptions::disable)),
        ("/subscriptions/{id}/remove", post(subscriptions::remove)),
        ("/secrets", get(secrets::list)),
        ("/secrets/new", get(secrets::blank).post(secrets::put)),
        ("/secrets/{name}/remove", post(secrets::remove)),
        ("/audit", get(audit::show)),
        ("/tokens", get(tokens::list)),
        ("/tokens/new", get(tokens::blank).post(tokens::create)),
        ("/tokens/{id}/revoke", post(tokens::revoke)),
    ]
}
