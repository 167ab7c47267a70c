//! `cargo xtask torture`: real daemons, real faults, and a judge who believes nobody.
//!
//! Jobs write down themselves, outside the system, when each attempt began and when it was done. A calendar that shares
//! no code with the product says what was promised. At the end every target has one outcome and every outcome a
//! target; what is left over is a failure that names its seed, its job and its time.

mod calendar;
mod cluster;
mod customer;
mod embedded;
mod evidence;
mod follower;
mod jobs;
mod judge;
pub(crate) mod options;
mod plot;
mod report;
mod stream;
mod trial;

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};

use crate::lab::database::DatabaseProcess;
use crate::lab::scratch::ScratchFolder;
use crate::lab::{binary, clock};
use crate::tree;
use judge::TrialRecord;
use options::{StoreKind, TortureOptions};

/// Each store in the step of CI.
const CI_SECONDS: i64 = 45;

pub(crate) fn run(args: &[String]) -> Result<()> {
    let options = TortureOptions::parse(args)?;
    let left_out = torture(&options)?;
    left_out.into_iter().for_each(|note| println!("left out: {note}"));
    Ok(())
}

/// The short form; returns a note when something could not be done here.
pub(crate) fn run_for_ci() -> Result<Option<String>> {
    let stores = vec![StoreKind::Redb, StoreKind::Postgres];
    let options = TortureOptions { seconds: CI_SECONDS, stores, seed: None, report: None, ordo: None };
    let left_out = torture(&options)?;
    Ok((!left_out.is_empty()).then(|| format!("only in part: {}", left_out.join("; "))))
}

fn torture(options: &TortureOptions) -> Result<Vec<String>> {
    let seed = options.seed.unwrap_or_else(|| clock::now_ms().unsigned_abs() % 1_000_000);
    let report = options.report.clone().unwrap_or_else(|| tree::target().join("torture"));
    std::fs::create_dir_all(&report).with_context(|| format!("making {}", report.display()))?;
    let folder = ScratchFolder::make(&format!("torture-{seed}"))?;
    let binary = binary::copy_of(options.ordo.as_deref(), folder.path())?;
    let (mut left_out, mut failed) = (Vec::new(), 0);
    let mut stores = options.stores.clone();
    if stores.contains(&StoreKind::Postgres) && !DatabaseProcess::is_installed() {
        stores.retain(|store| *store != StoreKind::Postgres);
        left_out.push("three nodes on PostgreSQL, which is not installed (Debian: postgresql)".to_owned());
    }
    for trial in trials(&stores, options.seconds, &binary, folder.path(), seed)? {
        let judgement = judge::judge(&trial);
        let page = report.join(format!("{}.html", trial.name));
        std::fs::write(&page, report::html(&trial, &judgement))
            .with_context(|| format!("writing {}", page.display()))?;
        println!("{}: seed {seed}, {} s\n{}", trial.name, (trial.to - trial.from) / 1_000, judgement.account);
        for breach in judgement.breaches.iter().take(30) {
            println!("  BREACH (seed {seed}) {breach}");
        }
        println!("  report: {}", page.display());
        failed += judgement.breaches.len();
        if !judgement.breaches.is_empty() {
            keep(folder.path(), &report, trial.name)?;
        }
        left_out.extend(trial.left_out);
    }
    if failed > 0 {
        bail!("{failed} breaches; seed {seed}; what was written down is in {}", report.display());
    }
    Ok(left_out)
}

/// Side by side: each has its own processes, disk and hosts.
fn trials(stores: &[StoreKind], seconds: i64, binary: &Path, folder: &Path, seed: u64) -> Result<Vec<TrialRecord>> {
    std::thread::scope(|scope| {
        let begun = stores.iter().map(|store| match store {
            StoreKind::Redb => {
                scope.spawn(move || trial::embedded(binary, &folder.join(embedded::NAME), seed, seconds))
            }
            StoreKind::Postgres => {
                scope.spawn(move || trial::cluster(binary, &folder.join(cluster::NAME), seed, seconds))
            }
        });
        let begun: Vec<_> = begun.collect();
        begun.into_iter().map(|trial| trial.join().map_err(|_| anyhow!("a trial panicked"))?).collect()
    })
}

/// Evidence and logs of a trial that failed.
fn keep(folder: &Path, report: &Path, name: &str) -> Result<()> {
    for entry in std::fs::read_dir(folder.join(name))? {
        let path = entry?.path();
        if let (true, Some(file)) = (path.extension().is_some_and(|ending| ending == "log"), path.file_name()) {
            std::fs::copy(&path, report.join(format!("{name}-{}", file.to_string_lossy())))?;
        }
    }
    Ok(())
}
