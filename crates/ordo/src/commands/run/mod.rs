//! `ordo run …`

mod change;
mod list;
pub(crate) mod logs;
mod show;
pub(crate) mod words;

use super::talk::CommandSession;
use crate::cli::run::RunCommand;
use crate::error::{Exit, Result};

pub(crate) async fn run(talk: &CommandSession, command: RunCommand) -> Result<Exit> {
    match command {
        RunCommand::List(args) => list::run(talk, &args).await,
        RunCommand::Show(args) => show::run(talk, &args.run).await,
        RunCommand::Logs(args) => logs::run(talk, &args).await,
        RunCommand::Cancel(args) => change::cancel(talk, &args.run).await,
        RunCommand::Retry(args) => change::retry(talk, &args.run).await,
    }
}
