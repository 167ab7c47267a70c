//! Runs by when they were fired, as bars of a window; each bar leads to its own time.
//!
//! Invariant: a bar of a bin that was not counted to its end is drawn as an estimate, and its words say what is known.

use ordo_engine::run_list::histogram::{BinnedWindow, HistogramBin};
use ordo_model::job::RunStatus;
use ordo_model::{Millis, Timestamp};

use crate::pages::layout::html::Html;
use crate::pages::layout::moment::Times;
use crate::pages::runs::outcome::{Counted, counted, grouped};

const HEIGHT: f64 = 100.0;
const STEP: f64 = 10.0;
/// Widths that people think in, in minutes.
const WIDTHS_MIN: [u64; 13] = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440, 10_080];
const BARS_MAX: u64 = 60;
const SECOND: Millis = Millis::from_secs(1);

/// Bars from below: what went wrong stands on top, where it is seen.
const ORDER: [&str; 6] = ["completed", "running", "pending", "skipped", "cancelled", "failed"];

/// Bins of a round width around the window, which begin at round times of the zone.
pub(crate) fn window(from: Timestamp, to: Timestamp, times: &Times) -> BinnedWindow {
    let span = to.since(from).ms().max(1);
    let seconds = [1, 5, 15, 30].map(|count| SECOND.saturating_mul(count).ms());
    let minutes = WIDTHS_MIN.map(|count| SECOND.saturating_mul(60 * count).ms());
    // One bar more than fits exactly, because the first one begins before the window.
    let fits = |width: &u64| span / width < BARS_MAX - 1;
    let week = minutes[minutes.len() - 1];
    let width =
        seconds.into_iter().chain(minutes).find(fits).unwrap_or_else(|| week * span.div_ceil(week * (BARS_MAX - 1)));
    let offset = i64::from(times.local(to).offset().seconds()) * 1_000;
    let wide = i64::try_from(width).unwrap_or(i64::MAX);
    let begin = (from.ms() + offset).div_euclid(wide) * wide - offset;
    let bins = u64::try_from(to.ms() - begin).unwrap_or(0).div_ceil(width).clamp(1, BARS_MAX);
    BinnedWindow {
        from: Timestamp::from_ms(begin).unwrap_or(from),
        bin: Millis::from_ms(width),
        bins: usize::try_from(bins).unwrap_or(1),
    }
}

/// `1,234 runs, 12 failed`; `at least …` where not everything was counted.
pub(crate) fn summary(bins: &[HistogramBin]) -> String {
    let is_exact = bins.iter().all(|bin| bin.seen_from.is_none());
    let of = |count: u32| Counted { count: usize::try_from(count).unwrap_or(usize::MAX), is_exact };
    let failed: u32 =
        RunStatus::code_of("failed").map_or(0, |code| bins.iter().map(|bin| bin.counts[usize::from(code)]).sum());
    let all = counted(of(bins.iter().map(HistogramBin::total).sum()), "run", "runs");
    match failed {
        0 => all,
        _ => format!("{all}, {} failed", of(failed).words()),
    }
}

/// `band`: what else is shown of the window, from and to. `href`: the address of what was fired between two moments.
pub(crate) fn draw(
    bins: &[HistogramBin],
    band: Option<(Timestamp, Timestamp)>,
    times: &Times,
    href: impl Fn(Timestamp, Timestamp) -> String,
) -> Html {
    let top = bins.iter().map(HistogramBin::estimate).max().unwrap_or(0).max(1);
    let width = bins.len() as f64 * STEP;
    let mut html = Html::new().raw(format_args!(
        "<svg class=\"plot histogram\" viewBox=\"0 0 {width} {HEIGHT}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
    ));
    if let Some((from, to)) = band.zip(bins.first().zip(bins.last())).map(|((from, to), (first, last))| {
        let all = last.to.since(first.from).ms().max(1) as f64;
        let x = |at: Timestamp| (at.since(first.from).ms() as f64 / all * width).min(width);
        (x(from), x(to))
    }) {
        html = html.raw(format_args!(
            "<rect class=\"band\" x=\"{from:.1}\" y=\"0\" width=\"{:.1}\" height=\"{HEIGHT}\"/>",
            (to - from).max(1.0)
        ));
    }
    for (place, bin) in bins.iter().enumerate() {
        let class = if bin.seen_from.is_some() { "guess" } else { "" };
        html = html
            .raw("<a tabindex=\"-1\" href=\"")
            .text(&href(bin.from, bin.to))
            .raw(format_args!("\"><g class=\"{class}\">"))
            .raw(column(place as f64 * STEP, bin, top))
            .raw("<title>")
            .text(&words(bin, times))
            .raw("</title></g></a>");
    }
    html.raw("</svg>")
}

