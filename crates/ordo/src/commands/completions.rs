//! `ordo completions SHELL`

use clap::CommandFactory;

use crate::cli::Cli;
use crate::error::{Exit, Result};
use crate::output;

pub(crate) fn run(shell: clap_complete::Shell) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "ordo", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
