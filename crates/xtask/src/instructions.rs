//! How many instructions it takes to decide and encode a standard job, counted by callgrind.
//!
//! Invariant: the count of one build is the same on every machine and however busy it is. The build is that of the tests,
//! so the figure says nothing about speed; it says when something was added.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::cargo::built_with_tests;
use crate::tree;

/// What one job may cost. Whoever lowers the cost lowers this too; another compiler may move it by a few percent.
const INSTRUCTIONS_MAX: u64 = 390_000;
/// The difference of two runs is what so many jobs cost; what the program costs besides falls out.
const FEW: u64 = 20;
const MANY: u64 = 220;

/// Returns a note when this machine cannot do it.
pub(crate) fn run() -> Result<Option<String>> {
    if Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_err() {
        return Ok(Some("valgrind is not installed (`apt-get install valgrind`)".to_owned()));
    }
    let program = built_with_tests("examples/standard_job")?;
    let each = (counted(&program, MANY)? - counted(&program, FEW)?) / (MANY - FEW);
    println!("deciding and encoding a standard job: {each} instructions (at most {INSTRUCTIONS_MAX})");
    if each > INSTRUCTIONS_MAX {
        bail!("a standard job costs {each} instructions, and must not cost more than {INSTRUCTIONS_MAX}");
    }
    Ok(None)
}

/// The instructions of the whole program.
fn counted(program: &Path, jobs: u64) -> Result<u64> {
    let counts: PathBuf = tree::target().join(format!("callgrind-{jobs}.out"));
    let output = Command::new("valgrind")
        .args(["--quiet", "--tool=callgrind"])
        .arg(format!("--callgrind-out-file={}", counts.display()))
        .arg(program)
        .arg(jobs.to_string())
        .output()
        .context("starting valgrind")?;
    if !output.status.success() {
        bail!("valgrind: {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    let text = std::fs::read_to_string(&counts).with_context(|| format!("reading {}", counts.display()))?;
    total(&text).with_context(|| format!("{} has no total", counts.display()))
}

/// The line `totals: 123` of what callgrind writes; older ones say `summary`.
fn total(counts: &str) -> Option<u64> {
    let named = |name: &str| counts.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    named("totals:").or_else(|| named("summary:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read_wherever_callgrind_puts_it() {
        assert_eq!(total("version: 1\nevents: Ir\nfn=(1) main\n3 4\ntotals: 512\n"), Some(512));
        assert_eq!(total("events: Ir\nsummary: 77\nfn=(1) main\n"), Some(77));
        assert_eq!(total("events: Ir\n"), None);
    }
}
