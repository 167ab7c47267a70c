//! What the engine counted, in the Prometheus text format.
//!
//! Invariant: the labels here are `pool`, `reason`, `outcome`, `version`, `source` and `le`, each with a few values known beforehand:
//! the page does not grow with the number of jobs.

mod page;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use ordo_engine::engine::Load;
use ordo_engine::metrics::Metrics;
use ordo_engine::mirror::{MirrorState, MirrorStatus};
use ordo_model::{Timestamp, zones};
use ordo_store::{JournalStats, Stats};

use self::page::MetricsText;
use crate::app::App;

const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(crate) async fn show(State(app): State<App>) -> Response {
    let mut page = MetricsText::default();
    node(&mut page, &app);
    runs(&mut page, app.engine.metrics());
    hooks(&mut page, app.engine.metrics());
    commits(&mut page, app.engine.metrics());
    news(&mut page, app.engine.metrics());
    if let Some(status) = &app.adapters.mirror {
        mirror(&mut page, &status.borrow(), app.now());
    }
    load(&mut page, &app.engine.load().await);
    match app.engine.queries().store().estimate().await {
        Ok(stats) => store(&mut page, &stats),
        // What is known is shown: a scrape must not fail because the store does.
        Err(error) => tracing::warn!(%error, "the store could not be measured"),
    }
    submissions(&mut page, &app).await;
    ([(header::CONTENT_TYPE, TEXT)], page.into_text()).into_response()
}

fn node(page: &mut MetricsText, app: &App) {
    let version = [("version", env!("CARGO_PKG_VERSION"), 1)];
    page.gauges("ordo_build_info", "The version of this node, in its label.", version);
    let zones = zones::current();
    let labels = [("version", zones.version().unwrap_or("unknown")), ("source", zones.source().name())];
    page.about("ordo_tzdb_info", "The release of the time zone database of this node, and where it is from.", &labels);
    page.gauge("ordo_ready", "Whether this node is ready for work.", u8::from(app.is_ready()));
    let uptime_seconds = app.since.elapsed().ms() as f64 / 1e3;
    page.gauge("ordo_uptime_seconds", "Time since this node started.", uptime_seconds);
}

fn runs(page: &mut MetricsText, metrics: &Metrics) {
    let read = Metrics::read;
    page.counter("ordo_runs_triggered_total", "Runs that came to be.", read(&metrics.triggered));
    page.counter("ordo_runs_late_total", "Runs fired more than 5 s after they were due.", read(&metrics.late));
    let skipped = metrics.skipped().map(|(reason, count)| ("reason", reason, count));
    page.counters("ordo_occurrences_skipped_total", "Occurrences that led to no run, by reason.", skipped);
    page.counter("ordo_runs_completed_total", "Runs that completed.", read(&metrics.completed));
    page.counter("ordo_runs_failed_total", "Runs that failed for good.", read(&metrics.failed));
    page.counter("ordo_runs_cancelled_total", "Runs that were cancelled.", read(&metrics.cancelled));
    let help = "From the time a run was scheduled for to the start of its first attempt, counted when that is over.";
    page.histogram("ordo_run_lateness_seconds", help, &metrics.lateness_ms, 1e3);
    let help = "From the start of a run's first attempt to the run's end.";
    page.histogram("ordo_run_duration_seconds", help, &metrics.duration_ms, 1e3);
}

/// Of a store that other programs reach with SQL.
async fn submissions(page: &mut MetricsText, app: &App) {
    let Some(queue) = app.engine.queries().store().submissions() else { return };
    let (metrics, read) = (app.engine.metrics(), Metrics::read);
    let outcomes = [
        ("outcome", "accepted", read(&metrics.submissions_accepted)),
        ("outcome", "refused", read(&metrics.submissions_refused)),
    ];
    page.counters("ordo_submissions_total", "Rows of ordo.submissions that this node settled, by outcome.", outcomes);
    match queue.overdue().await {
        Ok(overdue) => {
            let help = "For how long the row of ordo.submissions that is next has been waiting for a node to take it.";
            page.gauge("ordo_submissions_overdue_seconds", help, overdue.ms() as f64 / 1e3);
        }
        Err(error) => tracing::warn!(%error, "submissions could not be looked at"),
    }
}

fn hooks(page: &mut MetricsText, metrics: &Metrics) {
    let (counts, read) = (&metrics.deliveries, Metrics::read);
    let outcomes = [
        ("outcome", "received", read(&counts.received)),
        ("outcome", "duplicate", read(&counts.duplicate)),
        ("outcome", "filtered", read(&counts.filtered)),
        ("outcome", "refused", read(&counts.refused)),
    ];
    page.counters("ordo_hook_deliveries_total", "Calls of hooks, by what became of them.", outcomes);
    page.counter("ordo_hook_runs_total", "Runs that calls of hooks brought about.", read(&counts.routed));
}

