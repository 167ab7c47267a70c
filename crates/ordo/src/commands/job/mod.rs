//! `ordo job …`

mod add;
mod backfill;
mod change;
mod history;
mod list;
mod preview;
mod request;
mod revisions;
mod show;
mod trigger;
mod update;
mod when;
pub(crate) mod words;

use super::talk::CommandSession;
use crate::cli::job::JobSubcommand;
use crate::error::{Exit, Result};
use change::JobChange;

pub(crate) async fn run(talk: &CommandSession, command: JobSubcommand) -> Result<Exit> {
    match command {
        JobSubcommand::Add(args) => add::run(talk, &args).await,
        JobSubcommand::List(args) => list::run(talk, &args).await,
        JobSubcommand::Show(args) => show::run(talk, &args.job).await,
        JobSubcommand::History(args) => history::run(talk, &args).await,
        JobSubcommand::Pause(args) => change::run(talk, JobChange::Pause, &args).await,
        JobSubcommand::Resume(args) => change::run(talk, JobChange::Resume, &args).await,
        JobSubcommand::Cancel(args) => change::run(talk, JobChange::Cancel, &args).await,
        JobSubcommand::Trigger(args) => trigger::run(talk, &args).await,
        JobSubcommand::Update(args) => update::run(talk, &args).await,
        JobSubcommand::Diff(args) => revisions::diff(talk, &args).await,
        JobSubcommand::Revert(args) => revisions::revert(talk, &args).await,
        JobSubcommand::Backfill(args) => backfill::run(talk, &args).await,
        JobSubcommand::Preview(args) => preview::run(talk, &args).await,
    }
}
