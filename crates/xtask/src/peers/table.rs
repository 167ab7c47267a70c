//! The tables: what each system reached, Ordo's ratio to the best peer, and what it cost.

use super::figures::Figures;
use super::plan::{Case, SYSTEMS, System};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Better {
    More,
    Less,
    /// A circumstance, not a result.
    Neither,
}

#[derive(Debug)]
pub(super) struct TableRow {
    pub(super) title: String,
    pub(super) part: &'static str,
    pub(super) figure: &'static str,
    pub(super) better: Better,
}

/// The results of a case.
pub(super) fn rows(case: &Case) -> Vec<TableRow> {
    let number = |name| grouped(case.number(name).unwrap_or_default() as f64);
    let row = |title: String, part, figure, better| TableRow { title, part, figure, better };
    match case.workload.name {
        "W1" => vec![
            row("1 caller, acks/s".to_owned(), "one", "per_s", Better::More),
            row("64 callers, acks/s".to_owned(), "many", "per_s", Better::More),
            row("bulk of 1,000, two at a time, jobs/s".to_owned(), "bulk", "per_s", Better::More),
        ],
        "W2" => vec![row(format!("{} due at one instant, runs/s", number("jobs")), "run", "runs_per_s", Better::More)],
        "W3" => {
            let rate = number("rate");
            vec![
                row(format!("{rate}/s, p50 ms late"), "run", "late_p50_ms", Better::Less),
                row(format!("{rate}/s, p99 ms late"), "run", "late_p99_ms", Better::Less),
                row(format!("{rate}/s, CPU, % of a core"), "run", "system_cpu_pct", Better::Less),
            ]
        }
        "W4" => {
            let pending = number("pending");
            vec![
                row(format!("{pending} pending: made in the time given"), "load", "jobs", Better::Neither),
                row(format!("{pending} pending, idle CPU, % of a core"), "idle", "system_cpu_pct", Better::Less),
                row(format!("{pending} pending, memory, MiB"), "idle", "system_memory_mib", Better::Less),
                row(
                    format!("{pending} pending, {}/s, p99 ms late", number("rate")),
                    "run",
                    "late_p99_ms",
                    Better::Less,
                ),
            ]
        }
        "W5" => {
            let when = if case.number("spread_ms").is_some() { "spread over the second" } else { "at one instant" };
            let jobs = format!("{} jobs {when}", number("jobs"));
            vec![
                row(format!("{jobs}: occurrences missing"), "run", "missing", Better::Neither),
                row(format!("{jobs}: p50 ms late"), "run", "late_p50_ms", Better::Less),
                row(format!("{jobs}: p99 ms late"), "run", "late_p99_ms", Better::Less),
            ]
        }
        _ => vec![row(format!("{} pending, ms until ready", number("pending")), "run", "ready_ms", Better::Less)],
    }
}

/// The results of one measurement, on one line.
pub(super) fn in_short(case: &Case, figure: impl Fn(&str, &str) -> Option<f64>) -> String {
    let shown = |row: &TableRow| figure(row.part, row.figure).map(|value| format!("{}: {}", row.title, grouped(value)));
    rows(case).iter().filter_map(shown).collect::<Vec<_>>().join("; ")
}

