//! `ordo man`: the manual pages, made from what the command line says of itself.

use std::path::Path;

use clap::CommandFactory;

use crate::cli::Cli;
use crate::error::{Error, Exit, Result};
use crate::output;

pub(crate) fn run(folder: Option<&Path>) -> Result<Exit> {
    let failed = |error: std::io::Error| Error::failed("the manual pages cannot be written").detail(error.to_string());
    match folder {
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page).map_err(failed)?;
            output::print(&String::from_utf8_lossy(&page))?;
        }
        Some(folder) => {
            std::fs::create_dir_all(folder).map_err(failed)?;
            clap_mangen::generate_to(Cli::command(), folder).map_err(failed)?;
            output::note(&format!("the manual pages are in {}", folder.display()));
        }
    }
    Ok(Exit::Done)
}
