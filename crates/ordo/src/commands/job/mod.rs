//! `ordo job …`

mod add;
mod backfill;
mod change;
mod history;
mod list;
mod preview;
mod request;
mod show;
mod trigger;
mod update;
mod when;
pub(crate) mod words;

use super::talk::Talk;
use crate::cli::job::JobCommand;
use crate::error::{Exit, Result};

pub(crate) async fn run(talk: &Talk, command: JobCommand) -> Result<Exit> {
    match command {
        JobCommand::Add(args) => add::run(talk, &args).await,
        JobCommand::List(args) => list::run(talk, &args).await,
        JobCommand::Show(args) => show::run(talk, &args.job).await,
        JobCommand::History(args) => history::run(talk, &args).await,
        JobCommand::Pause(args) => change::pause(talk, &args).await,
        JobCommand::Resume(args) => change::resume(talk, &args.job).await,
        JobCommand::Cancel(args) => change::cancel(talk, &args).await,
        JobCommand::Trigger(args) => trigger::run(talk, &args).await,
        JobCommand::Update(args) => update::run(talk, &args).await,
        JobCommand::Backfill(args) => backfill::run(talk, &args).await,
        JobCommand::Preview(args) => preview::run(talk, &args).await,
    }
}
