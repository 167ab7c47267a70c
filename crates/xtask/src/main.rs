//! The chores of this workspace: `cargo xtask ci` is what CI runs, the rest are its parts.
//!
//! Invariant: nothing is checked in CI that cannot be checked with one command here.

mod bench;
mod browser;
mod cargo;
mod ci;
mod clients;
mod daemon;
mod deny;
mod docs;
mod fence;
mod instructions;
mod npm;
mod peers;
mod rust;
mod schemathesis;
mod sdk;
mod sim;
mod step;
mod tree;
mod venv;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask ci                           every check, timed: what CI runs
cargo xtask fmt                          formats the code
cargo xtask lint                         clippy on everything, warnings are errors
cargo xtask test                         unit, integration and documentation tests
cargo xtask test ARGS                    those the test runner chooses by ARGS: `-p ordo-model`, a name
cargo xtask e2e [ARGS]                   only the tests that drive the real binary
cargo xtask sim SEED                     replays one simulated world
cargo xtask sim --seeds N [--from M]     simulates N worlds
cargo xtask instructions                 what a standard job costs in instructions (needs valgrind)
cargo xtask schemathesis [SEED]          made-up requests against the real binary (needs python3)
cargo xtask clients                      generated clients and linters against the real binary (needs python3, java, node)
cargo xtask sdk [ARGS]                   the packages in sdk/ against the real binary (needs python3, node, npm); --only WORD
cargo xtask browser [ARGS]               the dashboard in a real browser (needs node and chromium)
cargo xtask bench [ARGS]                 `ordo bench`, built for release
cargo xtask peers [ARGS]                 Ordo beside other schedulers (needs PostgreSQL, Redis, wrk, node, npm, python3)
cargo xtask docs                         are the documents true?
cargo xtask docs --play [PAGE]           types every command of the documents, or of the pages whose path has PAGE in it
cargo xtask docs --write                 makes the reference from the code, and llms.txt
cargo xtask docs --site                  the documents as a site, in target/site (installs mdBook below target/)
cargo xtask fence                        does every crate know only what it may?
cargo xtask deny                         licences, advisories, sources (needs cargo-deny)";

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
        "ci" => ci::run(),
        "fmt" => rust::format(),
        "lint" => rust::lint(),
        "test" if rest.is_empty() => rust::test(&[]).and_then(|()| rust::doc_test()),
        "test" => rust::test(rest),
        "e2e" => rust::end_to_end(rest),
        "sim" => sim::run(rest),
        "instructions" => instructions::run().map(print_note),
        "bench" => bench::run(rest),
        "peers" => peers::run(rest),
        "docs" => docs::run(&tree::root(), rest),
        "fence" => fence::check(&tree::root()),
        "deny" => deny::check().map(print_note),
        "browser" => browser::run(rest).map(print_note),
        "clients" => clients::run().map(print_note),
        "sdk" => sdk::run(rest).map(print_note),
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
