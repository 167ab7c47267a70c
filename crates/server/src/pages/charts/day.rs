//! The next 24 hours: how much fires in each quarter of an hour.
//!
//! Invariant: a job that fires often is shown as a rate, not counted one by one: the work is bounded by jobs, not fires.

use ordo_model::job::Job;
use ordo_model::{Millis, Timestamp};

use crate::pages::layout::html::Html;
use crate::pages::layout::moment::Times;

const COLUMNS: usize = 96;
const COLUMN_MS: i64 = 15 * 60_000;
const HEIGHT: f64 = 60.0;
const STEP: f64 = 10.0;

/// What the picture shows.
#[derive(Debug, Clone, Default)]
pub(crate) struct DayChart {
    columns: Vec<Vec<String>>,
    /// Jobs that fire more than once per column.
    pub(crate) steady: usize,
    pub(crate) fires: usize,
}

impl DayChart {
    pub(crate) fn of(jobs: &[Job], now: Timestamp) -> DayChart {
        let mut day = DayChart { columns: vec![Vec::new(); COLUMNS], ..DayChart::default() };
        let end = now.plus(Millis::from_hours(24));
        for job in jobs.iter().filter(|job| job.next_tick_at().is_some()) {
            day.add(job, now, end);
        }
        day
    }

    fn add(&mut self, job: &Job, now: Timestamp, end: Timestamp) {
        let Some(schedule) = job.definition.trigger.schedule() else { return };
        let found = schedule.between(now, end, COLUMNS + 1, job.id.0);
        if found.len() > COLUMNS {
            self.steady += 1;
            return;
        }
        for occurrence in found {
            let column = usize::try_from((occurrence.due.ms() - now.ms()) / COLUMN_MS).unwrap_or(0);
            self.fires += 1;
            if let Some(column) = self.columns.get_mut(column) {
                column.push(job.definition.label.clone());
            }
        }
    }

    pub(crate) fn draw(&self, times: &Times) -> Html {
        // By the root: one job is seen beside a thousand.
        let top = (self.columns.iter().map(Vec::len).max().unwrap_or(0).max(1) as f64).sqrt();
        let width = COLUMNS as f64 * STEP;
        let mut html = Html::new().raw(format_args!(
            "<svg class=\"plot day\" viewBox=\"0 0 {width} {HEIGHT}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
        ));
        for (place, labels) in self.columns.iter().enumerate() {
            let (x, height) = (place as f64 * STEP, (labels.len() as f64).sqrt() / top * (HEIGHT - 4.0));
            let at = times.now.plus(Millis::from_ms(place as u64 * COLUMN_MS as u64));
            html = html.raw(format_args!(
                "<g><rect class=\"ground\" x=\"{x}\" y=\"0\" width=\"{STEP}\" height=\"{HEIGHT}\"/>"
            ));
            if !labels.is_empty() {
                html = html.raw(format_args!(
                    "<rect class=\"fires\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\" rx=\"1.5\"/>",
                    x + 1.0,
                    HEIGHT - height,
                    STEP - 2.0
                ));
            }
            html = html.raw("<title>").text(&tooltip(&times.hour(at), labels)).raw("</title></g>");
        }
        html.raw("</svg>")
    }

    /// Words for the axis, every six hours.
    pub(crate) fn hours(times: &Times) -> Vec<String> {
        (0..=4).map(|place| times.hour(times.now.plus(Millis::from_hours(place * 6)))).collect()
    }
}

fn tooltip(hour: &str, labels: &[String]) -> String {
    const NAMED: usize = 5;
    let named = labels.iter().take(NAMED).map(String::as_str).collect::<Vec<&str>>().join(", ");
    match labels.len() {
        0 => format!("from {hour}: nothing"),
        count if count > NAMED => format!("from {hour}: {count} fires, {named} …"),
        count => format!("from {hour}: {count} ({named})"),
    }
}
