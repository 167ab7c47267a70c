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
    clap_complete::CompleteEnv::with_factory(<cli::Cli as clap::CommandFactory>::command).complete();
    let cli = match cli::Cli::try_parse_from(cli::typed(std::env::args_os())) {
        Ok(cli) => cli,
        Err(error) => return misused(&error),
    };
    let (paint, format) = (output::style::Paint::for_stderr(), cli.common.output);
    if cli.command.is_daemon() {
        environment::shed();
    }
    match commands::run(cli) {
        Ok(exit) => exit.into(),
        Err(error) => {
            match format {
                cli::Format::Table => eprint!("{}", error.render(paint)),
                cli::Format::Json | cli::Format::Ndjson => eprintln!("{}", error.to_json()),
            }
            error.exit().into()
        }
    }
}

/// What was typed cannot be read. Programs that asked for JSON get it for this too.
fn misused(error: &clap::Error) -> std::process::ExitCode {
    let words: Vec<String> = std::env::args().skip(1).take_while(|word| word != "--").collect();
    let is_json = |word: &str| ["json", "ndjson"].contains(&word);
    let asked = words.windows(2).any(|pair| ["-o", "--output"].contains(&pair[0].as_str()) && is_json(&pair[1]))
        || words.iter().any(|word| word.strip_prefix("--output=").or(word.strip_prefix("-o")).is_some_and(is_json));
    if !asked || !error.use_stderr() {
        error.exit();
    }
    let text = error.render().to_string();
    let mut lines = text.lines().map(str::trim);
    let title = lines.next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    let mut said = error::Error::misused(title);
    // What would have been right: possible values, what is missing, a similar name. How to get help is no detail.
    let detail: Vec<&str> =
        lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more")).collect();
    let detail = detail.join(" ").trim().to_owned();
    if !detail.is_empty() {
        said = said.detail(detail);
    }
    eprintln!("{}", said.to_json());
    said.exit().into()
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
