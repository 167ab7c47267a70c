//! Every check in order, the quick ones first.

use anyhow::{Result, bail};

use crate::step::{CiStep, StepRecord, table};
use crate::{
    browser, clients, compatibility, deny, dist, docs, fence, instructions, rust, schemathesis, sdk, sim, torture, tree,
};

const STEPS: [CiStep; 20] = [
    CiStep { name: "format", work: || done(rust::check_format()) },
    CiStep { name: "fence", work: || done(fence::check(&tree::root())) },
    CiStep { name: "docs", work: || done(docs::check(&tree::root())) },
    CiStep { name: "lint", work: || done(rust::lint()) },
    CiStep { name: "features", work: || done(rust::check_features()) },
    CiStep { name: "test", work: || done(rust::test(&[])) },
    CiStep { name: "library docs", work: || done(rust::document()) },
    CiStep { name: "doc test", work: || done(rust::doc_test()) },
    CiStep { name: "sim", work: || done(sim::run_for_ci()) },
    CiStep { name: "races", work: || done(rust::races(&[])) },
    CiStep { name: "torture", work: torture::run_for_ci },
    CiStep { name: "instructions", work: instructions::run },
    CiStep { name: "schemathesis", work: || schemathesis::run(&[]) },
    CiStep { name: "clients", work: clients::run },
    CiStep { name: "sdk", work: || sdk::run(&[]) },
    CiStep { name: "compatibility", work: || compatibility::run(&[]) },
    CiStep { name: "browser", work: || browser::run(&[]) },
    CiStep { name: "proxies", work: browser::behind_proxies },
    CiStep { name: "deploy", work: dist::deploy::check },
    CiStep { name: "deny", work: deny::check },
];

pub(crate) fn run() -> Result<()> {
    let records: Vec<StepRecord> = STEPS.iter().map(CiStep::run).collect();
    println!("\n=== all steps ===\n{}", table(&records));
    let failed = records.iter().filter(|record| record.failed()).count();
    if failed > 0 {
        bail!("{failed} of {} steps failed", records.len());
    }
    Ok(())
}

/// A step that can be done everywhere.
fn done(result: Result<()>) -> Result<Option<String>> {
    result.map(|()| None)
}
