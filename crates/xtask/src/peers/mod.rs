//! `cargo xtask peers`: Ordo beside other schedulers of equal durability, by the drivers in `benches/peers`.
//!
//! Invariant: what is compared was measured in turn. Within a round each workload is given to one system after the
//! other, so that a slow minute of the machine hits all of them; the middle of the rounds counts.

mod chart;
mod driver;
mod figures;
mod options;
mod plan;
mod quiet;
mod report;
mod table;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::cargo::cargo;
use crate::tree;
use figures::Figures;
use options::Options;
use plan::Case;

pub(crate) fn run(args: &[String]) -> Result<()> {
    let options = Options::parse(args)?;
    let cases = plan::cases(&options);
    let binary = binary(options.ordo.as_deref())?;
    let folder = tree::target().join("peers");
    std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let figures = measure(&options, &cases, &binary, &folder.join("measurements.jsonl"))?;
    if figures.is_empty() {
        bail!("nothing could be measured");
    }
    report::write(&options, &cases, &figures, &folder)
}

fn measure(options: &Options, cases: &[Case], binary: &Path, record: &Path) -> Result<Figures> {
    let mut figures = Figures::default();
    let mut lines = std::fs::File::create(record).with_context(|| format!("making {}", record.display()))?;
    for system in &options.systems {
        driver::install(system)?;
    }
    for round in 1..=options.rounds {
        for case in cases {
            for system in case.systems(options) {
                if !options.quick {
                    quiet::wait()?;
                }
                println!("round {round} of {}: {case}, {}", options.rounds, system.name);
                match driver::drive(system, case, binary) {
                    Ok(line) => {
                        writeln!(lines, "{line}").context("recording a measurement")?;
                        println!("  {}", figures.add(case, system, &line)?);
                    }
                    Err(error) => {
                        println!("  failed: {error:#}");
                        figures.fail(case, system);
                    }
                }
            }
        }
    }
    println!("every measurement is in {}", record.display());
    Ok(figures)
}

/// The binary that was asked for, or one built the way it is shipped.
fn binary(given: Option<&Path>) -> Result<PathBuf> {
    let path = match given {
        Some(path) => path.to_path_buf(),
        None => {
            cargo(&["build", "--quiet", "--release", "--package", "ordo"])?;
            tree::target().join("release/ordo")
        }
    };
    std::fs::canonicalize(&path).with_context(|| format!("there is no ordo at {}", path.display()))
}
