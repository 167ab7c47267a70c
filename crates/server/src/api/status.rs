//! How the server is doing, for people.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use ordo_api::Code;
use ordo_api::upkeep::{
    HaltedStream, MirrorView, NearAlarm, PoolView, RingView, StatusView, TimeZones, TimekeeperView,
};
use ordo_engine::metrics::Metrics;
use ordo_engine::mirror::MirrorStatus;
use ordo_model::{Timestamp, zones};

use crate::app::App;
use crate::http::problem::Problem;

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
        mirror: app.adapters.mirror.as_ref().map(|mirror| self::mirror(&mirror.borrow(), app.now())),
    })
}

/// How many halted streams are named.
const HALTED_SHOWN: usize = 20;

fn mirror(status: &MirrorStatus, now: Timestamp) -> MirrorView {
    let halted = status.halted.iter().take(HALTED_SHOWN);
    MirrorView {
        target: status.target.clone(),
        state: status.state.name().to_owned(),
        lag_ms: status.lag_ms(now),
        appended: status.appended,
        failures: status.failures,
        missing: status.missing,
        missing_before: status.missing_before,
        halted: status.halted.len(),
        halted_streams: halted
            .map(|(stream, reason)| HaltedStream { stream: stream.clone(), reason: reason.clone() })
            .collect(),
        last_error: status.last_error.clone(),
    }
}

pub(crate) async fn timekeeper(State(app): State<App>) -> Result<Json<TimekeeperView>, Problem> {
    let projection = app.engine.timekeeper().await;
    let projection = projection.ok_or_else(|| Problem::new(Code::NotReady, "the server is going down"))?;
    let nearest = projection.nearest.iter();
    let nearest = nearest.map(|(due_at, entity)| NearAlarm { due_at: *due_at, stream: entity.to_string() });
    Ok(Json(TimekeeperView {
        node: app.node.name.clone(),
        now: app.now(),
        tick_rate: projection.tick_rate,
        ticks: projection.ticks,
        next_tick_at: projection.next_tick_at,
        horizon: projection.horizon,
        horizon_ms: projection.horizon.ms(),
        covered_until: projection.covered_until,
        ring: RingView {
            entries: projection.ring,
            capacity: projection.ring_capacity,
            next_due_at: projection.nearest.first().map(|(due_at, _)| *due_at),
            nearest: nearest.collect(),
        },
        in_flight: projection.in_flight,
        lag_ms: projection.lag.ms(),
        partitions: projection.partitions.unwrap_or(usize::from(u8::MAX) + 1),
        firing: !projection.is_stopped,
        clock_set_ms: app.engine.clock().frame().ahead_ms,
    }))
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
