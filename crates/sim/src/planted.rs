//! Plants the bugs of `ordo_model::planted` one after the other and looks how many seeds it takes to find each.

use std::process::ExitCode;

/// The bugs are not in this binary.
#[cfg(not(feature = "planted-bugs"))]
pub(crate) fn run(_most: Option<u64>) -> ExitCode {
    eprintln!("built without planted bugs: `cargo xtask sim --planted` builds them in");
    ExitCode::from(2)
}

/// `most`: how many seeds each bug gets, instead of as many as it states.
#[cfg(feature = "planted-bugs")]
pub(crate) fn run(most: Option<u64>) -> ExitCode {
    use ordo_model::planted::{Bug, plant};
    use ordo_sim::survey::{Extent, survey};

    let mut missed = Vec::new();
    println!("{:<24} {:>6} {:>6}  what showed it", "bug", "found", "within");
    for bug in Bug::ALL {
        plant(Some(*bug));
        let seeds = most.unwrap_or_else(|| bug.seeds());
        let extent = Extent { from: 1, seeds: Some(seeds), within: None, only: None, until_found: true };
        let seen = survey(extent);
        plant(None);
        match seen.failed.first() {
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