fn commits(page: &mut MetricsText, metrics: &Metrics) {
    let help = "From the decision of a group commit until it is durable.";
    page.histogram("ordo_commit_seconds", help, &metrics.commit_micros, 1e6);
    page.histogram("ordo_commit_commands", "Commands in a group commit.", &metrics.commit_commands, 1.0);
    let help = "Group commits that the store could not make durable.";
    page.counter("ordo_commit_faults_total", help, Metrics::read(&metrics.commit_faults));
    let help = "Streams that the scrub has read and held against their events.";
    page.counter("ordo_scrub_streams_total", help, Metrics::read(&metrics.scrub_streams));
    let help = "What the scrub found not to agree.";
    page.counter("ordo_scrub_differences_total", help, Metrics::read(&metrics.scrub_differences));
}

fn news(page: &mut MetricsText, metrics: &Metrics) {
    let read = Metrics::read;
    let help = "From an event until it was handed on to the senders.";
    page.histogram("ordo_outbox_lag_seconds", help, &metrics.outbox_lag_ms, 1e3);
    let help = "From an event until a sender had delivered it.";
    page.histogram("ordo_notification_lag_seconds", help, &metrics.notification_lag_ms, 1e3);
    page.counter(
        "ordo_notifications_sent_total",
        "Notifications that were delivered.",
        read(&metrics.notifications_sent),
    );
    page.counter(
        "ordo_notifications_failed_total",
        "Tries to deliver a notification that failed.",
        read(&metrics.notifications_failed),
    );
    page.counter(
        "ordo_notifications_dead_lettered_total",
        "Notifications that were given up.",
        read(&metrics.notifications_dead_lettered),
    );
}

fn mirror(page: &mut MetricsText, status: &MirrorStatus, now: Timestamp) {
    let help = "The age of the oldest event that is known not to be mirrored yet.";
    page.gauge("ordo_mirror_lag_seconds", help, status.lag_ms(now) as f64 / 1e3);
    let is_failing = u8::from(status.state == MirrorState::Failing);
    page.gauge("ordo_mirror_failing", "Whether the last try to mirror events failed.", is_failing);
    page.counter("ordo_mirror_appended_total", "Events that were mirrored.", status.appended);
    page.counter("ordo_mirror_failures_total", "Tries to mirror events that failed.", status.failures);
    let missing = [("reason", "removed", status.missing), ("reason", "removed_before_start", status.missing_before)];
    let help = "Events that were trimmed or purged before they could be mirrored, or before there was a mirror.";
    page.counters("ordo_mirror_missing_total", help, missing);
    let help = "Streams that are not mirrored because something stands in their way.";
    page.gauge("ordo_mirror_halted_streams", help, status.halted.len());
}

fn load(page: &mut MetricsText, load: &Load) {
    page.gauge("ordo_ring_alarms", "Alarms of the near future held in memory.", load.ring);
    let running = load.pools.iter().map(|(pool, running, _)| ("pool", *pool, *running));
    page.gauges("ordo_pool_running", "Attempts that execute, by pool.", running);
    let waiting = load.pools.iter().map(|(pool, _, waiting)| ("pool", *pool, *waiting));
    page.gauges("ordo_pool_waiting", "Runs in memory that wait for a slot, by pool.", waiting);
}

fn store(page: &mut MetricsText, stats: &Stats) {
    page.gauge("ordo_store_bytes", "Size of the store on disk.", stats.bytes_on_disk);
    page.gauge("ordo_store_entities", "Jobs that are kept.", stats.entities);
    page.gauge("ordo_store_events", "Events that are kept.", stats.events);
    page.gauge("ordo_store_alarms", "Jobs that have something to do at some time.", stats.alarms);
    if let Some(journal) = &stats.journal {
        self::journal(page, journal);
    }
}

fn journal(page: &mut MetricsText, journal: &JournalStats) {
    let seconds = |micros: u64| micros as f64 / 1e6;
    let help = "Records that a crash now would leave to be replayed.";
    page.gauge("ordo_journal_pending_bytes", help, journal.pending_bytes);
    page.counter("ordo_journal_checkpoints_total", "Checkpoints of the tables.", journal.checkpoints);
    let help = "The longest time commits waited for a checkpoint.";
    page.gauge("ordo_journal_checkpoint_seconds_max", help, seconds(journal.checkpoint_micros_max));
    let help = "How long the journal was replayed when the store was last opened.";
    page.gauge("ordo_journal_recovery_seconds", help, seconds(journal.recovery_micros));
    page.gauge("ordo_journal_recovered_records", "Records that were replayed then.", journal.recovered_records);
}
