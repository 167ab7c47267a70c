//! The report of a soak: one HTML file with a curve for each thing that was sampled.

use super::load::LoadDone;
use super::samples::ResourceSample;
use crate::lab::drawing::{MARGIN, STYLE, TimeAxis, WIDTH, add, escaped, svg, thousands};

const HEIGHT: f64 = 150.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 124.0;

type Curve = (&'static str, fn(&ResourceSample) -> Option<i64>);

const CURVES: [Curve; 7] = [
    ("resident memory, KiB", |sample| Some(sample.rss_kib)),
    ("open descriptors", |sample| Some(sample.descriptors)),
    ("threads", |sample| Some(sample.threads)),
    ("the store's files, KiB", |sample| Some(sample.store_kib)),
    ("everything in its folder, KiB", |sample| Some(sample.folder_kib)),
    ("99 of 100 runs begin within, ms", |sample| sample.lateness_p99_ms.filter(|ms| *ms < i64::MAX)),
    ("runs since the sample before", |sample| Some(sample.runs)),
];

pub(super) fn html(seed: u64, samples: &[ResourceSample], done: &LoadDone, breaches: &[String]) -> String {
    let mut out = String::new();
    let verdict = if breaches.is_empty() { "passed" } else { "failed" };
    add(
        &mut out,
        format_args!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>soak</title><style>{STYLE}</style>"
        ),
    );
    add(&mut out, format_args!("<h1>Soak <span class=\"verdict {verdict}\">{verdict}</span></h1>"));
    let (first, last) = (samples.first().map_or(0, |sample| sample.at), samples.last().map_or(1, |sample| sample.at));
    add(
        &mut out,
        format_args!(
            "<p class=\"soft\">seed {seed} · {} minutes, {} samples · the first third is warm-up</p><p>{}</p>",
            (last - first) / 60_000,
            samples.len(),
            escaped(&done.to_string())
        ),
    );
    if !breaches.is_empty() {
        add(&mut out, format_args!("<pre>{}</pre>", escaped(&breaches.join("\n"))));
    }
    let axis = TimeAxis { from: first, to: last };
    for (name, value) in CURVES {
        add(&mut out, format_args!("<h2>{name}</h2>"));
        out.push_str(&curve(&axis, samples, value));
    }
    out.push_str("</html>\n");
    out
}

fn curve(axis: &TimeAxis, samples: &[ResourceSample], value: fn(&ResourceSample) -> Option<i64>) -> String {
    let top = samples.iter().filter_map(value).max().unwrap_or(1).max(1);
    let y = |value: i64| BOTTOM - (BOTTOM - TOP) * value as f64 / top as f64;
    let warm = axis.x(axis.from + (axis.to - axis.from) / 3);
    let mut out = String::new();
    add(
        &mut out,
        format_args!(
            "<rect x=\"{MARGIN}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"var(--line)\" opacity=\".45\"/>",
            warm - MARGIN,
            BOTTOM - TOP
        ),
    );
    out.push_str(&axis.grid(TOP, BOTTOM));
    for mark in [0, top / 2, top] {
        let at = y(mark);
        add(
            &mut out,
            format_args!(
                "<line x1=\"{MARGIN}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"var(--line)\"/>",
                WIDTH - 14.0
            ),
        );
        add(
            &mut out,
            format_args!(
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                MARGIN - 8.0,
                at + 4.0,
                thousands(mark)
            ),
        );
    }
    let points: Vec<String> = samples
        .iter()
        .filter_map(|sample| Some(format!("{:.1},{:.1}", axis.x(sample.at), y(value(sample)?))))
        .collect();
    add(
        &mut out,
        format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"var(--run)\" stroke-width=\"1.6\"/>",
            points.join(" ")
        ),
    );
    svg(HEIGHT, &out)
}
