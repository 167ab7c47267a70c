//! Every check in order, the quick ones first.

use anyhow::{Result, bail};

use crate::step::{Step, StepRecord, table};
use crate::{browser, clients, deny, docs, fence, rust, schemathesis, sim, tree};

const STEPS: [Step; 12] = [
    Step { name: "format", work: || done(rust::check_format()) },
    Step { name: "fence", work: || done(fence::check(&tree::root())) },
    Step { name: "docs", work: || done(docs::check(&tree::root())) },
    Step { name: "lint", work: || done(rust::lint()) },
    Step { name: "test", work: || done(rust::test(&[])) },
    Step { name: "doc test", work: || done(rust::doc_test()) },
    Step { name: "sim", work: || done(sim::run_for_ci()) },
    Step { name: "schemathesis", work: || schemathesis::run(&[]) },
    Step { name: "clients", work: clients::run },
    Step { name: "browser", work: || browser::run(&[]) },
    Step { name: "proxies", work: browser::behind_proxies },
    Step { name: "deny", work: deny::check },
];

pub(crate) fn run() -> Result<()> {
    let records: Vec<StepRecord> = STEPS.iter().map(Step::run).collect();
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
