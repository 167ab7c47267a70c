//! The next sixty seconds as a ring: each second a place, each fire a mark, a hand that goes round.
//!
//! Invariant: a mark stands where the hand will be when it fires, so nothing but the hand has to move.

use std::collections::BTreeMap;

use ordo_model::Timestamp;

use crate::pages::layout::html::Html;

const MIDDLE: f64 = 150.0;
/// Where marks begin, seen from the middle.
const INNER: f64 = 102.0;
const LONGEST: f64 = 26.0;
const FACE: f64 = 134.0;
/// How many labels a mark names.
const NAMED: usize = 6;

/// One job about to fire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fire {
    pub(crate) at: Timestamp,
    pub(crate) label: String,
    pub(crate) href: String,
    /// Its last run failed.
    pub(crate) is_failing: bool,
}

pub(crate) fn draw(fires: &[Fire], now: Timestamp) -> Html {
    let mut seconds: BTreeMap<i64, Vec<&Fire>> = BTreeMap::new();
    for fire in fires {
        seconds.entry(fire.at.ms() / 1_000).or_default().push(fire);
    }
    let mut html = Html::new().raw(
        "<svg class=\"ring\" viewBox=\"14 14 272 272\" aria-hidden=\"true\" id=\"ring\">\
         <circle class=\"face\" cx=\"150\" cy=\"150\" r=\"134\"/><circle class=\"hub\" cx=\"150\" cy=\"150\" r=\"84\"/>",
    );
    html = html.raw("<g class=\"ticks\">");
    for second in 0..60 {
        let long = if second % 5 == 0 { 7.0 } else { 3.0 };
        let ((x1, y1), (x2, y2)) = (point(f64::from(second), 84.0), point(f64::from(second), 84.0 + long));
        html = html.raw(format_args!("<path d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\"/>"));
    }
    html = html.raw("</g>").raw(hand(now)).raw("<g class=\"marks\">");
    for (second, here) in &seconds {
        html = mark(html, *second, here);
    }
    html.raw("</g></svg>")
}

/// The swept minute behind the hand, and the hand. Turned by a script once a second.
fn hand(now: Timestamp) -> String {
    let angle = (now.ms() % 60_000) as f64 / 60_000.0 * 360.0;
    let (x, y) = (MIDDLE, MIDDLE - FACE);
    let (back_x, back_y) = point(60.0 - 7.0, FACE);
    format!(
        "<g class=\"hand\" id=\"ring-hand\" data-keep=\"\" transform=\"rotate({angle:.1} 150 150)\">\
         <path class=\"sweep\" d=\"M150 150L{back_x:.1} {back_y:.1}A{FACE} {FACE} 0 0 1 {x} {y}Z\"/>\
         <path class=\"needle\" d=\"M150 66V16\"/></g>"
    )
}

fn mark(html: Html, second: i64, fires: &[&Fire]) -> Html {
    let place = second.rem_euclid(60) as f64;
    let reach = ((fires.len() as f64).sqrt() - 1.0) / 7.0 * LONGEST;
    let ((x1, y1), (x2, y2)) = (point(place, INNER), point(place, INNER + reach.min(LONGEST)));
    let class = if fires.iter().any(|fire| fire.is_failing) { "mark failing" } else { "mark" };
    let only = fires.first().filter(|_| fires.len() == 1);
    let open = only.map_or_else(String::new, |fire| format!("<a href=\"{}\" tabindex=\"-1\">", fire.href));
    let drawn = html
        .raw(open)
        .raw(format_args!(
            "<path class=\"{class}\" data-at=\"{second}\" d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\"><title>"
        ))
        .text(&named(fires))
        .raw("</title></path>");
    if only.is_some() { drawn.raw("</a>") } else { drawn }
}

fn named(fires: &[&Fire]) -> String {
    let labels: Vec<&str> = fires.iter().take(NAMED).map(|fire| fire.label.as_str()).collect();
    match fires.len().saturating_sub(NAMED) {
        0 => labels.join(", "),
        more => format!("{} and {more} more", labels.join(", ")),
    }
}

/// Where a second of the minute lies, at a distance from the middle; 0 is on top.
fn point(second: f64, distance: f64) -> (f64, f64) {
    let angle = second / 60.0 * std::f64::consts::TAU;
    (MIDDLE + distance * angle.sin(), MIDDLE - distance * angle.cos())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fire(second: i64) -> Fire {
        let at = Timestamp::from_ms(second * 1_000 + 250).unwrap();
        Fire { at, label: "a<b".into(), href: "/jobs/1".into(), is_failing: false }
    }

    #[test]
    fn fires_of_one_second_are_one_mark_and_a_single_one_leads_to_its_job() {
        let drawn = draw(&[fire(15), fire(15), fire(30)], Timestamp::MIN).to_string();
        assert_eq!(drawn.matches("class=\"mark\"").count(), 2);
        assert_eq!(drawn.matches("<a href").count(), 1);
        assert!(drawn.contains("a&lt;b, a&lt;b") && !drawn.contains("a<b"));
    }

    #[test]
    fn a_quarter_past_points_to_the_right() {
        let (x, y) = point(15.0, 100.0);
        assert!((x - 250.0).abs() < 0.01 && (y - 150.0).abs() < 0.01);
    }
}
