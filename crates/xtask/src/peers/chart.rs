//! Bar charts as SVG: for each row of results a panel, in it a bar for each system.
//!
//! Invariant: readable on light and on dark pages. The background is left to the page, and the colours of text and bars
//! follow what the reader prefers.

use std::fmt::Write;

use super::figures::Figures;
use super::plan::{Case, System};
use super::table::{Better, grouped, rows};

const WIDTH: f64 = 720.0;
const NAMES: f64 = 130.0;
const VALUES: f64 = 90.0;
const BAR: f64 = 16.0;
const STEP: f64 = 22.0;
const TITLE: f64 = 30.0;
/// Beyond this factor between the longest and the shortest bar the short ones cannot be seen.
const LINEAR_MAX: f64 = 50.0;

const STYLE: &str = "\
text{font:13px system-ui,sans-serif;fill:#24292f}.title{font-weight:600}.peer{fill:#8c959f}.ordo{fill:#0969da}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.peer{fill:#6e7681}.ordo{fill:#4493f8}}";

#[derive(Debug)]
pub(super) struct Panel {
    title: String,
    bars: Vec<Bar>,
}

#[derive(Debug)]
struct Bar {
    name: &'static str,
    is_ordo: bool,
    value: f64,
}

/// Panels of a workload's rows; a row that nobody has a figure of has none.
pub(super) fn panels(cases: &[Case], systems: &[&'static System], figures: &Figures) -> Vec<Panel> {
    let of_row = |(case, row): (&Case, super::table::TableRow)| {
        let bar = |system: &&'static System| {
            let value = figures.middle(case, system, row.part, row.figure)?;
            Some(Bar { name: system.name, is_ordo: system.is_ordo, value })
        };
        let better = if row.better == Better::More { "more is better" } else { "less is better" };
        Panel { title: format!("{} ({better})", row.title), bars: systems.iter().filter_map(bar).collect() }
    };
    let all = cases.iter().flat_map(|case| rows(case).into_iter().map(move |row| (case, row)));
    let results = all.filter(|(_, row)| row.better != Better::Neither);
    results.map(of_row).filter(|panel| !panel.bars.is_empty()).collect()
}

pub(super) fn svg(heading: &str, panels: &[Panel]) -> String {
    let height: f64 = panels.iter().map(Panel::height).sum();
    let label = escaped(heading);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         role=\"img\" aria-label=\"{label}\">\n<title>{label}</title>\n<style>{STYLE}</style>\n"
    );
    let mut top = 0.0;
    for panel in panels {
        panel.draw(top, &mut out);
        top += panel.height();
    }
    out + "</svg>\n"
}

impl Panel {
    fn height(&self) -> f64 {
        TITLE + STEP * self.bars.len() as f64 + 8.0
    }

    fn draw(&self, top: f64, out: &mut String) {
        let scale = Scale::of(&self.bars);
        let note = if matches!(scale, Scale::Logarithmic { .. }) { ", logarithmic" } else { "" };
        let title = escaped(&self.title).replace(')', &format!("{note})"));
        line(out, format_args!("<text class=\"title\" x=\"0\" y=\"{}\">{title}</text>", top + 20.0));
        for (number, bar) in self.bars.iter().enumerate() {
            let y = top + TITLE + STEP * number as f64;
            let width = scale.part(bar.value) * (WIDTH - NAMES - VALUES);
            let class = if bar.is_ordo { "ordo" } else { "peer" };
            let (base, end) = (y + 13.0, NAMES + width + 6.0);
            line(out, format_args!("<text x=\"0\" y=\"{base}\">{}</text>", escaped(bar.name)));
            let rect = format!(
                "<rect class=\"{class}\" x=\"{NAMES}\" y=\"{y}\" width=\"{width:.1}\" height=\"{BAR}\" rx=\"2\"/>"
            );
            line(out, format_args!("{rect}<text x=\"{end:.1}\" y=\"{base}\">{}</text>", grouped(bar.value)));
        }
    }
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("writing to a string does not fail");
}

#[derive(Debug, PartialEq)]
enum Scale {
    Linear { max: f64 },
    Logarithmic { min: f64, max: f64 },
}

impl Scale {
    fn of(bars: &[Bar]) -> Scale {
        let max = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
        let min = bars.iter().map(|bar| bar.value).filter(|value| *value > 0.0).fold(max, f64::min);
        if max > min * LINEAR_MAX { Scale::Logarithmic { min, max } } else { Scale::Linear { max } }
    }

    /// The part of the full length that a value's bar has.
    fn part(&self, value: f64) -> f64 {
        match *self {
            _ if value <= 0.0 => 0.0,
            Scale::Linear { max } => value / max,
            // The shortest bar is still a bar.
            Scale::Logarithmic { min, max } => 0.05 + 0.95 * (value / min).ln() / (max / min).ln(),
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(name: &'static str, is_ordo: bool, value: f64) -> Bar {
        Bar { name, is_ordo, value }
    }

    #[test]
    fn bars_are_as_long_as_their_values() {
        let scale = Scale::of(&[bar("ordo", true, 200.0), bar("bullmq", false, 50.0)]);
        assert_eq!(scale, Scale::Linear { max: 200.0 });
        assert_eq!((scale.part(200.0), scale.part(50.0), scale.part(0.0)), (1.0, 0.25, 0.0));
    }

    #[test]
    fn a_wide_range_is_drawn_by_logarithms_and_says_so() {
        let bars = vec![bar("ordo", true, 1.0), bar("pg-boss", false, 100.0), bar("apscheduler", false, 10_000.0)];
        let scale = Scale::of(&bars);
        assert_eq!((scale.part(10_000.0), scale.part(1.0)), (1.0, 0.05));
        assert!((scale.part(100.0) - 0.525).abs() < 1e-9);
        let svg = svg("W3", &[Panel { title: "p99 ms late (less is better)".to_owned(), bars }]);
        assert!(svg.contains("p99 ms late (less is better, logarithmic)"));
    }

    #[test]
    fn nothing_but_zeros_is_drawn_without_bars() {
        let scale = Scale::of(&[bar("ordo", true, 0.0)]);
        assert_eq!(scale.part(0.0), 0.0);
    }

    #[test]
    fn a_chart_names_every_system_with_its_value_and_sets_ordo_apart() {
        let bars = vec![bar("ordo", true, 9_000.0), bar("bullmq", false, 4_500.0)];
        let svg = svg("Burst <W2>", &[Panel { title: "runs/s (more is better)".to_owned(), bars }]);
        assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 82\""));
        assert!(svg.contains("<title>Burst &lt;W2&gt;</title>"));
        assert!(svg.contains("prefers-color-scheme:dark"));
        assert!(svg.contains("<rect class=\"ordo\" x=\"130\" y=\"30\" width=\"500.0\""));
        assert!(svg.contains("<rect class=\"peer\" x=\"130\" y=\"52\" width=\"250.0\""));
        assert!(svg.contains(">9,000</text>") && svg.ends_with("</svg>\n"));
    }
}
