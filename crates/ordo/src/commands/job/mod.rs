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

use super::talk::CommandSession;
use crate::cli::job::JobSubcommand;
use crate::error::{Exit, Result};

pub(crate) async fn run(talk: &CommandSession, command: JobSubcommand) -> Result<Exit> {
    match command {
        JobSubcommand::Add(args) => add::run(talk, &args).await,
        JobSubcommand::List(args) => list::run(talk, &args).await,
        JobSubcommand::Show(args) => show::run(talk, &args.job).await,
        JobSubcommand::History(args) => history::run(talk, &args).await,
        JobSubcommand::Pause(args) => change::pause(talk, &args).await,
        JobSubcommand::Resume(args) => change::resume(talk, &args.job).await,
        JobSubcommand::Cancel(args) => change::cancel(talk, &args).await,
        JobSubcommand::Trigger(args) => trigger::run(talk, &args).await,
        JobSubcommand::Update(args) => update::run(talk, &args).await,
        JobSubcommand::Backfill(args) => backfill::run(talk, &args).await,
        JobSubcommand::Preview(args) => preview::run(talk, &args).await,
    }
}