fn column(x: f64, bin: &HistogramBin, top: u32) -> String {
    let mut drawn = format!("<rect class=\"ground\" x=\"{x}\" y=\"0\" width=\"{STEP}\" height=\"{HEIGHT}\"/>");
    let grown = f64::from(bin.estimate()) / f64::from(bin.total().max(1));
    let mut y = HEIGHT;
    for (class, count) in ORDER.into_iter().map(|name| (name, count_of(bin, name))).filter(|(_, count)| *count > 0) {
        // Whatever happened is seen, however small its share.
        let height = (f64::from(count) * grown / f64::from(top) * (HEIGHT - 6.0)).max(3.0);
        y = (y - height).max(0.0);
        drawn.push_str(&format!(
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{height:.1}\"/>",
            x + 1.0,
            STEP - 2.0
        ));
    }
    drawn
}

fn count_of(bin: &HistogramBin, name: &str) -> u32 {
    RunStatus::code_of(name).map_or(0, |code| bin.counts[usize::from(code)])
}

fn words(bin: &HistogramBin, times: &Times) -> String {
    let when = format!("{} – {}", times.absolute(bin.from), times.hour(bin.to));
    if bin.total() == 0 && bin.seen_from.is_none() {
        return format!("{when}: no runs");
    }
    let parts: Vec<String> = RunStatus::NAMES
        .into_iter()
        .map(|name| (name, count_of(bin, name)))
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{} {name}", grouped(usize::try_from(count).unwrap_or(usize::MAX))))
        .collect();
    match bin.seen_from {
        None => format!("{when}: {}", parts.join(", ")),
        Some(_) => format!(
            "{when}: at least {} (about {} runs at that pace)",
            if parts.is_empty() { "0".to_owned() } else { parts.join(", ") },
            grouped(usize::try_from(bin.estimate()).unwrap_or(usize::MAX))
        ),
    }
}

/// Words below the bars, evenly spread: days where the window is long, times of day where it is short.
pub(crate) fn axis(from: Timestamp, to: Timestamp, times: &Times) -> Vec<String> {
    const MARKS: u64 = 4;
    let span = to.since(from).ms();
    let pattern = if span > Millis::from_days(2).ms() {
        "%b %d"
    } else if span < 5 * 60_000 {
        "%H:%M:%S"
    } else {
        "%H:%M"
    };
    (0..=MARKS)
        .map(|place| from.plus(Millis::from_ms(span * place / MARKS)))
        .map(|at| times.local(at).strftime(pattern).to_string())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn bins_are_round_in_the_viewers_zone_and_hold_all_of_the_window() {
        let times = Times::new(at("2026-11-15T21:41:05Z"), "Asia/Kolkata", false);
        for (from, bin_min, begin) in [
            ("2026-11-15T20:41:05Z", 2, "2026-11-15T20:40:00Z"),
            ("2026-11-14T21:41:05Z", 30, "2026-11-14T21:30:00Z"),
            ("2026-10-16T21:41:05Z", 1_440, "2026-10-16T18:30:00Z"),
        ] {
            let window = window(at(from), times.now, &times);
            assert_eq!((window.bin.ms() / 60_000, window.from), (bin_min, at(begin)), "{from}");
            assert!(window.to() >= times.now && window.bins <= 60, "{window:?}");
        }
        let long = window(at("1990-01-01T00:00:00Z"), times.now, &times);
        assert!(long.bins <= 60 && long.to() >= times.now, "{long:?}");
    }

    #[test]
    fn what_was_not_counted_is_said_and_drawn_as_an_estimate() {
        let times = Times::new(at("2026-11-15T21:41:05Z"), "UTC", false);
        let bin = |counts, seen_from| HistogramBin {
            from: at("2026-11-15T20:00:00Z"),
            to: at("2026-11-15T21:00:00Z"),
            counts,
            seen_from,
        };
        let whole = bin([0, 0, 5, 1, 0, 0], None);
        assert_eq!(summary(std::slice::from_ref(&whole)), "6 runs, 1 failed");
        assert!(words(&whole, &times).ends_with(": 5 completed, 1 failed"), "{}", words(&whole, &times));
        let cut = bin([0, 0, 200, 0, 0, 0], Some(at("2026-11-15T20:54:00Z")));
        assert_eq!(summary(&[whole, cut.clone()]), "at least 206 runs, at least 1 failed");
        assert!(words(&cut, &times).contains("at least 200 completed (about 2,000 runs at that pace)"));
        let drawn = draw(&[cut], None, &times, |_, _| "/runs?a=1&b=\"".to_owned()).to_string();
        assert!(drawn.contains("class=\"guess\"") && drawn.contains("b=&quot;"), "{drawn}");
    }
}
