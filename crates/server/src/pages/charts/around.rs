//! The runs of a job around the time of an incident: a dot each, and a band from its start to its end.

use ordo_model::Timestamp;
use ordo_model::job::Run;

use super::scatter::{Measure, dot, nice};
use crate::pages::layout::html::Html;
use crate::pages::layout::moment::{Times, length};
use crate::pages::runs::outcome::{Counted, counted};

const WIDTH: f64 = 1_000.0;
const HEIGHT: f64 = 120.0;

#[derive(Debug, Clone, Default)]
pub(crate) struct Around {
    pub(crate) picture: Html,
    pub(crate) top: String,
    pub(crate) from: String,
    pub(crate) to: String,
    /// The same in words.
    pub(crate) summary: String,
}

/// `runs` are oldest first; `during` is when the incident began and ended.
pub(crate) fn draw(
    runs: &[Run],
    during: (Timestamp, Timestamp),
    times: &Times,
    href: impl Fn(&Run) -> String,
) -> Around {
    let at = |run: &Run| run.started_at.unwrap_or(run.fired_at);
    let (Some(first), Some(last)) = (runs.first(), runs.last()) else { return Around::default() };
    let (from, to) = (at(first).min(during.0), at(last).max(during.0));
    let span = (to.ms() - from.ms()).max(1) as f64;
    let x = |at: Timestamp| ((at.ms() - from.ms()) as f64 / span).clamp(0.0, 1.0) * (WIDTH - 16.0) + 8.0;
    let measure = |run: &Run| Measure::Duration.of(run).unwrap_or_default().max(0);
    let top = nice(runs.iter().map(measure).max().unwrap_or_default());
    let y = |ms: i64| HEIGHT - ms as f64 / top as f64 * HEIGHT;
    let (begins, ends) = (x(during.0), x(during.1));
    let mut html = Html::new().raw(format_args!(
        "<svg class=\"plot dots around\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <rect class=\"band\" x=\"{begins:.1}\" y=\"0\" width=\"{:.1}\" height=\"{HEIGHT}\"/>\
         <path class=\"rule\" d=\"M0 0H{WIDTH}M0 {HEIGHT}H{WIDTH}\"/><path class=\"begins\" d=\"M{begins:.1} 0V{HEIGHT}\"/>",
        (ends - begins).max(4.0)
    ));
    for run in runs {
        let words = format!("{} after {} · {}", run.status.name(), length(measure(run)), times.absolute(at(run)));
        html = html
            .raw(format_args!("<a href=\"{}\" tabindex=\"-1\">", href(run)))
            .raw(dot(run, x(at(run)), y(measure(run))))
            .raw("<title>")
            .text(&words)
            .raw("</title></path></a>");
    }
    let count = |name: &str| runs.iter().filter(|run| run.status.name() == name).count();
    Around {
        picture: html.raw("</svg>"),
        top: length(top),
        from: times.absolute(from),
        to: times.absolute(to),
        summary: format!(
            "{}: {} completed, {} failed",
            counted(Counted::exactly(runs.len()), "run", "runs"),
            count("completed"),
            count("failed")
        ),
    }
}
