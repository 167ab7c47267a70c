//! Plants the bugs of `ordo_model::planted` one after the other and looks how many seeds it takes to find each.
//!
//! Invariant: a seed counts as a find only if its world is well without the bug.

use std::process::ExitCode;

#[cfg(feature = "planted-bugs")]
use ordo_sim::survey::WorldKind;

/// The bugs are not in this binary.
#[cfg(not(feature = "planted-bugs"))]
pub(crate) fn run(_most: Option<u64>) -> ExitCode {
    eprintln!("built without planted bugs: `cargo xtask sim --planted` builds them in");
    ExitCode::from(2)
}

/// `most`: how many seeds each bug gets, instead of as many as it states.
#[cfg(feature = "planted-bugs")]
pub(crate) fn run(most: Option<u64>) -> ExitCode {
    use ordo_model::planted::Bug;

    let mut missed = Vec::new();
    println!("{:<24} {:>6} {:>6}  what showed it", "bug", "found", "within");
    for bug in Bug::ALL {
        let seeds = most.unwrap_or_else(|| bug.seeds());
        match find(*bug, seeds) {
            Some((seed, kind, first)) => {
                let first: String = first.chars().take(110).collect();
                println!("{:<24} {seed:>6} {seeds:>6}  {}: {first}", bug.name(), kind.name());
            }
            None => {
                println!("{:<24} {:>6} {seeds:>6}  NOT FOUND: {}", bug.name(), "-", bug.why());
                missed.push(bug.name());
            }
        }
    }
    println!("{} of {} bugs found", Bug::ALL.len() - missed.len(), Bug::ALL.len());
    if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The first seed of so many in whose world the bug, and nothing but the bug, breaks a promise.
#[cfg(feature = "planted-bugs")]
fn find(bug: ordo_model::planted::Bug, seeds: u64) -> Option<(u64, WorldKind, String)> {
    use ordo_model::planted::plant;
    use ordo_sim::survey::{Extent, look, survey};

    let mut from = 1;
    while from <= seeds {
        plant(Some(bug));
        let extent = Extent { from, seeds: Some(seeds + 1 - from), within: None, only: None, until_found: true };
        let seen = survey(extent);
        plant(None);
        for (seed, kind, first) in seen.failed {
            match look(kind, seed, false).violations.first() {
                None => return Some((seed, kind, first)),
                Some(also) => eprintln!("seed {seed}, {} world, fails without {} too: {also}", kind.name(), bug.name()),
            }
        }
        from += seen.seeds.max(1);
    }
    None
}
