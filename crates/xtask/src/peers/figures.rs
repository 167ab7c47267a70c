//! What was measured: every figure of every round, of which the middle one counts.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde_json::{Map, Value};

use super::plan::{Case, System};
use super::table;

/// By part and name, a value for each round.
type RoundValues = BTreeMap<(String, String), Vec<f64>>;
/// A case and a system.
type MeasuredCase = (String, &'static str);

#[derive(Debug, Default)]
pub(super) struct Figures {
    rounds: BTreeMap<MeasuredCase, RoundValues>,
    failed: BTreeSet<MeasuredCase>,
    versions: BTreeMap<&'static str, String>,
}

impl Figures {
    /// Takes what a driver printed; returns it in short.
    pub(super) fn add(&mut self, case: &Case, system: &'static System, line: &Value) -> Result<String> {
        let parts = line.get("parts").and_then(Value::as_object).context("the driver printed no parts")?;
        let works_in_driver = line.pointer("/about/worker").is_some();
        let of_system = self.rounds.entry((case.to_string(), system.name)).or_default();
        for (part, figures) in parts {
            let figures = figures.as_object().with_context(|| format!("part {part} has no figures"))?;
            for (name, value) in numbers(figures).chain(of_whole_system(figures, works_in_driver)) {
                of_system.entry((part.clone(), name)).or_default().push(value);
            }
        }
        self.versions.insert(system.name, version(line));
        Ok(table::in_short(case, |part, name| last(of_system.get(&(part.to_owned(), name.to_owned())))))
    }

    pub(super) fn fail(&mut self, case: &Case, system: &'static System) {
        self.failed.insert((case.to_string(), system.name));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rounds.is_empty()
    }

    pub(super) fn middle(&self, case: &Case, system: &System, part: &str, name: &str) -> Option<f64> {
        let of_system = self.rounds.get(&(case.to_string(), system.name))?;
        of_system.get(&(part.to_owned(), name.to_owned())).and_then(|rounds| middle(rounds))
    }

    /// The parts of a case that a system has figures of.
    pub(super) fn parts(&self, case: &Case, system: &System) -> BTreeSet<String> {
        let of_system = self.rounds.get(&(case.to_string(), system.name));
        of_system.into_iter().flat_map(|figures| figures.keys().map(|(part, _)| part.clone())).collect()
    }

    /// Whether not one of its rounds went well.
    pub(super) fn has_failed(&self, case: &Case, system: &System) -> bool {
        let key = (case.to_string(), system.name);
        self.failed.contains(&key) && !self.rounds.contains_key(&key)
    }

    /// `graphile-worker 0.18.0 (PostgreSQL 15.18)` for each system.
    pub(super) fn versions(&self) -> String {
        let all: Vec<String> = self.versions.iter().map(|(system, version)| format!("{system} {version}")).collect();
        all.join(", ")
    }
}

fn version(line: &Value) -> String {
    let text = |at: &str| line.pointer(at).and_then(Value::as_str).unwrap_or_default();
    let version = text("/about/version").trim_start_matches("ordo ");
    match text("/about/server") {
        "" => version.to_owned(),
        server => format!("{version} ({server})"),
    }
}

fn numbers(figures: &Map<String, Value>) -> impl Iterator<Item = (String, f64)> {
    figures.iter().filter_map(|(name, value)| Some((name.clone(), value.as_f64()?)))
}

/// A peer whose handlers run in the driver needs that process as much as its server: Ordo has both in one.
fn of_whole_system(figures: &Map<String, Value>, works_in_driver: bool) -> impl Iterator<Item = (String, f64)> {
    let number = |name: &str| figures.get(name).and_then(Value::as_f64);
    let whole = |name: &str, server: &str, driver: &str| {
        let driver = if works_in_driver { number(driver)? } else { 0.0 };
        Some((name.to_owned(), number(server)? + driver))
    };
    let cpu = whole("system_cpu_pct", "server_cpu_pct", "driver_cpu_pct");
    let memory = whole("system_memory_mib", "memory_mib", "driver_memory_mib");
    cpu.into_iter().chain(memory)
}

fn last(rounds: Option<&Vec<f64>>) -> Option<f64> {
    rounds.and_then(|rounds| rounds.last().copied())
}

/// Of an even number of rounds what lies halfway between the two in the middle.
pub(super) fn middle(rounds: &[f64]) -> Option<f64> {
    let mut sorted = rounds.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = sorted.get(sorted.len() / 2)?;
    let lower = sorted.get((sorted.len() - 1) / 2)?;
    Some(lower.midpoint(*upper))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::options::Options;
    use super::super::plan::{SYSTEMS, cases};
    use super::*;

    fn burst() -> Case {
        cases(&Options::parse(&["--workloads", "W2"].map(str::to_owned)).unwrap())[0]
    }

    #[test]
    fn the_middle_of_the_rounds_counts() {
        assert_eq!(middle(&[3.0, 100.0, 1.0]), Some(3.0));
        assert_eq!(middle(&[4.0, 1.0]), Some(2.5));
        assert_eq!(middle(&[]), None);
    }

    #[test]
    fn a_worker_in_the_driver_is_part_of_its_system() {
        let mut figures = Figures::default();
        let run = json!({"server_cpu_pct": 20, "driver_cpu_pct": 30, "memory_mib": 100, "driver_memory_mib": 50});
        figures.add(&burst(), &SYSTEMS[2], &json!({"about": {"worker": "driver"}, "parts": {"run": run}})).unwrap();
        figures.add(&burst(), &SYSTEMS[0], &json!({"about": {}, "parts": {"run": run}})).unwrap();
        assert_eq!(figures.middle(&burst(), &SYSTEMS[2], "run", "system_cpu_pct"), Some(50.0));
        assert_eq!(figures.middle(&burst(), &SYSTEMS[2], "run", "system_memory_mib"), Some(150.0));
        assert_eq!(figures.middle(&burst(), &SYSTEMS[0], "run", "system_cpu_pct"), Some(20.0));
    }

    #[test]
    fn a_system_has_failed_when_no_round_went_well() {
        let mut figures = Figures::default();
        figures.fail(&burst(), &SYSTEMS[0]);
        assert!(figures.has_failed(&burst(), &SYSTEMS[0]));
        figures.add(&burst(), &SYSTEMS[0], &json!({"parts": {"run": {"runs_per_s": 1}}})).unwrap();
        assert!(!figures.has_failed(&burst(), &SYSTEMS[0]));
    }

    #[test]
    fn a_line_without_parts_is_refused() {
        assert!(Figures::default().add(&burst(), &SYSTEMS[0], &json!({})).is_err());
    }
}
