//! How the server is doing, for people.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use ordo_api::upkeep::{PoolView, StatusView, TimeZones};
use ordo_engine::metrics::Metrics;
use ordo_model::zones;

use crate::app::App;

pub(crate) async fn show(State(app): State<App>) -> Json<StatusView> {
    let load = app.engine.load().await;
    let pool = |(name, running, waiting): &(&'static str, usize, usize)| PoolView {
        name: (*name).to_owned(),
        running: *running,
        waiting: *waiting,
    };
    let uptime = app.since.elapsed();
    let zones = zones::current();
    Json(StatusView {
        node: app.node.name.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        time_zones: TimeZones { version: zones.version().map(str::to_owned), source: zones.source().name().to_owned() },
        ready: app.is_ready(),
        now: app.now(),
        tick_rate: app.node.tick_rate,
        uptime,
        uptime_ms: uptime.ms(),
        ring: load.ring,
        pools: load.pools.iter().map(pool).collect(),
        tools: app.engine.tools().keys().cloned().collect(),
        counters: counters(app.engine.metrics()),
    })
}

fn counters(metrics: &Metrics) -> BTreeMap<String, u64> {
    let counters = [
        ("triggered", Metrics::read(&metrics.triggered)),
        ("late", Metrics::read(&metrics.late)),
        ("skipped", metrics.skipped().map(|(_, count)| count).sum()),
        ("completed", Metrics::read(&metrics.completed)),
        ("failed", Metrics::read(&metrics.failed)),
        ("cancelled", Metrics::read(&metrics.cancelled)),
        ("commands", metrics.commit_commands.sum()),
        ("rounds", metrics.commit_commands.count()),
        ("round_micros", metrics.commit_micros.sum()),
    ];
    counters.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}
