//! What the engine counted, in the Prometheus text format.

use std::fmt::Write;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use ordo_engine::engine::Load;
use ordo_engine::metrics::Metrics;

use crate::app::App;

const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(crate) async fn show(State(app): State<App>) -> Response {
    let mut page = Page::default();
    counters(&mut page, app.engine.metrics());
    gauges(&mut page, &app.engine.load().await, app.is_ready());
    ([(header::CONTENT_TYPE, TEXT)], page.text).into_response()
}

#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}").unwrap_or(());
    }

    fn sample(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        writeln!(self.text, "{name}{labels} {value}").unwrap_or(());
    }

    fn counter(&mut self, name: &str, help: &str, value: impl std::fmt::Display) {
        self.head(name, "counter", help);
        self.sample(name, "", value);
    }
}

fn counters(page: &mut Page, metrics: &Metrics) {
    let read = Metrics::read;
    page.counter("ordo_runs_triggered_total", "Runs that came to be.", read(&metrics.triggered));
    page.counter("ordo_runs_late_total", "Runs fired more than 5 s after they were due.", read(&metrics.late));
    page.counter("ordo_occurrences_skipped_total", "Occurrences that led to no run.", read(&metrics.skipped));
    page.counter("ordo_runs_completed_total", "Runs that completed.", read(&metrics.completed));
    page.counter("ordo_runs_failed_total", "Runs that failed for good.", read(&metrics.failed));
    page.counter("ordo_orders_total", "Commands carried out or refused.", read(&metrics.orders));
    page.counter("ordo_commit_rounds_total", "Group commits.", read(&metrics.rounds));
    let seconds = read(&metrics.round_micros) as f64 / 1e6;
    page.counter("ordo_commit_round_seconds_total", "Time spent in group commits.", seconds);
}

fn gauges(page: &mut Page, load: &Load, ready: bool) {
    page.head("ordo_ready", "gauge", "Whether this node takes work.");
    page.sample("ordo_ready", "", u8::from(ready));
    page.head("ordo_ring_alarms", "gauge", "Alarms of the near future held in memory.");
    page.sample("ordo_ring_alarms", "", load.ring);
    page.head("ordo_pool_running", "gauge", "Attempts that execute, by pool.");
    for (pool, running, _) in &load.pools {
        page.sample("ordo_pool_running", &format!("{{pool=\"{pool}\"}}"), running);
    }
    page.head("ordo_pool_waiting", "gauge", "Runs in memory that wait for a place, by pool.");
    for (pool, _, waiting) in &load.pools {
        page.sample("ordo_pool_waiting", &format!("{{pool=\"{pool}\"}}"), waiting);
    }
}
