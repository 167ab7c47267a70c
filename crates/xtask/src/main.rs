//! The chores of this workspace: `cargo xtask ci` is what CI runs, the rest are its parts.
//!
//! Invariant: nothing is checked in CI that cannot be checked with one command here.

mod bench;
mod browser;
mod cargo;
mod ci;
mod clients;
mod compatibility;
mod daemon;
mod deny;
mod dist;
mod docs;
mod fence;
mod fuzz;
mod installed;
mod instructions;
mod lab;
mod peers;
mod rust;
mod schemathesis;
mod sdk;
mod sim;
mod soak;
mod step;
mod torture;
mod tree;
mod upgrade;

use std::process::ExitCode;

use installed::{npm, program, venv};

const USAGE: &str = "\
cargo xtask ci [STEP ...]                every check, timed: what CI runs; or the steps of these names
cargo xtask fmt                          formats the code
cargo xtask lint                         clippy on everything, warnings are errors
cargo xtask features                     does the binary build without its optional parts?
cargo xtask test                         unit, integration and documentation tests
cargo xtask test ARGS                    those the test runner chooses by ARGS: `-p ordo-model`, a name
cargo xtask e2e [ARGS]                   only the tests that drive the real binary
cargo xtask sim SEED                     replays the simulated worlds of a seed
cargo xtask sim --seeds N [--from M]     simulates the worlds of N seeds; --minutes N: of as many as fit
cargo xtask sim --forever                simulates until it is ended; says how many seeds an hour, how many years
cargo xtask sim --planted                plants bugs on purpose, one after the other: is each found?
cargo xtask upgrade COMMIT               nodes of an earlier commit, upgraded one by one while they work (needs PostgreSQL)
cargo xtask torture [ARGS]               real daemons under kills, pauses, cuts and full disks, judged from outside
                                         [--minutes 3] [--store redb|postgres] [--seed S] [--report DIR] [--ordo PATH]
cargo xtask soak [--minutes 15]          mixed load with churn; memory, descriptors, threads, files and lateness held to bounds
                                         [--seed S] [--report DIR] [--ordo PATH]
cargo xtask fuzz [TARGET] [--minutes N]  made-up inputs for every reader, or for those whose name begins so
cargo xtask races [--orders N]           threads in many orders, chosen by shuttle
cargo xtask instructions                 what a standard job costs in instructions (needs valgrind)
cargo xtask schemathesis [SEED]          made-up requests against the real binary (needs python3)
cargo xtask clients                      generated clients and linters against the real binary (needs python3, java, node)
cargo xtask sdk [ARGS]                   the packages in sdk/ against the real binary (needs python3, node, npm); --only WORD
cargo xtask compatibility [--only WORD]  programs made for other services against the real binary (needs python3, borg)
cargo xtask browser [ARGS]               the dashboard in a real browser (needs node and chromium)
cargo xtask bench [ARGS]                 `ordo bench`, built for release
cargo xtask peers [ARGS]                 Ordo beside other schedulers (needs PostgreSQL, Redis, wrk, node, npm, python3)
cargo xtask docs                         are the documents true?
cargo xtask docs --play [PAGE]           types every command of the documents, or of the pages whose path has PAGE in it
cargo xtask docs --write                 makes the reference from the code, and llms.txt
cargo xtask docs --site                  the documents as a site, in target/site (installs mdBook below target/)
cargo xtask dist [--try]                 what is published: archive, checksums, SBOM, Debian package, OCI image; --try installs and starts it
cargo xtask release [--dry-run]          is this commit a release? then tags it
cargo xtask fence                        does every crate know only what it may?
cargo xtask deploy                       manifests, chart and workflows against their schemas (needs python3, node, npm)
cargo xtask deny                         licences, bans, sources, advisories (installs cargo-deny below target/)";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match chore(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn chore(args: &[String]) -> anyhow::Result<()> {
    let Some((name, rest)) = args.split_first() else {
        anyhow::bail!("which chore?\n\n{USAGE}");
    };
    match name.as_str() {
        "ci" => ci::run(rest),
        "fmt" => rust::format(),
        "lint" => rust::lint(),
        "features" => rust::check_features(),
        "test" if rest.is_empty() => rust::test(&[]).and_then(|()| rust::doc_test()),
        "test" => rust::test(rest),
        "e2e" => rust::end_to_end(rest),
        "sim" => sim::run(rest),
        "upgrade" => upgrade::run(rest),
        "soak" => soak::run(rest),
        "torture" => torture::run(rest),
        "fuzz" => fuzz::run(rest),
        "races" => rust::races(rest),
        "instructions" => instructions::run().map(print_note),
        "bench" => bench::run(rest),
        "peers" => peers::run(rest),
        "docs" => docs::run(&tree::root(), rest),
        "dist" => dist::run(rest),
        "release" => dist::release(rest),
        "fence" => fence::check(&tree::root()),
        "deploy" => dist::deploy::check().map(print_note),
        "deny" => deny::check().map(print_note),
        "browser" => browser::run(rest).map(print_note),
        "clients" => clients::run().map(print_note),
        "sdk" => sdk::run(rest).map(print_note),
        "compatibility" => compatibility::run(rest).map(print_note),
        "schemathesis" => schemathesis::run(rest).map(print_note),
        "help" | "--help" | "-h" => {
            println!("{USAGE}");
            Ok(())
        }
        unknown => anyhow::bail!("unknown chore {unknown:?}\n\n{USAGE}"),
    }
}

/// Why a chore could not be done here.
fn print_note(note: Option<String>) {
    note.into_iter().for_each(|note| println!("skipped: {note}"));
}
