//! The next 24 hours: how much fires in each quarter of an hour.
//!
//! Invariant: a job that fires often is shown as a rate, not counted one by one: the work is bounded by jobs, not fires.
//! Of a job that was not loaded the next fire is counted alone; columns that are not known are drawn as such.

use ordo_engine::upcoming::Upcoming;
use ordo_model::job::Job;
use ordo_model::{Millis, Timestamp};

use crate::pages::layout::html::Html;
use crate::pages::layout::moment::Times;
use crate::pages::runs::outcome::{Counted, counted};

const COLUMNS: usize = 96;
const COLUMN_MS: i64 = 15 * 60_000;
const HEIGHT: f64 = 60.0;
const STEP: f64 = 10.0;

/// What the picture shows.
#[derive(Debug, Clone, Default)]
pub(crate) struct DayChart {
    columns: Vec<Column>,
    /// Jobs that fire more than once per column.
    steady: usize,
    fires: usize,
    /// Fires of jobs that were not loaded are missing.
    is_cut: bool,
    /// From here on nothing is known.
    known_until: Option<Timestamp>,
}

#[derive(Debug, Clone, Default)]
struct Column {
    labels: Vec<String>,
    /// Fires of jobs whose labels are not known.
    others: usize,
    is_unknown: bool,
}

impl Column {
    fn len(&self) -> usize {
        self.labels.len() + self.others
    }
}

impl DayChart {
    pub(crate) fn of(upcoming: &Upcoming, now: Timestamp) -> DayChart {
        let mut day = DayChart {
            columns: vec![Column::default(); COLUMNS],
            is_cut: !upcoming.is_loaded(),
            known_until: upcoming.known_until,
            ..DayChart::default()
        };
        let end = now.plus(Millis::from_hours(24));
        for job in &upcoming.jobs {
            day.add(job, now, end);
        }
        for minute in upcoming.others.iter().map(|at| (*at).max(now)).filter(|at| *at < end) {
            day.fires += 1;
            if let Some(column) = day.columns.get_mut(place(minute, now)) {
                column.others += 1;
            }
        }
        if let Some(until) = upcoming.known_until {
            day.columns.iter_mut().skip(place(until.max(now), now)).for_each(|column| column.is_unknown = true);
        }
        day
    }

    fn add(&mut self, job: &Job, now: Timestamp, end: Timestamp) {
        let found = job.fires_between(now, end, COLUMNS + 1);
        if found.len() > COLUMNS {
            self.steady += 1;
            return;
        }
        for occurrence in found {
            self.fires += 1;
            if let Some(column) = self.columns.get_mut(place(occurrence.due, now)) {
                column.labels.push(job.definition.label.clone());
            }
        }
    }

    /// How much fires, in words.
    pub(crate) fn summary(&self, times: &Times) -> String {
        let fires = counted(Counted { count: self.fires, is_exact: !self.is_cut }, "fire", "fires");
        let steady = match self.steady {
            0 => String::new(),
            count => {
                let jobs = counted(Counted { count, is_exact: !self.is_cut }, "job that fires", "jobs that fire");
                format!(", and {jobs} more often than every 15 minutes")
            }
        };
        let known = self.known_until.map_or_else(String::new, |at| format!("; counted up to {}", times.hour(at)));
        format!("{fires}{steady}{known}")
    }

    pub(crate) fn draw(&self, times: &Times) -> Html {
        // By the root: one job is seen beside a thousand.
        let top = (self.columns.iter().map(Column::len).max().unwrap_or(0).max(1) as f64).sqrt();
        let width = COLUMNS as f64 * STEP;
        let mut html = Html::new().raw(format_args!(
            "<svg class=\"plot day\" viewBox=\"0 0 {width} {HEIGHT}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
        ));
        for (place, column) in self.columns.iter().enumerate() {
            let (x, height) = (place as f64 * STEP, (column.len() as f64).sqrt() / top * (HEIGHT - 4.0));
            let at = times.now.plus(Millis::from_ms(place as u64 * COLUMN_MS as u64));
            let ground = if column.is_unknown { "ground unknown" } else { "ground" };
            html = html.raw(format_args!(
                "<g><rect class=\"{ground}\" x=\"{x}\" y=\"0\" width=\"{STEP}\" height=\"{HEIGHT}\"/>"
            ));
            if column.len() > 0 {
                html = html.raw(format_args!(
                    "<rect class=\"fires\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\" rx=\"1.5\"/>",
                    x + 1.0,
                    HEIGHT - height,
                    STEP - 2.0
                ));
            }
            html = html.raw("<title>").text(&tooltip(&times.hour(at), column, self.steady > 0)).raw("</title></g>");
        }
        html.raw("</svg>")
    }

    /// Words for the axis, every six hours.
    pub(crate) fn hours(times: &Times) -> Vec<String> {
        (0..=4).map(|place| times.hour(times.now.plus(Millis::from_hours(place * 6)))).collect()
    }
}

/// Which column a moment lies in.
fn place(at: Timestamp, now: Timestamp) -> usize {
    usize::try_from((at.ms() - now.ms()) / COLUMN_MS).unwrap_or(0)
}

/// `beside`: jobs fire that are not counted one by one.
fn tooltip(hour: &str, column: &Column, beside: bool) -> String {
    const NAMED: usize = 5;
    let named = column.labels.iter().take(NAMED).map(String::as_str).collect::<Vec<&str>>().join(", ");
    match (column.len(), column.is_unknown) {
        (0, true) => format!("from {hour}: not counted"),
        (count, true) => format!("from {hour}: at least {count}"),
        (0, false) if beside => format!("from {hour}: only jobs that fire more often than every 15 minutes"),
        (0, false) => format!("from {hour}: nothing"),
        (count, false) if named.is_empty() => {
            format!("from {hour}: {}", counted(Counted::exactly(count), "fire", "fires"))
        }
        (count, false) if column.others > 0 || count > NAMED => format!("from {hour}: {count} fires, {named} …"),
        (count, false) => format!("from {hour}: {count} ({named})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With more jobs than are loaded, a column is not empty because nobody looked.
    #[test]
    fn what_was_not_looked_at_is_not_shown_as_nothing() {
        let now = Timestamp::from_ms(1_900_000_000_000).unwrap();
        let minutes = |count: u64| now.plus(Millis::from_secs(60 * count));
        let upcoming =
            Upcoming { jobs: Vec::new(), others: vec![minutes(1), minutes(20)], known_until: Some(minutes(45)) };
        let day = DayChart::of(&upcoming, now);
        assert_eq!(day.columns[..5].iter().map(Column::len).collect::<Vec<_>>(), [1, 1, 0, 0, 0]);
        assert_eq!(
            day.columns[..5].iter().map(|one| one.is_unknown).collect::<Vec<_>>(),
            [false, false, false, true, true]
        );
        let times = Times::new(now, "UTC", false);
        assert_eq!(day.summary(&times), format!("at least 2 fires; counted up to {}", times.hour(minutes(45))));
        let (none, one) = (Column::default(), Column { others: 1, ..Column::default() });
        assert_eq!(tooltip("02:00", &none, false), "from 02:00: nothing");
        assert_eq!(tooltip("02:00", &none, true), "from 02:00: only jobs that fire more often than every 15 minutes");
        assert_eq!(tooltip("02:00", &one, true), "from 02:00: 1 fire");
        let whole = DayChart::of(&Upcoming::default(), now);
        assert_eq!(whole.summary(&times), "0 fires");
    }
}
