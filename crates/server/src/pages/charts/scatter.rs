//! How long the runs of a job took: a dot each, with the lines that half and nineteen of twenty do not exceed.

use ordo_model::job::{Run, RunStatus};

use super::percentile;
use crate::pages::layout::html::Html;
use crate::pages::layout::moment::length;

const WIDTH: f64 = 1_000.0;
const HEIGHT: f64 = 200.0;

#[derive(Debug, Clone, Default)]
pub(crate) struct Scatter {
    pub(crate) picture: Html,
    pub(crate) count: usize,
    pub(crate) top: String,
    pub(crate) middle: String,
    pub(crate) p50: Option<String>,
    pub(crate) p95: Option<String>,
}

/// What is measured of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    Duration,
    Lateness,
}

impl Measure {
    /// What a dot says.
    fn words(self, run: &Run, ms: i64) -> String {
        match self {
            Measure::Duration => format!("{} in {}", run.status.name(), length(ms)),
            Measure::Lateness => format!("{}, {} late", run.status.name(), length(ms)),
        }
    }

    pub(crate) fn of(self, run: &Run) -> Option<i64> {
        match self {
            Measure::Duration => run.started_at.zip(run.finished_at).map(|(from, to)| to.ms() - from.ms()),
            Measure::Lateness => run.lateness_ms,
        }
    }
}

/// A shorter scale would have no middle that is a whole number.
const TOP_MIN_MS: i64 = 10;

/// `runs` are newest first; `href` is where a run's page is.
pub(crate) fn draw(runs: &[Run], measure: Measure, href: impl Fn(&Run) -> String) -> Scatter {
    let measured: Vec<(&Run, i64)> =
        runs.iter().rev().filter_map(|run| measure.of(run).map(|ms| (run, ms.max(0)))).collect();
    let mut sorted: Vec<i64> = measured.iter().map(|(_, ms)| *ms).collect();
    sorted.sort_unstable();
    let Some(longest) = sorted.last().copied() else { return Scatter::default() };
    let (p50, p95) = (percentile(&sorted, 50), percentile(&sorted, 95));
    let top = nice(longest).max(TOP_MIN_MS);
    let y = |ms: i64| HEIGHT - ms as f64 / top as f64 * HEIGHT;
    let (first, last) = (at(measured[0].0), at(measured[measured.len() - 1].0));
    let span = (last - first).max(1) as f64;
    let mut html = Html::new().raw(format_args!(
        "<svg class=\"plot dots\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
    ));
    html = html
        .raw(format_args!("<path class=\"rule\" d=\"M0 0H{WIDTH}M0 {0}H{WIDTH}M0 {HEIGHT}H{WIDTH}\"/>", HEIGHT / 2.0));
    for (class, value) in [("p50", p50), ("p95", p95)] {
        html = html.raw(
            value.map_or_else(String::new, |ms| format!("<path class=\"{class}\" d=\"M0 {:.1}H{WIDTH}\"/>", y(ms))),
        );
    }
    for (run, ms) in &measured {
        let x = if first == last { WIDTH / 2.0 } else { 8.0 + (at(run) - first) as f64 / span * (WIDTH - 16.0) };
        html = html.raw(format_args!("<a href=\"{}\" tabindex=\"-1\">", href(run))).raw(dot(run, x, y(*ms)));
        html = html.raw("<title>").text(&measure.words(run, *ms)).raw("</title></path></a>");
    }
    Scatter {
        picture: html.raw("</svg>"),
        count: measured.len(),
        top: length(top),
        middle: length(top / 2),
        p50: p50.map(length),
        p95: p95.map(length),
    }
}

fn at(run: &Run) -> i64 {
    run.started_at.unwrap_or(run.fired_at).ms()
}

/// A line without a length: its round ends make a dot that no scaling distorts. A failure is a stroke instead.
pub(super) fn dot(run: &Run, x: f64, y: f64) -> String {
    let y = y.clamp(3.0, HEIGHT - 3.0);
    match &run.status {
        RunStatus::Failed { .. } => {
            format!("<path class=\"dot failed\" d=\"M{x:.1} {:.1}V{:.1}\">", (y - 7.0).max(0.0), (y + 7.0).min(HEIGHT))
        }
        RunStatus::Completed { .. }
        | RunStatus::Cancelled { .. }
        | RunStatus::Skipped { .. }
        | RunStatus::Running { .. }
        | RunStatus::Pending { .. } => format!("<path class=\"dot {}\" d=\"M{x:.1} {y:.1}h0\">", run.status.name()),
    }
}

/// A round number at or above the value.
pub(super) fn nice(ms: i64) -> i64 {
    let mut size = 1;
    loop {
        for step in [1, 2, 5] {
            if size * step >= ms {
                return size * step;
            }
        }
        size *= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_ends_at_a_round_number() {
        assert_eq!([0, 1, 3, 40, 51, 999, 1_001].map(nice), [1, 1, 5, 50, 100, 1_000, 2_000]);
    }

    #[test]
    fn a_dot_says_what_was_measured() {
        let run: Run = serde_json::from_value(serde_json::json!({
            "id": uuid::Uuid::from_u128(1), "job_id": uuid::Uuid::from_u128(2), "label": "a",
            "scheduled_for": null, "fired_at": "2026-11-15T12:00:00Z", "started_at": "2026-11-15T12:00:00Z",
            "finished_at": "2026-11-15T12:00:03Z", "lateness_ms": 7, "attempt": 1, "executor": null, "parent_id": null,
            "shard": null, "cause": { "type": "manual" }, "status": { "type": "completed", "result": null }, "version": 1,
        }))
        .unwrap();
        let said = |measure| draw(std::slice::from_ref(&run), measure, |_| String::new());
        assert!(said(Measure::Duration).picture.to_string().contains("<title>completed in 3.0 s</title>"));
        let late = said(Measure::Lateness);
        assert!(late.picture.to_string().contains("<title>completed, 7 ms late</title>"));
        assert_eq!((late.top.as_str(), late.middle.as_str()), ("10 ms", "5 ms"), "a scale has two different numbers");
    }

    #[test]
    fn nothing_measured_is_nothing_drawn() {
        assert_eq!(draw(&[], Measure::Duration, |_| String::new()).count, 0);
    }
}
