//! `cargo xtask soak`: mixed load with churn for as long as one likes; what a daemon uses meanwhile is sampled, drawn and
//! held to bounds.
//!
//! Invariant: whatever comes goes again, or is counted as kept. So what grows after the warm-up grows without reason.

mod bounds;
mod load;
mod options;
mod report;
mod samples;

use anyhow::{Context, Result, bail};

use crate::lab::clock::{now_ms, pause, within};
use crate::lab::node::OrdoProcess;
use crate::lab::process::output;
use crate::lab::random::SeededRandom;
use crate::lab::scratch::ScratchFolder;
use crate::lab::{binary, clock};
use crate::tree;
use load::SoakLoad;
use options::SoakOptions;
use samples::ResourceProbe;

/// All that was begun is over by then.
const SETTLED_WITHIN_MS: i64 = 60_000;

pub(crate) fn run(args: &[String]) -> Result<()> {
    let options = SoakOptions::parse(args)?;
    let seed = options.seed.unwrap_or_else(|| clock::now_ms().unsigned_abs() % 1_000_000);
    let report = options.report.clone().unwrap_or_else(|| tree::target().join("soak"));
    std::fs::create_dir_all(&report).with_context(|| format!("making {}", report.display()))?;
    let folder = ScratchFolder::make("soak")?;
    let binary = binary::copy_of(options.ordo.as_deref(), folder.path())?;
    let home = folder.path().join("daemon");
    let mut daemon = OrdoProcess::new("daemon", &binary, &home, &["serve", "--listen", "127.0.0.1:0"])?;
    daemon.start()?;
    println!("{} minutes, seed {seed}", options.seconds / 60);
    let load = SoakLoad::begin(&binary, folder.path(), &daemon, SeededRandom::new(seed))?;
    let mut probe = ResourceProbe::new(&daemon)?;
    let until = now_ms() + options.seconds * 1_000;
    while now_ms() < until && !load.has_ended() {
        pause(options.sample_ms());
        probe.sample(&daemon)?;
    }
    let done = load.end()?;
    let mut breaches = bounds::judge(&probe.samples, &done);
    breaches.extend(settle(&mut daemon)?);
    let page = report.join("soak.html");
    std::fs::write(&page, report::html(seed, &probe.samples, &done, &breaches)).context("writing the report")?;
    println!("{done}\n{}\nreport: {}", bounds::summary(&probe.samples), page.display());
    if !breaches.is_empty() {
        std::fs::copy(home.with_extension("log"), report.join("soak-daemon.log"))?;
        bail!("seed {seed}:\n  {}", breaches.join("\n  "));
    }
    Ok(())
}

/// Nothing waits when nobody asks any more, the daemon ends well, said nothing alarming, and its store is clean.
fn settle(daemon: &mut OrdoProcess) -> Result<Vec<String>> {
    let mut breaches = Vec::new();
    let client = daemon.client();
    let nothing_waits = || {
        client
            .get("/v1/runs?status=pending&limit=1")
            .is_ok_and(|page| page["items"].as_array().is_some_and(Vec::is_empty))
    };
    if !within(SETTLED_WITHIN_MS, nothing_waits) {
        breaches.push("runs still waited a minute after the load had ended".to_owned());
    }
    if !daemon.stop()? {
        breaches.push("the daemon did not end well".to_owned());
    }
    let said = daemon.said();
    let alarming = said.lines().filter(|line| line.contains(" ERROR ") || line.contains("panicked at"));
    breaches.extend(alarming.take(20).map(|line| format!("the daemon said: {line}")));
    let checked = output(&mut daemon.command(&["store", "check"]))?;
    let said = String::from_utf8_lossy(&checked.stdout);
    if !said.starts_with("clean") {
        breaches.push(format!("ordo store check: {said}"));
    }
    Ok(breaches)
}
