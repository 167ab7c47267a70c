//! Runs on a line of time: a row for each job or executor, in it a lane for each run that overlaps another.
//!
//! Invariant: two runs of a lane do not overlap. What is left out, rows or lanes, is counted. A bar that lies wholly on
//! one of the same colour is not drawn: nobody could see or meet it.

use std::collections::BTreeMap;

use ordo_model::Timestamp;
use ordo_model::job::Run;

use crate::pages::layout::html::Html;
use crate::pages::layout::moment::{Times, length};
use crate::pages::runs::outcome::{Counted, counted};

const WIDTH: f64 = 1_000.0;
const LANE: f64 = 14.0;
/// The narrowest bar.
const BAR_MIN: f64 = 2.0;
const LANES_MAX: usize = 8;
const ROWS_MAX: usize = 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowsBy {
    Job,
    Executor,
}

/// The part of time that is drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeSpan {
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
}

#[derive(Debug, Clone)]
pub(crate) struct GanttRow {
    pub(crate) name: String,
    pub(crate) href: Option<String>,
    /// `12 runs, 2 failed, up to 3 at once`
    pub(crate) summary: String,
    pub(crate) picture: Html,
    pub(crate) height: usize,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Gantt {
    pub(crate) rows: Vec<GanttRow>,
    /// Rows that are not drawn.
    pub(crate) left_out: usize,
}

/// `link`: the address of a run, and that of a row by one of its runs.
pub(crate) fn draw(
    runs: &[Run],
    by: RowsBy,
    span: TimeSpan,
    times: &Times,
    run_href: impl Fn(&Run) -> String,
    row_href: impl Fn(&Run) -> Option<String>,
) -> Gantt {
    let mut rows: BTreeMap<(String, String), Vec<&Run>> = BTreeMap::new();
    for run in runs {
        let key = match by {
            // Two jobs may have one label.
            RowsBy::Job => (run.label.clone(), run.job_id.to_string()),
            RowsBy::Executor => (run.executor.clone().unwrap_or_default(), String::new()),
        };
        rows.entry(key).or_default().push(run);
    }
    let left_out = rows.len().saturating_sub(ROWS_MAX);
    let row = |((name, _), runs): ((String, String), Vec<&Run>)| {
        let lanes = lanes(&runs, times.now);
        let most = lanes.iter().max().map_or(0, |lane| lane + 1);
        let shown = most.clamp(1, LANES_MAX);
        GanttRow {
            name: if name.is_empty() { "no executor yet".to_owned() } else { name },
            href: runs.first().and_then(|run| row_href(run)),
            summary: summary(&runs, at_once(&runs, times.now)),
            picture: picture(&runs, &lanes, shown, span, times, &run_href),
            height: shown * LANE as usize,
        }
    };
    Gantt { rows: rows.into_iter().take(ROWS_MAX).map(row).collect(), left_out }
}

/// The first lane that is free, for each run in the order in which they were fired.
fn lanes(runs: &[&Run], now: Timestamp) -> Vec<usize> {
    let mut free_from: Vec<Timestamp> = Vec::new();
    let lane = |run: &&Run| {
        let end = run.finished_at.unwrap_or(now).max(run.fired_at.moved(1));
        match free_from.iter().position(|free| *free <= run.fired_at) {
            Some(lane) => {
                free_from[lane] = end;
                lane
            }
            None => {
                free_from.push(end);
                free_from.len() - 1
            }
        }
    };
    runs.iter().map(lane).collect()
}

/// How many executed at the same time, at most: those that wait lie in lanes, too.
fn at_once(runs: &[&Run], now: Timestamp) -> usize {
    let executed = runs.iter().filter_map(|run| {
        let start = run.started_at?;
        Some((start, run.finished_at.unwrap_or(now).max(start.moved(1))))
    });
    // What ends at a moment is over before what begins then.
    let mut turns: Vec<(Timestamp, isize)> = executed.flat_map(|(start, end)| [(start, 1), (end, -1)]).collect();
    turns.sort_unstable();
    let depths = turns.iter().scan(0, |depth, (_, change)| {
        *depth += change;
        Some(*depth)
    });
    depths.max().map_or(0, isize::unsigned_abs)
}

fn summary(runs: &[&Run], at_once: usize) -> String {
    let failed = runs.iter().filter(|run| run.status.name() == "failed").count();
    let mut parts = vec![counted(Counted::exactly(runs.len()), "run", "runs")];
    if failed > 0 {
        parts.push(format!("{failed} failed"));
    }
    if at_once > 1 {
        parts.push(format!("up to {at_once} at once"));
    }
    parts.join(", ")
}

fn picture(
    runs: &[&Run],
    lanes: &[usize],
    shown: usize,
    span: TimeSpan,
    times: &Times,
    href: &impl Fn(&Run) -> String,
) -> Html {
    let height = shown as f64 * LANE;
    let all = span.to.since(span.from).ms().max(1) as f64;
    let x = |at: Timestamp| (at.since(span.from).ms() as f64 / all * WIDTH).min(WIDTH);
    let mut html = Html::new().raw(format_args!(
        "<svg class=\"lanes\" viewBox=\"0 0 {WIDTH} {height}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
    ));
    for quarter in 1..4 {
        html = html.raw(format_args!("<path class=\"rule\" d=\"M{} 0V{height}\"/>", WIDTH * f64::from(quarter) / 4.0));
    }
    let mut covered = vec![Covered::default(); shown];
    for (run, lane) in runs.iter().zip(lanes) {
        // What has no lane of its own is drawn in the last one, over what is there.
        let lane = (*lane).min(shown - 1);
        if covered[lane].hides(run, times.now, &x) {
            continue;
        }
        let y = lane as f64 * LANE;
        html = html.raw("<a tabindex=\"-1\" href=\"").text(&href(run)).raw("\">").raw(bar(run, y, times.now, &x));
        html = html.raw("<title>").text(&words(run, times)).raw("</title></a>");
    }
    if times.now > span.from && times.now < span.to {
        html = html.raw(format_args!("<path class=\"now\" d=\"M{:.1} 0V{height}\"/>", x(times.now)));
    }
    html.raw("</svg>")
}

/// What the last bar of a lane covers.
#[derive(Debug, Clone, Default)]
struct Covered {
    status: &'static str,
    from: f64,
    to: f64,
}

impl Covered {
    /// Whether the bar of this run would lie on the last one; if not, it is the last one from now on.
    fn hides(&mut self, run: &Run, now: Timestamp, x: &impl Fn(Timestamp) -> f64) -> bool {
        let (from, end) = (x(run.fired_at), x(run.finished_at.unwrap_or(now)));
        let start = run.started_at.map_or(end, x);
        let (to, status) = (end.max(start + BAR_MIN), run.status.name());
        // Waiting is drawn in another shape: a run that visibly waited is another picture.
        let is_plain = start - from < BAR_MIN;
        if is_plain && status == self.status && from >= self.from && to <= self.to + BAR_MIN / 2.0 {
            return true;
        }
        *self = Covered { status: if is_plain { status } else { "" }, from, to };
        false
    }
}

/// Waiting is a thin line, running a bar; each end has a shape as well as a colour.
fn bar(run: &Run, y: f64, now: Timestamp, x: &impl Fn(Timestamp) -> f64) -> String {
    let end = run.finished_at.unwrap_or(now);
    let start = run.started_at.unwrap_or(end);
    let rect = |class: &str, from: f64, to: f64, inset: f64| {
        format!(
            "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            y + inset,
            (to - from).max(BAR_MIN),
            LANE - 2.0 * inset
        )
    };
    let mut drawn = String::new();
    if start > run.fired_at {
        drawn.push_str(&rect("waiting", x(run.fired_at), x(start), 5.5));
    }
    if run.started_at.is_some() || run.status.is_terminal() {
        // A failure fills its lane; the others leave room.
        let inset = if run.status.name() == "failed" { 1.0 } else { 3.0 };
        drawn.push_str(&rect(run.status.name(), x(start), x(end), inset));
    }
    drawn
}

fn words(run: &Run, times: &Times) -> String {
    let end = run.finished_at.unwrap_or(times.now);
    let waited = run.started_at.unwrap_or(end).ms() - run.fired_at.ms();
    let mut text = format!("{}: {}, fired {}", run.label, run.status.name(), times.absolute(run.fired_at));
    if waited > 0 {
        text.push_str(&format!(", waited {}", length(waited)));
    }
    if let Some(start) = run.started_at {
        let verb = if run.finished_at.is_some() { "took" } else { "running for" };
        text.push_str(&format!(", {verb} {}", length(end.ms() - start.ms())));
    }
    if let Some(executor) = &run.executor {
        text.push_str(&format!(", on {executor}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use ordo_model::JobId;
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_ms(1_900_000_000_000 + second * 1_000).unwrap()
    }

    fn run(label: &str, fired: i64, started: Option<i64>, finished: Option<i64>) -> Run {
        let status = match (started, finished) {
            (_, Some(_)) => json!({ "type": "completed", "result": null }),
            (Some(_), None) => json!({ "type": "running" }),
            (None, None) => json!({ "type": "pending" }),
        };
        let id = JobId(uuid::Uuid::from_u128(7));
        let given = json!({
            "id": ordo_model::RunId::derive(id, 1, at(fired)), "job_id": id, "label": label, "scheduled_for": null,
            "fired_at": at(fired), "started_at": started.map(at), "finished_at": finished.map(at),
            "lateness_ms": null, "attempt": 1, "executor": started.map(|_| "gpu-1"), "parent_id": null, "shard": null,
            "cause": { "type": "manual" }, "status": status, "version": 1,
        });
        serde_json::from_value(given).unwrap()
    }

    #[test]
    fn runs_that_overlap_lie_in_lanes_of_their_own() {
        let runs = [
            run("a", 0, Some(0), Some(10)),
            run("a", 5, Some(10), Some(12)),
            run("a", 10, Some(10), Some(11)),
            run("a", 11, Some(11), None),
            run("a", 12, None, None),
        ];
        assert_eq!(lanes(&runs.iter().collect::<Vec<_>>(), at(20)), [0, 1, 0, 0, 1]);
        // What takes no time at all still overlaps what is fired at the same moment.
        let at_once = [run("a", 0, Some(0), Some(0)), run("a", 0, Some(0), Some(0))];
        assert_eq!(lanes(&at_once.iter().collect::<Vec<_>>(), at(20)), [0, 1]);
    }

    #[test]
    fn a_row_for_each_job_or_executor_and_what_is_left_out_is_counted() {
        let times = Times::new(at(20), "UTC", false);
        let span = TimeSpan { from: at(0), to: at(20) };
        let drawn = |runs: &[Run], by| draw(runs, by, span, &times, |_| "/r".to_owned(), |_| None);
        let runs = [run("<b>", 0, Some(2), Some(10)), run("a", 5, None, None)];
        let by_job = drawn(&runs, RowsBy::Job);
        assert_eq!(by_job.rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["<b>", "a"]);
        let picture = by_job.rows[0].picture.to_string();
        assert!(picture.contains("class=\"waiting\"") && picture.contains("&lt;b&gt;: completed"), "{picture}");
        let by_executor = drawn(&runs, RowsBy::Executor);
        assert_eq!(
            by_executor.rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(),
            ["no executor yet", "gpu-1"]
        );
        let many: Vec<Run> = (0..45).map(|n| run(&format!("job-{n:02}"), n, Some(n), Some(n + 1))).collect();
        assert_eq!((drawn(&many, RowsBy::Job).rows.len(), drawn(&many, RowsBy::Job).left_out), (40, 5));
        let dense: Vec<Run> = (0..2_000).map(|n| run("a", n / 100, Some(n / 100), Some(n / 100))).collect();
        let row = &drawn(&dense, RowsBy::Job).rows[0];
        let bars = row.picture.to_string().matches("<title>").count();
        assert!(
            row.summary.starts_with("2,000 runs") && (20..=20 * LANES_MAX).contains(&bars),
            "{bars}: {}",
            row.summary
        );
        let mixed = [run("a", 0, Some(0), Some(5)), run("a", 5, None, None), run("a", 6, Some(7), Some(8))];
        let bars = drawn(&mixed, RowsBy::Job).rows[0].picture.to_string().matches("<title>").count();
        assert_eq!(bars, 3, "what looks different is drawn");
        let same: Vec<Run> = (0..12).map(|_| run("a", 0, Some(0), Some(5))).collect();
        assert_eq!(drawn(&same, RowsBy::Job).rows[0].summary, "12 runs, up to 12 at once");
        let one_by_one: Vec<Run> = (0..5).map(|n| run("a", 0, Some(2 * n), Some(2 * n + 2))).collect();
        assert_eq!(drawn(&one_by_one, RowsBy::Job).rows[0].summary, "5 runs", "the others waited");
    }
}
