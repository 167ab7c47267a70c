//! How the server is doing, for people.

use axum::Json;
use axum::extract::State;
use ordo_engine::metrics::Metrics;
use ordo_model::zones;
use serde_json::{Value, json};

use crate::app::App;

pub(crate) async fn show(State(app): State<App>) -> Json<Value> {
    let load = app.engine.load().await;
    let pool = |(name, running, waiting): &(&'static str, usize, usize)| json!({ "name": name, "running": running, "waiting": waiting });
    let uptime = app.since.elapsed();
    let zones = zones::current();
    Json(json!({
        "node": app.node.name,
        "version": env!("CARGO_PKG_VERSION"),
        "time_zones": { "version": zones.version(), "source": zones.source().name() },
        "ready": app.is_ready(),
        "now": app.now(),
        "tick_rate": app.node.tick_rate,
        "uptime": uptime,
        "uptime_ms": uptime.ms(),
        "ring": load.ring,
        "pools": load.pools.iter().map(pool).collect::<Vec<Value>>(),
        "tools": app.engine.tools().keys().collect::<Vec<_>>(),
        "counters": counters(app.engine.metrics()),
    }))
}

fn counters(metrics: &Metrics) -> Value {
    json!({
        "triggered": Metrics::read(&metrics.triggered),
        "late": Metrics::read(&metrics.late),
        "skipped": metrics.skipped().map(|(_, count)| count).sum::<u64>(),
        "completed": Metrics::read(&metrics.completed),
        "failed": Metrics::read(&metrics.failed),
        "cancelled": Metrics::read(&metrics.cancelled),
        "orders": metrics.commit_orders.sum(),
        "rounds": metrics.commit_orders.count(),
        "round_micros": metrics.commit_micros.sum(),
    })
}
