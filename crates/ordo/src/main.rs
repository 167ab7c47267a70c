//! `ordo`: one binary for the daemon, its command line and its tools of maintenance.

mod cli;
mod commands;
mod config;
mod daemon;
mod demo;
#[cfg(test)]
mod documented;
mod environment;
mod error;
mod executor;
mod folder;
mod key_file;
mod locate;
mod maintenance;
mod nearby;
mod output;
mod private_file;
mod secret_input;
mod store_location;
#[cfg_attr(not(feature = "otlp"), path = "telemetry/off.rs")]
mod telemetry;
mod zone;
mod zone_data;

use clap::Parser;

/// Many threads make and drop small things all the time: docs/benchmarks.md has what it brings.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    if let Some(exit) = ordo_tools::launcher::main_if_asked() {
        return exit;
    }
    silence_caught_panics();
    let cli = cli::Cli::parse();
    let paint = output::style::Paint::for_stderr();
    if cli.command.is_daemon() {
        environment::shed();
    }
    match commands::run(cli) {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprint!("{}", error.render(paint));
            error.exit().into()
        }
    }
}

/// What redb says of a damaged file is reported as a fault, with what to do; a panic beside it would only frighten.
fn silence_caught_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !ordo_store_redb::is_guarded() {
            usual(panic);
        }
    }));
}
