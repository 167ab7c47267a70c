//! Targets as bands, runs as bars, faults as shades; and lateness over time.

use std::collections::BTreeMap;

use super::judge::{JudgedTarget, Judgement, MISFIRE_MS, ON_TIME_MS, TargetEnd, TrialRecord};
use crate::lab::drawing::{MARGIN, TimeAxis, WIDTH, add, escaped, svg};

/// More than this nobody reads; those with something to see come first.
const ROWS_MAX: usize = 60;
const ROW: f64 = 15.0;
const TOP: f64 = 22.0;

pub(super) fn bands(trial: &TrialRecord, judgement: &Judgement) -> String {
    let axis = TimeAxis { from: trial.from, to: trial.to };
    let mut by_job: BTreeMap<usize, Vec<&JudgedTarget>> = BTreeMap::new();
    for target in &judgement.targets {
        by_job.entry(target.job).or_default().push(target);
    }
    let mut rows: Vec<(usize, Vec<&JudgedTarget>)> = by_job.into_iter().collect();
    rows.sort_by_key(|(job, targets)| {
        let is_bad = targets.iter().any(|target| target.end == TargetEnd::Unexplained);
        (!is_bad, !trial.jobs[*job].plan.is_tail, std::cmp::Reverse(targets.len()))
    });
    rows.truncate(ROWS_MAX);
    let height = TOP + ROW * rows.len() as f64;
    let mut out = shades(trial, &axis, height);
    out.push_str(&axis.grid(TOP, height));
    for (number, (job, targets)) in rows.iter().enumerate() {
        let y = TOP + ROW * number as f64;
        let plan = &trial.jobs[*job].plan;
        let name = format!("{} {:?}", plan.label, plan.block).to_lowercase().replace("concurrent { max: 3 }", "≤3");
        add(&mut out, format_args!("<text class=\"name\" x=\"6\" y=\"{:.1}\">{}</text>", y + 11.0, escaped(&name)));
        for target in targets {
            band(&mut out, &axis, y, target);
        }
        if let Some(id) = &trial.jobs[*job].id {
            for execution in trial.evidence.executions.values().filter(|execution| execution.job == *id) {
                let x = axis.x(execution.began);
                let width = (axis.x(execution.ended.unwrap_or(execution.began)) - x).max(1.5);
                add(
                    &mut out,
                    format_args!(
                        "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"5\" fill=\"var(--run)\"/>",
                        y + 8.0
                    ),
                );
            }
        }
    }
    svg(height + 22.0, &out)
}

fn band(out: &mut String, axis: &TimeAxis, y: f64, target: &JudgedTarget) {
    let color = match &target.end {
        TargetEnd::OnTime { .. } => "var(--good)",
        TargetEnd::Late { .. } | TargetEnd::Waiting => "var(--late)",
        TargetEnd::Skipped { .. } | TargetEnd::StillDue => "var(--skip)",
        TargetEnd::Unexplained => "var(--bad)",
    };
    let x = axis.x(target.at);
    add(out, format_args!("<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"2.4\" height=\"6\" fill=\"{color}\"/>", y + 1.5));
}

/// Each kind of fault has its name at the first of them.
fn shades(trial: &TrialRecord, axis: &TimeAxis, bottom: f64) -> String {
    let mut out = String::new();
    for fault in &trial.faults {
        let (x, width) = (axis.x(fault.from), (axis.x(fault.to) - axis.x(fault.from)).max(1.5));
        let title = escaped(&fault.what);
        add(
            &mut out,
            format_args!(
                "<rect x=\"{x:.1}\" y=\"{TOP}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"var(--fault)\" opacity=\".13\"><title>{title}</title></rect>",
                bottom - TOP
            ),
        );
    }
    let calm = axis.x(trial.calm_from);
    add(
        &mut out,
        format_args!(
            "<line x1=\"{calm:.1}\" x2=\"{calm:.1}\" y1=\"8\" y2=\"{bottom}\" stroke=\"var(--good)\" stroke-dasharray=\"4 3\"/>"
        ),
    );
    add(&mut out, format_args!("<text x=\"{:.1}\" y=\"15\">calm</text>", calm + 4.0));
    add(&mut out, format_args!("<text x=\"{MARGIN}\" y=\"15\">faults are shaded</text>"));
    out
}

/// Every first attempt: when it should have begun, and how much later it did.
pub(super) fn lateness(trial: &TrialRecord, judgement: &Judgement) -> String {
    let axis = TimeAxis { from: trial.from, to: trial.to };
    let (height, bottom) = (220.0, 196.0);
    let mut out = shades(trial, &axis, bottom);
    out.push_str(&axis.grid(TOP, bottom));
    let y = |ms: i64| bottom - (bottom - TOP) * ((ms.max(1) as f64).log10() / 5.0).min(1.0);
    for (ms, text) in [
        (1, "1 ms"),
        (10, "10 ms"),
        (100, "100 ms"),
        (1_000, "1 s"),
        (ON_TIME_MS, "from 5 s: late"),
        (MISFIRE_MS, "10 s"),
        (100_000, "100 s"),
    ] {
        let at = y(ms);
        add(
            &mut out,
            format_args!(
                "<line x1=\"{MARGIN}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"var(--line)\"/>",
                WIDTH - 14.0
            ),
        );
        add(
            &mut out,
            format_args!("<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>", MARGIN - 8.0, at + 4.0),
        );
    }
    for target in &judgement.targets {
        let (TargetEnd::OnTime { late_ms } | TargetEnd::Late { late_ms }) = target.end else { continue };
        let color = if late_ms > ON_TIME_MS { "var(--late)" } else { "var(--good)" };
        add(
            &mut out,
            format_args!(
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"1.8\" fill=\"{color}\" opacity=\".75\"/>",
                axis.x(target.at),
                y(late_ms)
            ),
        );
    }
    svg(height, &out)
}
