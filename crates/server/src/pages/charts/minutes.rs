//! Runs per minute by outcome, and how late they began.

use ordo_engine::series::{Minute, lateness_ms};

use crate::pages::layout::html::Html;

const HEIGHT: f64 = 100.0;
const STEP: f64 = 10.0;

/// Stacked bars, oldest left; failures stand on top, where they are seen.
/// `seen`: how many minutes this process has been there for; of those before it knows nothing.
pub(crate) fn outcomes(minutes: &[Minute], seen: usize) -> Html {
    let top = minutes.iter().map(total).max().unwrap_or(0).max(1);
    let width = minutes.len() as f64 * STEP;
    let mut html = Html::new().raw(format_args!(
        "<svg class=\"plot bars\" viewBox=\"0 0 {width} {HEIGHT}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
    ));
    for (place, minute) in minutes.iter().enumerate() {
        let ago = minutes.len() - 1 - place;
        html = html
            .raw("<g>")
            .raw(column(place as f64 * STEP, minute, top))
            .raw("<title>")
            .text(&tooltip(minute, ago, seen));
        html = html.raw("</title></g>");
    }
    html.raw("</svg>")
}

fn column(x: f64, minute: &Minute, top: u32) -> String {
    let parts = [
        ("completed", minute.completed),
        ("skipped", minute.skipped),
        ("cancelled", minute.cancelled),
        ("failed", minute.failed),
    ];
    let mut y = HEIGHT;
    let mut drawn = format!("<rect class=\"ground\" x=\"{x}\" y=\"0\" width=\"{STEP}\" height=\"{HEIGHT}\"/>");
    for (class, count) in parts.into_iter().filter(|(_, count)| *count > 0) {
        // Whatever happened is seen, however small its share.
        let height = (f64::from(count) / f64::from(top) * (HEIGHT - 6.0)).max(3.0);
        y = (y - height).max(0.0);
        drawn.push_str(&format!(
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{height:.1}\"/>",
            x + 1.5,
            STEP - 3.0
        ));
    }
    drawn
}

fn tooltip(minute: &Minute, ago: usize, seen: usize) -> String {
    let when = if ago == 0 { "this minute".to_owned() } else { format!("{ago} min ago") };
    if ago > seen {
        return format!("{when}: before this server started");
    }
    format!(
        "{when}: {} completed, {} failed, {} cancelled, {} skipped",
        minute.completed, minute.failed, minute.cancelled, minute.skipped
    )
}

pub(crate) fn total(minute: &Minute) -> u32 {
    minute.completed + minute.failed + minute.cancelled + minute.skipped
}

/// The lateness that 99 of 100 starts did not exceed, minute by minute, on a logarithmic scale from 1 ms to 100 s.
pub(crate) fn lateness(minutes: &[Minute]) -> Html {
    let width = minutes.len() as f64 * STEP;
    let mut html = Html::new().raw(format_args!(
        "<svg class=\"plot curve\" viewBox=\"0 0 {width} {HEIGHT}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
    ));
    for decade in 1..5 {
        let y = HEIGHT - f64::from(decade) * HEIGHT / 5.0;
        html = html.raw(format_args!("<path class=\"rule\" d=\"M0 {y}H{width}\"/>"));
    }
    for percent in [99, 50] {
        html = html.raw(format_args!("<path class=\"p{percent}\" d=\"{}\"/>", line(minutes, percent)));
    }
    html.raw("</svg>")
}

fn line(minutes: &[Minute], percent: u64) -> String {
    let mut path = String::new();
    let mut is_down = false;
    for (place, minute) in minutes.iter().enumerate() {
        let Some(ms) = lateness_ms(std::slice::from_ref(minute), percent) else {
            is_down = false;
            continue;
        };
        let share = (ms.clamp(1, 100_000) as f64).log10() / 5.0;
        let (x, y) = ((place as f64 + 0.5) * STEP, HEIGHT - 3.0 - share * (HEIGHT - 6.0));
        path.push_str(&format!("{}{x:.1} {y:.1}", if is_down { 'L' } else { 'M' }));
        // A minute alone is a dot: a line that ends where it began.
        if !is_down {
            path.push_str("h0");
        }
        is_down = true;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_without_runs_draws_no_bar_and_a_single_failure_is_seen() {
        let quiet = outcomes(&[Minute::default(); 3], 3).to_string();
        assert!(!quiet.contains("class=\"failed\""));
        let mut one = Minute::default();
        (one.completed, one.failed) = (10_000, 1);
        assert!(outcomes(&[one], 1).to_string().contains("height=\"3.0\""));
    }

    #[test]
    fn a_minute_before_the_start_is_not_said_to_be_without_runs() {
        let minutes = outcomes(&[Minute::default(); 3], 1).to_string();
        assert!(
            minutes.contains("2 min ago: before this server started") && minutes.contains("1 min ago: 0 completed")
        );
    }
}
