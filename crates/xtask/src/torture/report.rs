//! The report of a trial: one HTML file that needs nothing else.

use std::collections::BTreeMap;

use super::judge::{Judgement, TrialRecord};
use super::plot;
use crate::lab::clock::rfc3339;
use crate::lab::drawing::{STYLE, add, escaped, thousands};

const PROPERTIES: [(&str, &str); 11] = [
    ("P1", "no target without an outcome"),
    ("P2", "no run, outcome or reason out of nowhere"),
    ("P3", "no target with two outcomes"),
    ("P4", "a second attempt comes after the first, under a larger fence; no report of an older one counts"),
    ("P5", "runs overlap only as their job allows"),
    ("P6", "nothing begins before its time"),
    ("P7", "an end is final, and what is said to be done was done"),
    ("P8", "no more attempts than allowed, none before its backoff"),
    ("P9", "what was acknowledged is there, what was refused is not"),
    ("P10", "streams have no holes, and whoever follows them misses nothing"),
    ("P11", "after the last fault everything works again, and nothing stays behind"),
];

pub(super) fn html(trial: &TrialRecord, judgement: &Judgement) -> String {
    let mut out = String::new();
    let (class, verdict) = if judgement.breaches.is_empty() { ("passed", "passed") } else { ("failed", "failed") };
    add(
        &mut out,
        format_args!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>torture: {}</title><style>{STYLE}</style>",
            trial.name
        ),
    );
    add(
        &mut out,
        format_args!("<h1>Torture of {} <span class=\"verdict {class}\">{verdict}</span></h1>", system(trial)),
    );
    add(
        &mut out,
        format_args!(
            "<p class=\"soft\">seed {} · from {} · {} s, faults until {} s · {} jobs</p>",
            trial.seed,
            rfc3339(trial.from),
            (trial.to - trial.from) / 1_000,
            (trial.healed_at - trial.from) / 1_000,
            trial.jobs.len()
        ),
    );
    account(&mut out, judgement);
    properties(&mut out, judgement);
    add(&mut out, format_args!("<h2>Targets and runs</h2><p class=\"key soft\">{}</p>", key()));
    out.push_str(&plot::bands(trial, judgement));
    add(&mut out, format_args!("<h2>How long after its time each target began</h2>"));
    out.push_str(&plot::lateness(trial, judgement));
    faults(&mut out, trial);
    out.push_str("</html>\n");
    out
}

fn system(trial: &TrialRecord) -> &'static str {
    match trial.name {
        super::embedded::NAME => "one daemon on the embedded store",
        _ => "three nodes on PostgreSQL",
    }
}

fn key() -> String {
    let entry = |color: &str, text: &str| format!("<i style=\"background:var(--{color})\"></i>{text}");
    let bands = [
        ("good", "target, on time"),
        ("late", "late"),
        ("skip", "skipped with a reason, or still due"),
        ("bad", "unexplained"),
    ];
    let bands: String = bands.into_iter().map(|(color, text)| entry(color, text)).collect();
    format!("{bands}{}", entry("run", "what the job itself wrote down, from begin to end"))
}

fn account(out: &mut String, judgement: &Judgement) {
    let account = &judgement.account;
    add(out, format_args!("<h2>The account</h2><table>"));
    for (name, count) in account.rows() {
        add(out, format_args!("<tr><td>{}</td><td class=\"n\">{}</td></tr>", escaped(&name), thousands(count)));
    }
    add(
        out,
        format_args!(
            "</table><p class=\"soft\">{} runs · {} attempts seen by the jobs themselves · {} events followed · {} requests · \
        begun after their time: p50 {} ms, p99 {} ms, max {} ms</p>",
            thousands(account.runs),
            thousands(account.executions),
            thousands(account.events_followed),
            thousands(account.deeds),
            thousands(account.lateness(50)),
            thousands(account.lateness(99)),
            thousands(account.lateness(100))
        ),
    );
}

fn faults(out: &mut String, trial: &TrialRecord) {
    let mut kinds: BTreeMap<&str, (usize, i64)> = BTreeMap::new();
    for fault in &trial.faults {
        let kind = kinds.entry(&fault.what).or_default();
        *kind = (kind.0 + 1, kind.1 + fault.to - fault.from);
    }
    add(out, format_args!("<h2>Faults</h2><table><tr><th>what</th><th>times</th><th>seconds in all</th></tr>"));
    for (what, (times, ms)) in kinds {
        add(
            out,
            format_args!(
                "<tr><td>{}</td><td class=\"n\">{times}</td><td class=\"n\">{}</td></tr>",
                escaped(what),
                ms / 1_000
            ),
        );
    }
    add(out, format_args!("</table>"));
    for note in &trial.left_out {
        add(out, format_args!("<p class=\"soft\">left out on this machine: {}</p>", escaped(note)));
    }
}

fn properties(out: &mut String, judgement: &Judgement) {
    add(out, format_args!("<h2>What was judged</h2><table>"));
    for (name, text) in PROPERTIES {
        let breaches = judgement.breaches.iter().filter(|breach| breach.property == name).count();
        let (class, said) =
            if breaches == 0 { ("passed", "holds".to_owned()) } else { ("failed", format!("{breaches} breaches")) };
        add(
            out,
            format_args!(
                "<tr><td>{name}</td><td>{text}</td><td><span class=\"verdict {class}\">{said}</span></td></tr>"
            ),
        );
    }
    add(out, format_args!("</table>"));
    if !judgement.breaches.is_empty() {
        let lines: Vec<String> =
            judgement.breaches.iter().take(200).map(|breach| escaped(&breach.to_string())).collect();
        add(out, format_args!("<pre>{}</pre>", lines.join("\n")));
    }
}