pub(super) fn results(cases: &[Case], systems: &[&'static System], figures: &Figures) -> String {
    let with_ratios: Vec<&System> = if systems.iter().all(|system| system.is_ordo) {
        Vec::new()
    } else {
        systems.iter().copied().filter(|system| system.is_ordo).collect()
    };
    let names = systems.iter().map(|system| system.name.to_owned());
    let ratios = with_ratios.iter().map(|system| format!("{} / best peer", system.name));
    let mut lines = vec![names.chain(ratios).fold("| |".to_owned(), |line, name| line + " " + &name + " |")];
    lines.push("|---|".to_owned() + &"--:|".repeat(systems.len() + with_ratios.len()));
    for (case, row) in cases.iter().flat_map(|case| rows(case).into_iter().map(move |row| (case, row))) {
        let value = |system: &System| figures.middle(case, system, row.part, row.figure);
        let best = best_peer(row.better, systems.iter().filter(|system| !system.is_ordo).filter_map(|s| value(s)));
        let cell = |system: &&System| match value(system) {
            Some(value) => grouped(value),
            None if figures.has_failed(case, system) => "failed".to_owned(),
            None => String::new(),
        };
        let ratio = |system: &&System| value(system).and_then(|own| ratio(own, best?)).unwrap_or_default();
        let cells = systems.iter().map(cell).chain(with_ratios.iter().map(ratio));
        lines.push(cells.fold(format!("| {} |", row.title), |line, cell| line + " " + &cell + " |"));
    }
    lines.join("\n")
}

pub(super) fn best_peer(better: Better, values: impl Iterator<Item = f64>) -> Option<f64> {
    match better {
        Better::More => values.max_by(f64::total_cmp),
        Better::Less => values.min_by(f64::total_cmp),
        Better::Neither => None,
    }
}

/// Nothing when there is nothing to divide by.
fn ratio(own: f64, best: f64) -> Option<String> {
    let ratio = own / best;
    match ratio {
        _ if !ratio.is_finite() => None,
        _ if ratio >= 10.0 => Some(format!("{ratio:.0}")),
        _ if ratio < 0.1 => Some(format!("{ratio:.3}")),
        _ => Some(format!("{ratio:.2}")),
    }
}

/// The columns of the costs: their heads and the names of the figures.
const COSTS: [(&str, &str); 7] = [
    ("server CPU %", "server_cpu_pct"),
    ("driver CPU %", "driver_cpu_pct"),
    ("other CPU %", "other_cpu_pct"),
    ("server MiB", "memory_mib"),
    ("driver MiB", "driver_memory_mib"),
    ("bytes/job", "bytes_per_job"),
    ("commits/job", "commits_per_job"),
];

pub(super) fn costs(cases: &[Case], figures: &Figures) -> String {
    let heads = COSTS.iter().fold("| workload | system |".to_owned(), |line, (head, _)| format!("{line} {head} |"));
    let mut lines = vec![heads, "|---|---|".to_owned() + &"--:|".repeat(COSTS.len())];
    for case in cases {
        for system in &SYSTEMS {
            for part in figures.parts(case, system) {
                let cost = |name| figures.middle(case, system, &part, name).map(grouped).unwrap_or_default();
                let start = format!("| {case}, {part} | {} |", system.name);
                lines.push(COSTS.iter().fold(start, |line, (_, name)| format!("{line} {} |", cost(name))));
            }
        }
    }
    lines.join("\n")
}

/// As many digits as are worth reading, thousands apart.
pub(super) fn grouped(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 || size.fract() == 0.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 0.1 => 2,
        _ => 3,
    };
    let text = format!("{value:.decimals$}");
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let digits: Vec<char> = whole.chars().collect();
    let groups: Vec<String> = digits.rchunks(3).rev().map(|group| group.iter().collect()).collect();
    groups.join(",") + rest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::options::Options;
    use super::super::plan::cases;
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_are_worth_reading() {
        let shown = [1_234_567.8, 999.6, 100.0, 57.26, 3.0, 4.256, 0.059, 0.0].map(grouped);
        assert_eq!(shown, ["1,234,568", "1,000", "100", "57.3", "3", "4.26", "0.059", "0"]);
    }

    #[test]
    fn the_best_peer_is_the_fastest_or_the_least_late() {
        assert_eq!(best_peer(Better::More, [1.0, 3.0, 2.0].into_iter()), Some(3.0));
        assert_eq!(best_peer(Better::Less, [2.0, 1.0, 3.0].into_iter()), Some(1.0));
        assert_eq!(best_peer(Better::Neither, [2.0].into_iter()), None);
        assert_eq!(best_peer(Better::More, std::iter::empty()), None);
    }

    #[test]
    fn a_ratio_to_nothing_is_left_out() {
        assert_eq!(ratio(5.0, 2.0).as_deref(), Some("2.50"));
        assert_eq!(ratio(1.0, 50.0).as_deref(), Some("0.020"));
        assert_eq!(ratio(500.0, 2.0).as_deref(), Some("250"));
        assert_eq!((ratio(1.0, 0.0), ratio(0.0, 0.0)), (None, None));
    }

    #[test]
    fn the_table_has_the_middle_of_each_system_and_ordos_ratio_to_the_best_peer() {
        let args = ["--workloads", "W2", "--quick", "--only", "ordo,pg-boss,bullmq,restate"].map(str::to_owned);
        let options = Options::parse(&args).unwrap();
        let cases = cases(&options);
        let mut figures = Figures::default();
        for (system, rate) in options.systems.iter().zip([9_000, 3_000, 4_500]) {
            figures.add(&cases[0], system, &json!({"parts": {"run": {"runs_per_s": rate}}})).unwrap();
        }
        figures.fail(&cases[0], options.systems[3]);
        let expected = "\
| | ordo | pg-boss | bullmq | restate | ordo / best peer |
|---|--:|--:|--:|--:|--:|
| 500 due at one instant, runs/s | 9,000 | 3,000 | 4,500 | failed | 2.00 |";
        assert_eq!(results(&cases, &options.systems, &figures), expected);
    }

    #[test]
    fn costs_have_a_line_for_each_part_of_each_system() {
        let options = Options::parse(&["--workloads", "W2", "--quick"].map(str::to_owned)).unwrap();
        let cases = cases(&options);
        let mut figures = Figures::default();
        let run =
            json!({"server_cpu_pct": 57.26, "other_cpu_pct": 3, "bytes_per_job": 1_704, "commits_per_job": 0.059});
        figures.add(&cases[0], options.systems[0], &json!({"parts": {"run": run}})).unwrap();
        let costs = costs(&cases, &figures);
        assert_eq!(costs.lines().last(), Some("| W2 jobs=500, run | ordo | 57.3 |  | 3 |  |  | 1,704 | 0.059 |"));
    }
}
