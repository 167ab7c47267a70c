//! Every check, the quick ones first.
//!
//! Invariant: steps stand beside each other only where each has its own daemon and folder and asks for no time of its own: one that
//! measures how late something was, or how quick, has the machine for itself.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::step::{CiStep, StepRecord, table, timed};
use crate::{
    browser, clients, compatibility, deny, dist, docs, fence, instructions, rust, schemathesis, sdk, sim, torture, tree,
};

/// Steps of one line are done beside each other.
const STAGES: [&[CiStep]; 17] = [
    &[CiStep { name: "format", work: || done(rust::check_format()) }],
    &[CiStep { name: "fence", work: || done(fence::check(&tree::root())) }],
    &[CiStep { name: "docs", work: || done(docs::check(&tree::root())) }],
    &[CiStep { name: "lint", work: || done(rust::lint()) }],
    &[CiStep { name: "features", work: || done(rust::check_features()) }],
    &[CiStep { name: "test", work: || done(rust::test(&[])) }],
    &[CiStep { name: "library docs", work: || done(rust::document()) }],
    &[CiStep { name: "doc test", work: || done(rust::doc_test()) }],
    &[CiStep { name: "sim", work: || done(sim::run_for_ci()) }],
    &[CiStep { name: "races", work: || done(rust::races(&[])) }],
    &[CiStep { name: "torture", work: torture::run_for_ci }],
    &[CiStep { name: "instructions", work: instructions::run }],
    &[CiStep { name: "schemathesis", work: || schemathesis::run(&[]) }, CiStep { name: "clients", work: clients::run }],
    &[
        CiStep { name: "sdk", work: || sdk::run(&[]) },
        CiStep { name: "compatibility", work: || compatibility::run(&[]) },
    ],
    &[CiStep { name: "browser", work: || browser::run(&[]) }],
    &[CiStep { name: "proxies", work: browser::behind_proxies }],
    &[CiStep { name: "deploy", work: dist::deploy::check }, CiStep { name: "deny", work: deny::check }],
];

/// Where a step that is done beside others writes down how it ended.
const RECORD: &str = "ORDO_CI_RECORD";

/// All steps, or those with these names.
pub(crate) fn run(names: &[String]) -> Result<()> {
    let (took, records) = timed(|| if names.is_empty() { run_all() } else { run_named(names) });
    let records = records?;
    if let Some(path) = std::env::var_os(RECORD) {
        let [record] = records.as_slice() else { bail!("{RECORD} is for one step") };
        return std::fs::write(&path, record.to_json()).with_context(|| format!("writing {}", path.display()));
    }
    println!("\n=== all steps ===\n{}", table(&records, took));
    let failed = records.iter().filter(|record| record.failed()).count();
    if failed > 0 {
        bail!("{failed} of {} steps failed", records.len());
    }
    Ok(())
}

fn run_all() -> Result<Vec<StepRecord>> {
    let folder = tree::target().join("ci");
    std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let mut records = Vec::new();
    for stage in STAGES {
        match stage {
            [alone] => records.push(alone.run()),
            beside => records.extend(run_beside(beside, &folder)),
        }
    }
    Ok(records)
}

fn run_named(names: &[String]) -> Result<Vec<StepRecord>> {
    let step = |name: &String| STAGES.into_iter().flatten().find(|step| step.name == name);
    let steps: Option<Vec<&CiStep>> = names.iter().map(step).collect();
    let Some(steps) = steps else {
        let known: Vec<&str> = STAGES.into_iter().flatten().map(|step| step.name).collect();
        bail!("a step that is not there; there are: {}", known.join(", "));
    };
    Ok(steps.into_iter().map(CiStep::run).collect())
}

/// Each in a process of its own, whose output is shown when it is over.
fn run_beside(steps: &'static [CiStep], folder: &Path) -> Vec<StepRecord> {
    let names: Vec<&str> = steps.iter().map(|step| step.name).collect();
    println!("\n=== beside each other: {} ===", names.join(", "));
    std::thread::scope(|scope| {
        let running: Vec<_> = steps.iter().map(|step| scope.spawn(|| run_apart(step, folder))).collect();
        let ended = running.into_iter().zip(steps).map(|(record, step)| {
            let record = record.join().unwrap_or_else(|_| bail!("its thread panicked"));
            record.unwrap_or_else(|error| StepRecord::not_run(step.name, &error))
        });
        ended.collect()
    })
}

fn run_apart(step: &CiStep, folder: &Path) -> Result<StepRecord> {
    let (log, record) = (folder.join(format!("{}.log", step.name)), folder.join(format!("{}.json", step.name)));
    let output = File::create(&log).with_context(|| format!("making {}", log.display()))?;
    let program = std::env::current_exe().context("which program is this?")?;
    let status = Command::new(program)
        .args(["ci", step.name])
        .env(RECORD, &record)
        .stdin(Stdio::null())
        .stdout(output.try_clone().context("sharing a log")?)
        .stderr(output)
        .status()
        .with_context(|| format!("starting {}", step.name))?;
    let said = std::fs::read(&log).with_context(|| format!("reading {}", log.display()))?;
    println!("{}", String::from_utf8_lossy(&said).trim_end());
    if !status.success() {
        bail!("it ended without a record: {status}");
    }
    let json = std::fs::read_to_string(&record).with_context(|| format!("reading {}", record.display()))?;
    StepRecord::from_json(step.name, &json)
}

/// A step that can be done everywhere.
fn done(result: Result<()>) -> Result<Option<String>> {
    result.map(|()| None)
}
