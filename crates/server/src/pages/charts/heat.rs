//! When a job fails: outcomes by day and hour of the viewer's zone.

use std::collections::BTreeMap;

use jiff::civil::Date;
use ordo_model::Timestamp;
use ordo_model::job::{Run, RunStatus};

use crate::pages::layout::html::Html;
use crate::pages::layout::moment::Times;

/// How many days are shown.
const DAYS: i64 = 7;

/// How tall a cell is, and the least that one part of it is.
const TALL: f64 = 14.0;
const LEAST: f64 = 2.0;

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

/// A row per day, the latest last; `runs` in any order. `since`: what was fired before is not among them, though there is some.
pub(crate) fn rows(runs: &[Run], since: Option<Timestamp>, times: &Times) -> Vec<HeatRow> {
    let since = since.map(|at| times.local(at)).map(|local| (local.date(), local.hour()));
    let today = times.local(times.now).date();
    let mut cells: BTreeMap<(Date, i8), Cell> = BTreeMap::new();
    for run in runs {
        let local = times.local(run.fired_at);
        count(cells.entry((local.date(), local.hour())).or_default(), &run.status);
    }
    let day = |back: i64| today.checked_sub(jiff::Span::new().days(back)).ok();
    (0..DAYS).rev().filter_map(day).map(|day| row(day, &cells, since)).collect()
}

fn count(cell: &mut Cell, status: &RunStatus) {
    match status {
        RunStatus::Completed { .. } => cell.good += 1,
        RunStatus::Failed { .. } => cell.failed += 1,
        RunStatus::Cancelled { .. } | RunStatus::Skipped { .. } => cell.other += 1,
        RunStatus::Pending { .. } | RunStatus::Running { .. } => {}
    }
}

fn row(day: Date, cells: &BTreeMap<(Date, i8), Cell>, since: Option<(Date, i8)>) -> HeatRow {
    let mut html = Html::new()
        .raw("<svg class=\"heat\" viewBox=\"0 0 480 16\" preserveAspectRatio=\"none\" aria-hidden=\"true\">");
    for hour in 0..24_i8 {
        let cell = cells.get(&(day, hour)).copied().unwrap_or_default();
        html = html.raw(draw(cell, hour, day, since));
    }
    HeatRow { day: day.strftime("%a %d").to_string(), cells: html.raw("</svg>") }
}

/// A cell is filled from below: failed runs red, then completed ones, then the rest, each by its share.
fn draw(cell: Cell, hour: i8, day: Date, since: Option<(Date, i8)>) -> String {
    let x = i32::from(hour) * 20 + 1;
    let total = cell.good + cell.failed + cell.other;
    let known = since.map_or(std::cmp::Ordering::Greater, |since| (day, hour).cmp(&since));
    let title = match (known, total) {
        (std::cmp::Ordering::Less, 0) => format!("<title>{day} {hour:02}:00: not looked at</title></g>"),
        (std::cmp::Ordering::Equal | std::cmp::Ordering::Greater, 0) => {
            format!("<title>{day} {hour:02}:00: no run has ended</title></g>")
        }
        (known, _) => format!(
            "<title>{day} {hour:02}:00: {}{} completed, {} failed, {} skipped or cancelled</title></g>",
            // The hour in which the known ones begin.
            if known == std::cmp::Ordering::Greater { "" } else { "at least " },
            cell.good,
            cell.failed,
            cell.other
        ),
    };
    let mut drawn = format!("<g><rect class=\"empty\" x=\"{x}\" y=\"1\" width=\"18\" height=\"{TALL}\"/>");
    let mut bottom = 1.0 + TALL;
    for (class, height) in shares(cell) {
        bottom -= height;
        drawn.push_str(&format!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{bottom:.1}\" width=\"18\" height=\"{height:.1}\"/>"
        ));
    }
    drawn + &title
}

/// How tall each part of a cell is. Whatever happened is seen, however small its share.
fn shares(cell: Cell) -> Vec<(&'static str, f64)> {
    let parts = [("bad", cell.failed), ("good", cell.good), ("other", cell.other)];
    let parts: Vec<(&str, u32)> = parts.into_iter().filter(|(_, count)| *count > 0).collect();
    let total: f64 = parts.iter().map(|(_, count)| f64::from(*count)).sum();
    let room = TALL - LEAST * parts.len() as f64;
    parts.into_iter().map(|(class, count)| (class, LEAST + room * f64::from(count) / total)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_that_nobody_looked_at_is_not_an_hour_without_runs() {
        let day: Date = "2026-11-15".parse().unwrap();
        let one = Cell { good: 1, ..Cell::default() };
        let since = Some((day, 12));
        let said = |cell, hour, since| draw(cell, hour, day, since);
        assert!(said(Cell::default(), 11, since).contains("11:00: not looked at"));
        assert!(said(one, 12, since).contains("12:00: at least 1 completed"));
        assert!(said(one, 13, since).contains("13:00: 1 completed"));
        assert!(said(Cell::default(), 13, since).contains("no run has ended"));
        assert!(said(Cell::default(), 11, None).contains("no run has ended"));
    }

    #[test]
    fn a_cell_shows_shares_and_a_single_failure_is_seen() {
        let cell = |good, failed, other| Cell { good, failed, other };
        assert_eq!(shares(cell(0, 0, 0)), []);
        assert_eq!(shares(cell(3, 0, 0)), [("good", TALL)]);
        assert_eq!(shares(cell(0, 2, 0)), [("bad", TALL)]);
        let half = shares(cell(5, 5, 0));
        assert_eq!((half[0].1, half[1].1), (TALL / 2.0, TALL / 2.0));
        let one = shares(cell(999, 1, 0));
        assert!(one[0].0 == "bad" && one[0].1 >= LEAST && one[0].1 < 3.0, "{one:?}");
    }
}
