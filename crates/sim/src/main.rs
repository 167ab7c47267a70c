//! `ordo-sim`: replays the worlds of one seed with their whole trace, or looks at many.

mod planted;

use std::process::ExitCode;
use std::time::Duration;

use ordo_engine::clock::Stopwatch;
use ordo_sim::survey::{Extent, Survey, WorldKind, look, survey, survey_saying};

const USAGE: &str = "\
ordo-sim --seed N [--world jobs|whole]      replays the worlds of one seed and prints what happened in them
ordo-sim --seeds N [--from M]               looks at the worlds of N seeds, from seed M (1) on
ordo-sim --minutes N [--from M]             looks at as many seeds as fit; both say every ten seconds how far they are
ordo-sim --forever [--from M]               looks until it is ended; says once a minute how far it is
ordo-sim --planted                          plants one bug after the other and looks until it is found";

/// How often `--forever` says how far it is.
const PART: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
struct Wanted {
    seed: Option<u64>,
    seeds: Option<u64>,
    from: Option<u64>,
    minutes: Option<f64>,
    world: Option<WorldKind>,
    forever: bool,
    planted: bool,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match wanted(&args) {
        Some(Wanted { seed: Some(seed), world, .. }) => replay(seed, world),
        Some(Wanted { planted: true, seeds, .. }) => planted::run(seeds),
        Some(Wanted { forever: true, from, world, .. }) => run_forever(from.unwrap_or(1), world),
        Some(Wanted { seeds, from, minutes, world, .. }) if seeds.is_some() || minutes.is_some() => {
            let within = minutes.map(|minutes| Duration::from_secs_f64(minutes * 60.0));
            let extent = Extent { from: from.unwrap_or(1), seeds, within, only: world, until_found: false };
            tell(&survey_saying(extent, |so_far, elapsed| say_progress(extent.seeds, so_far, elapsed)), extent.from)
        }
        Some(_) | None => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn wanted(args: &[String]) -> Option<Wanted> {
    let mut wanted = Wanted::default();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--forever" => wanted.forever = true,
            "--planted" => wanted.planted = true,
            "--seed" => wanted.seed = Some(args.next()?.parse().ok()?),
            "--seeds" => wanted.seeds = Some(args.next()?.parse().ok()?),
            "--from" => wanted.from = Some(args.next()?.parse().ok()?),
            "--minutes" => wanted.minutes = Some(args.next()?.parse().ok().filter(|minutes| *minutes >= 0.0)?),
            "--world" => wanted.world = Some(WorldKind::named(args.next()?)?),
            _ => return None,
        }
    }
    Some(wanted)
}

fn replay(seed: u64, only: Option<WorldKind>) -> ExitCode {
    let mut is_well = true;
    for kind in WorldKind::ALL.into_iter().filter(|kind| only.is_none_or(|only| only == *kind)) {
        let seen = look(kind, seed, true);
        println!("--- the {} world of seed {seed}", kind.name());
        for line in &seen.lines {
            println!("{line}");
        }
        println!("seed {seed}, {}: {} facts, fingerprint {:016x}", kind.name(), seen.facts, seen.fingerprint);
        for violation in &seen.violations {
            println!("VIOLATION {violation}");
        }
        is_well &= seen.violations.is_empty();
    }
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn tell(seen: &Survey, from: u64) -> ExitCode {
    for (seed, kind, first) in &seen.failed {
        eprintln!("seed {seed}, {} world: {first}", kind.name());
    }
    let (seeds, worlds, facts, years, failed) = (seen.seeds, seen.worlds, seen.facts, seen.years(), seen.failed.len());
    println!("{seeds} seeds from {from}: {worlds} worlds, {facts} facts, {years:.2} simulated years, {failed} failed");
    match seen.failed.first() {
        None => ExitCode::SUCCESS,
        Some((seed, ..)) => {
            println!("replay the first with `cargo xtask sim {seed}`");
            ExitCode::FAILURE
        }
    }
}

fn say_progress(of: Option<u64>, so_far: &Survey, elapsed: Duration) {
    let (seeds, years, failed) = (so_far.seeds, so_far.years(), so_far.failed.len());
    let of = of.map_or_else(String::new, |of| format!(" of {of}"));
    let an_hour = seeds as f64 * 3_600.0 / elapsed.as_secs_f64().max(0.001);
    eprintln!("{seeds}{of} seeds, {an_hour:.0} an hour, {years:.2} simulated years, {failed} failed");
}

/// Says how it goes; returns only when something failed.
fn run_forever(from: u64, only: Option<WorldKind>) -> ExitCode {
    let (mut next, mut years, watch) = (from, 0.0, Stopwatch::start());
    loop {
        let part = survey(Extent { from: next, seeds: None, within: Some(PART), only, until_found: true });
        next += part.seeds;
        years += part.years();
        let hours = watch.elapsed().ms() as f64 / 3_600_000.0;
        let seeds = next - from;
        println!("{seeds} seeds, {:.0} an hour, {years:.2} simulated years, next is {next}", seeds as f64 / hours);
        if !part.failed.is_empty() {
            return tell(&part, from);
        }
    }
}
