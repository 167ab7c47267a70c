//! Drawings as SVG: an axis of time, and whatever stands above it.

use std::fmt::Write;

use super::clock::civil;

pub(crate) const WIDTH: f64 = 1_160.0;
/// Names stand left of what they name.
pub(crate) const MARGIN: f64 = 150.0;

/// The style of every report: readable in light and dark, nothing fetched from anywhere.
pub(crate) const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1c2733;--soft:#5f6b78;--line:#d9dfe6;--page:#fff;--card:#f6f8fa;--good:#2f9e5b;--late:#e0a100;\
--skip:#8792a2;--bad:#d1242f;--run:#2b6cb0;--fault:#d1242f}\
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9aa6b2;--line:#30363d;--page:#0d1117;--card:#161b22;--good:#3fb968;\
--late:#e3b341;--skip:#6e7681;--bad:#ff6b6b;--run:#58a6ff;--fault:#ff6b6b}}\
body{font:14px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);margin:0 auto;max-width:1200px;padding:24px}\
h1{font-size:22px;margin:0 0 4px}h2{font-size:16px;margin:28px 0 8px}p{margin:4px 0;max-width:90ch}p.key{max-width:none}.soft{color:var(--soft)}\
table{border-collapse:collapse;margin:8px 0}td,th{padding:3px 14px 3px 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}\
td.n{text-align:right;font-variant-numeric:tabular-nums}.verdict{display:inline-block;padding:2px 10px;border-radius:10px;color:#fff;font-weight:600}\
.passed{background:var(--good)}.failed{background:var(--bad)}svg{width:100%;height:auto;display:block;background:var(--card);border-radius:6px}\
svg text{font:11px system-ui,sans-serif;fill:var(--soft)}svg text.name{fill:var(--ink)}.key i{display:inline-block;width:12px;height:10px;margin:0 5px 0 14px;border-radius:2px}\
pre{background:var(--card);padding:10px;border-radius:6px;white-space:pre-wrap;overflow-wrap:anywhere;font-size:12px}";

/// Where moments stand in a drawing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeAxis {
    pub(crate) from: i64,
    pub(crate) to: i64,
}

impl TimeAxis {
    #[expect(clippy::cast_precision_loss, reason = "a drawing is not that fine")]
    pub(crate) fn x(&self, at: i64) -> f64 {
        let part = (at - self.from) as f64 / (self.to - self.from).max(1) as f64;
        MARGIN + part.clamp(0.0, 1.0) * (WIDTH - MARGIN - 14.0)
    }

    /// Lines and times of day, at most about ten of them.
    pub(crate) fn grid(&self, top: f64, bottom: f64) -> String {
        let steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200];
        let step = 1_000 * steps.into_iter().find(|step| (self.to - self.from) / 1_000 / step <= 10).unwrap_or(14_400);
        let first = (self.from + step - 1).div_euclid(step) * step;
        let mut out = String::new();
        let mut at = first;
        while at <= self.to {
            let (x, time) = (self.x(at), civil(at));
            add(
                &mut out,
                format_args!("<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{bottom}\" stroke=\"var(--line)\"/>"),
            );
            let text = format!("{:02}:{:02}:{:02}", time.hour, time.minute, time.second);
            add(
                &mut out,
                format_args!("<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>", bottom + 14.0),
            );
            at += step;
        }
        out
    }
}

pub(crate) fn add(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("writing to a string does not fail");
}

pub(crate) fn svg(height: f64, inside: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n{inside}</svg>\n"
    )
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// 1234567 as 1,234,567.
pub(crate) fn thousands(value: impl ToString + Copy) -> String {
    let digits = value.to_string();
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits.as_str()), |digits| ("-", digits));
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    format!("{sign}{out}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_stand_where_they_belong_and_never_outside() {
        let axis = TimeAxis { from: 1_000, to: 2_000 };
        assert_eq!((axis.x(1_000), axis.x(0)), (MARGIN, MARGIN));
        assert_eq!((axis.x(2_000), axis.x(9_000)), (WIDTH - 14.0, WIDTH - 14.0));
        assert!(axis.grid(0.0, 10.0).matches("<line").count() <= 12);
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(["7", "123456", "-1234567"].map(thousands), ["7", "123,456", "-1,234,567"]);
    }
}
