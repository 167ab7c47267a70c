//! `ordo-sim`: replays one world with its whole trace, or looks at many.

use std::num::NonZero;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use ordo_sim::{Simulation, judge};

const USAGE: &str = "\
ordo-sim --seed N               replays one simulation and prints what happened in it
ordo-sim --seeds N [--from M]   looks at N worlds, from seed M (1) on";

enum SeedChoice {
    One(u64),
    Many { from: u64, count: u64 },
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match wanted(&args) {
        Some(SeedChoice::One(seed)) => replay(seed),
        Some(SeedChoice::Many { from, count }) => run_many(from, count),
        None => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn wanted(args: &[String]) -> Option<SeedChoice> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["--seed", seed] => seed.parse().ok().map(SeedChoice::One),
        ["--seeds", count] => count.parse().ok().map(|count| SeedChoice::Many { from: 1, count }),
        ["--seeds", count, "--from", from] => {
            Some(SeedChoice::Many { from: from.parse().ok()?, count: count.parse().ok()? })
        }
        _ => None,
    }
}

fn replay(seed: u64) -> ExitCode {
    let (history, trace) = Simulation::new(seed, true).run();
    for line in trace.lines() {
        println!("{line}");
    }
    let violations = judge(&history);
    println!("seed {seed}: {} lines, fingerprint {:016x}", trace.len(), trace.hash());
    for violation in &violations {
        println!("VIOLATION {violation}");
    }
    if violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Worlds know nothing of each other: each core looks at its share.
fn run_many(from: u64, count: u64) -> ExitCode {
    let next = AtomicU64::new(from);
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let seen: Vec<ShareResult> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(|| run_share(&next, from + count))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a share catches what breaks in it")).collect()
    });
    let facts: usize = seen.iter().map(|share| share.facts).sum();
    let mut failed: Vec<u64> = seen.into_iter().flat_map(|share| share.failed).collect();
    failed.sort_unstable();
    println!("{count} worlds from seed {from}, {facts} facts, {} failed", failed.len());
    match failed.first() {
        None => ExitCode::SUCCESS,
        Some(seed) => {
            println!("failed: {failed:?}; replay the first with `cargo xtask sim {seed}`");
            ExitCode::FAILURE
        }
    }
}

#[derive(Default)]
struct ShareResult {
    facts: usize,
    failed: Vec<u64>,
}

fn run_share(next: &AtomicU64, end: u64) -> ShareResult {
    let mut seen = ShareResult::default();
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= end {
            return seen;
        }
        let ran = std::panic::catch_unwind(|| Simulation::new(seed, false).run().0);
        let first = match &ran {
            Ok(history) => judge(history).first().map(ToString::to_string),
            Err(_) => Some("the world broke down".into()),
        };
        seen.facts += ran.map_or(0, |history| history.facts.len());
        if let Some(first) = first {
            eprintln!("seed {seed}: {first}");
            seen.failed.push(seed);
        }
    }
}
