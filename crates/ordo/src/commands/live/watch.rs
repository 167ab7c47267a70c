//! `--watch`: a command that shows something, shown again and again.

use std::io::IsTerminal;
use std::time::Duration;

use crate::cli::{Format, RefreshArgs};
use crate::commands::talk::CommandSession;
use crate::error::{Exit, Result};
use crate::output;

/// Clears the screen and what scrolled off it.
const CLEAR: &str = "\x1b[2J\x1b[3J\x1b[H";

/// Shows it once, or until it is interrupted.
pub(crate) async fn repeated(
    talk: &CommandSession,
    watch: RefreshArgs,
    show: impl AsyncFn() -> Result<()>,
) -> Result<Exit> {
    let Some(every) = watch.watch else {
        show().await?;
        return Ok(Exit::Done);
    };
    let mut ticks = tokio::time::interval(every.to_std().max(Duration::from_millis(100)));
    loop {
        ticks.tick().await;
        if talk.format == Format::Table && std::io::stdout().is_terminal() {
            output::print(CLEAR.trim_end_matches('\n'))?;
        }
        show().await?;
    }
}
