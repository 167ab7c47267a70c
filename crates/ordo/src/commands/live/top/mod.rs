//! `ordo top`: a full screen that shows what runs, what waits, what comes next and what failed.
//!
//! Invariant: the terminal is given back as it was, however the command ends. A daemon that goes away is said to be away;
//! what was last seen stays on the screen until it is back.

mod screen;
mod snapshot;

use std::io::IsTerminal;
use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};

use crate::cli::TopArgs;
use crate::commands::talk::CommandSession;
use crate::error::{Error, Exit, Result};
use snapshot::TopSnapshot;

/// What a key asks for.
enum KeyAction {
    Leave,
    Pause,
    Refresh,
    Redraw,
}

pub(crate) async fn run(talk: &CommandSession, args: &TopArgs) -> Result<Exit> {
    if !std::io::stdout().is_terminal() {
        return Err(
            Error::misused("ordo top needs a terminal").hint("ordo status -o json prints the same numbers once")
        );
    }
    // Whether there is a daemon is said before the screen is taken.
    let first = TopSnapshot::take(talk).await?;
    let terminal =
        ratatui::try_init().map_err(|error| Error::failed("the terminal cannot be used").detail(error.to_string()))?;
    let shown = show(talk, args, terminal, first).await;
    ratatui::restore();
    shown.map(|()| Exit::Done)
}

async fn show(
    talk: &CommandSession,
    args: &TopArgs,
    mut terminal: ratatui::DefaultTerminal,
    mut snapshot: TopSnapshot,
) -> Result<()> {
    let every = args.every.to_std().max(Duration::from_millis(100));
    let mut paused = false;
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (send, mut keys) = tokio::sync::mpsc::unbounded_channel();
    // Reading the keyboard blocks: the thread ends with the process.
    std::thread::spawn(move || {
        while let Some(action) = key_action()
            && send.send(action).is_ok()
        {}
    });
    loop {
        let drawn = terminal.draw(|frame| screen::draw(frame, &snapshot, talk, paused));
        drawn.map_err(|error| Error::failed("the terminal cannot be written to").detail(error.to_string()))?;
        let refresh = tokio::select! {
            action = keys.recv() => match action {
                None | Some(KeyAction::Leave) => return Ok(()),
                Some(KeyAction::Pause) => { paused = !paused; !paused }
                Some(KeyAction::Refresh) => true,
                Some(KeyAction::Redraw) => false,
            },
            _ = ticks.tick() => !paused,
        };
        if refresh {
            snapshot = snapshot.renewed(talk).await;
        }
    }
}

/// Waits for the next key, or for the size of the terminal to change. None when it cannot be read any more.
fn key_action() -> Option<KeyAction> {
    let Event::Key(key) = event::read().ok()? else { return Some(KeyAction::Redraw) };
    if key.kind == KeyEventKind::Release {
        return Some(KeyAction::Redraw);
    }
    Some(match key.code {
        KeyCode::Char('q') | KeyCode::Esc => KeyAction::Leave,
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => KeyAction::Leave,
        KeyCode::Char('p' | ' ') => KeyAction::Pause,
        KeyCode::Char('r') => KeyAction::Refresh,
        _ => KeyAction::Redraw,
    })
}
