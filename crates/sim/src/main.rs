//! `ordo-sim`: replays one world with its whole trace, or looks at many.

use std::process::ExitCode;

use ordo_sim::{World, judge};

const USAGE: &str = "\
ordo-sim --seed N               replays one world and tells what happened in it
ordo-sim --seeds N [--from M]   looks at N worlds, from seed M (1) on";

enum Wanted {
    One(u64),
    Many { from: u64, count: u64 },
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match wanted(&args) {
        Some(Wanted::One(seed)) => replay(seed),
        Some(Wanted::Many { from, count }) => look_at_many(from, count),
        None => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn wanted(args: &[String]) -> Option<Wanted> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["--seed", seed] => seed.parse().ok().map(Wanted::One),
        ["--seeds", count] => count.parse().ok().map(|count| Wanted::Many { from: 1, count }),
        ["--seeds", count, "--from", from] => {
            Some(Wanted::Many { from: from.parse().ok()?, count: count.parse().ok()? })
        }
        _ => None,
    }
}

fn replay(seed: u64) -> ExitCode {
    let (history, trace) = World::new(seed, true).run();
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

fn look_at_many(from: u64, count: u64) -> ExitCode {
    let (mut facts, mut failed) = (0, Vec::new());
    for seed in from..from + count {
        let (history, _) = World::new(seed, false).run();
        facts += history.facts.len();
        if let Some(first) = judge(&history).first() {
            eprintln!("seed {seed}: {first}");
            eprintln!("  replay it with: cargo xtask sim {seed}");
            failed.push(seed);
        }
    }
    println!("{count} worlds, {facts} facts, {} failed {failed:?}", failed.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
