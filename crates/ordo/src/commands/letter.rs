//! `ordo letter list | replay`

use serde_json::Value;

use super::find::text;
use super::pages;
use super::talk::Talk;
use crate::cli::letter::{LetterCommand, LetterListArgs};
use crate::error::{Exit, Result};
use crate::output::{self, table, time};

pub(crate) async fn run(talk: &Talk, command: LetterCommand) -> Result<Exit> {
    match command {
        LetterCommand::List(args) => list(talk, &args).await,
        LetterCommand::Replay { letter } => replay(talk, &letter).await,
    }
}

async fn list(talk: &Talk, args: &LetterListArgs) -> Result<Exit> {
    let filters = [("state", Some(args.state.clone()))];
    let listed = pages::items(talk, "/v1/letters", &filters, args.pages.wanted()).await?;
    talk.list(&listed.items, || human(talk, &args.state, &listed.items))?;
    if listed.more {
        output::note(&format!("… and more: --all, or --limit {}", args.pages.limit.saturating_mul(4)));
    }
    Ok(Exit::Done)
}

fn human(talk: &Talk, state: &str, letters: &[Value]) -> String {
    if letters.is_empty() {
        return format!("No letters are {state}.\n");
    }
    let row = |letter: &Value| {
        let written = time::of(&letter["written_at"]).map(|at| time::relative(at, talk.now()));
        vec![
            text(letter, "sender"),
            text(letter, "event"),
            written.unwrap_or_default(),
            text(letter, "attempts"),
            text(letter, "id"),
            table::short(&text(letter, "last_error"), 60),
        ]
    };
    let names = ["SENDER", "EVENT", "WRITTEN", "TRIES", "ID", "LAST ERROR"];
    table::rows(&names, letters.iter().map(row).collect(), talk.paint)
}

async fn replay(talk: &Talk, id: &str) -> Result<Exit> {
    let letter = talk.post(&format!("/v1/letters/{id}/replay"), None).await?;
    talk.value(&letter, || format!("letter {id} is sent once more through {}", text(&letter, "sender")))?;
    Ok(Exit::Done)
}
