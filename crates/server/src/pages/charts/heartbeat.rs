//! The last runs of a job as a row of beats, oldest left.

use ordo_model::job::{RunStatus, RunStatusKind};

use crate::pages::layout::html::Html;

/// How many beats a row has.
pub(crate) const BEATS: usize = 30;
const STEP: usize = 6;
const HEIGHT: usize = 20;

/// `runs` are newest first, as lists give them.
pub(crate) fn draw(runs: &[RunStatusKind]) -> Html {
    let runs = &runs[..runs.len().min(BEATS)];
    let width = BEATS * STEP - 2;
    let mut html = Html::new()
        .raw(format_args!("<svg class=\"beats\" viewBox=\"0 0 {width} {HEIGHT}\" role=\"img\" aria-label=\""))
        .text(&summary(runs))
        .raw("\">");
    for place in 0..BEATS {
        let x = (BEATS - 1 - place) * STEP;
        html = match runs.get(place) {
            Some(status) => html.raw(beat(x, *status)),
            None => {
                html.raw(format_args!("<rect class=\"none\" x=\"{x}\" y=\"9\" width=\"4\" height=\"2\" rx=\"1\"/>"))
            }
        };
    }
    html.raw("</svg>")
}

/// The height shows the same as the colour.
fn beat(x: usize, status: RunStatusKind) -> String {
    let (class, y, height) = match status {
        RunStatusKind::Failed => ("failed", 0, HEIGHT),
        RunStatusKind::Completed => ("completed", 4, 12),
        RunStatusKind::Cancelled => ("cancelled", 6, 8),
        RunStatusKind::Skipped => ("skipped", 8, 4),
        RunStatusKind::Running => ("running", 4, 12),
        RunStatusKind::Pending => ("pending", 8, 4),
    };
    format!("<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"4\" height=\"{height}\" rx=\"2\"/>")
}

fn summary(runs: &[RunStatusKind]) -> String {
    if runs.is_empty() {
        return "no runs yet".to_owned();
    }
    let count = |name: &str| runs.iter().filter(|kind| kind.name() == name).count();
    let counts = RunStatus::NAMES.iter().map(|name| (count(name), name)).filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, name)| format!("{count} {name}")).collect();
    format!("last {}: {}", runs.len(), counts.join(", "))
}
