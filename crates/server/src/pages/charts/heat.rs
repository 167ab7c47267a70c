//! When a job fails: outcomes by day and hour of the viewer's zone.

use std::collections::BTreeMap;

use jiff::civil::Date;
use ordo_model::job::{Run, RunStatus};

use crate::pages::layout::html::Html;
use crate::pages::layout::moment::Times;

/// How many days are shown.
const DAYS: i64 = 7;

#[derive(Debug, Clone)]
pub(crate) struct HeatRow {
    pub(crate) day: String,
    pub(crate) cells: Html,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Cell {
    good: u32,
    failed: u32,
    other: u32,
}

/// A row per day, the latest last; `runs` in any order.
pub(crate) fn rows(runs: &[Run], times: &Times) -> Vec<HeatRow> {
    let today = times.local(times.now).date();
    let mut cells: BTreeMap<(Date, i8), Cell> = BTreeMap::new();
    for run in runs {
        let local = times.local(run.fired_at);
        count(cells.entry((local.date(), local.hour())).or_default(), &run.status);
    }
    let day = |back: i64| today.checked_sub(jiff::Span::new().days(back)).ok();
    (0..DAYS).rev().filter_map(day).map(|day| row(day, &cells)).collect()
}

fn count(cell: &mut Cell, status: &RunStatus) {
    match status {
        RunStatus::Completed { .. } => cell.good += 1,
        RunStatus::Failed { .. } => cell.failed += 1,
        RunStatus::Cancelled { .. } | RunStatus::Skipped { .. } => cell.other += 1,
        RunStatus::Pending { .. } | RunStatus::Running { .. } => {}
    }
}

fn row(day: Date, cells: &BTreeMap<(Date, i8), Cell>) -> HeatRow {
    let mut html = Html::new()
        .raw("<svg class=\"heat\" viewBox=\"0 0 480 16\" preserveAspectRatio=\"none\" aria-hidden=\"true\">");
    for hour in 0..24_i8 {
        let cell = cells.get(&(day, hour)).copied().unwrap_or_default();
        html = html.raw(draw(cell, hour, day));
    }
    HeatRow { day: day.strftime("%a %d").to_string(), cells: html.raw("</svg>") }
}

fn draw(cell: Cell, hour: i8, day: Date) -> String {
    let x = i32::from(hour) * 20 + 1;
    let square =
        |class: &str| format!("<g><rect class=\"{class}\" x=\"{x}\" y=\"1\" width=\"18\" height=\"14\" rx=\"3\"/>");
    let mark = format!("<rect class=\"bite\" x=\"{}\" y=\"6\" width=\"10\" height=\"4\" rx=\"2\"/>", x + 4);
    let title = format!(
        "<title>{day} {hour:02}:00: {} completed, {} failed, {} other</title></g>",
        cell.good, cell.failed, cell.other
    );
    let shown = match cell {
        Cell { good: 0, failed: 0, other: 0 } => square("empty"),
        Cell { failed: 0, good: 0, .. } => square("other"),
        Cell { failed: 0, good, .. } => square(if good < 4 { "good some" } else { "good" }),
        Cell { failed, good, .. } if failed * 4 < good => square("mixed") + &mark,
        Cell { .. } => square("bad") + &mark,
    };
    shown + &title
}
