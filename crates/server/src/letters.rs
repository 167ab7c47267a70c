//! Letters: what was sent to people, what waits, and what was given up and can be replayed.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ordo_engine::Kept;
use ordo_model::EntityId;
use ordo_model::letter::{Letter, LetterCommand, LetterState};
use serde_json::{Value, json};

use crate::app::App;
use crate::code::Code;
use crate::hex;
use crate::incidents::KeyCursor;
use crate::params::{List, Params};
use crate::path::{LetterId, Named};
use crate::problem::Problem;

/// Without a filter the dead letters are shown: those that people must look at.
pub(crate) async fn list(State(app): State<App>, mut params: Params) -> Result<Response, Problem> {
    let state = params.take_text("state");
    let stream = params.take::<EntityId>("stream")?;
    let limit = params.take_limit()?;
    let after = params.take_cursor::<KeyCursor>()?.map(|cursor| cursor.0);
    params.finish()?;
    let queries = app.engine.queries();
    let found = match (state, stream) {
        (Some(_), Some(_)) => {
            return Err(Problem::field(Code::InvalidQuery, "stream", "give a stream or a state, one of them"));
        }
        (None, Some(stream)) => queries.letters_about(stream, after.as_deref(), limit).await?,
        (state, None) => {
            let code = state_code(state.as_deref().unwrap_or("parked"))?;
            queries.letters(code, after.as_deref(), limit).await?
        }
    };
    let items: Vec<Value> = found.items.iter().map(letter).collect();
    Ok(Json(List { items, next_cursor: found.next.map(|key| hex::encode(&key)) }).into_response())
}

fn state_code(name: &str) -> Result<u8, Problem> {
    let known = LetterState::NAMES.join(", ");
    LetterState::code_of(name)
        .ok_or_else(|| Problem::field(Code::InvalidQuery, "state", format!("must be one of {known}")))
}

pub(crate) async fn show(State(app): State<App>, Named(LetterId(id)): Named<LetterId>) -> Result<Response, Problem> {
    let found = app.engine.queries().object::<Letter>(id).await?;
    let kept = found.ok_or_else(|| Problem::new(Code::LetterNotFound, format!("there is no letter {id}")))?;
    let mut form = letter(&kept);
    form["message"] = json!(kept.message);
    Ok(Json(form).into_response())
}

pub(crate) async fn replay(State(app): State<App>, Named(LetterId(id)): Named<LetterId>) -> Result<Response, Problem> {
    let told = app.engine.ask::<Letter>(id, LetterCommand::Replay).await?;
    Ok((StatusCode::ACCEPTED, Json(letter(&told.kept))).into_response())
}

fn letter(kept: &Kept<Letter>) -> Value {
    let (next_try, settled_at, note) = match &kept.state {
        LetterState::Waiting { next_try } => (Some(*next_try), None, None),
        LetterState::Delivered { at, note } => (None, Some(*at), note.as_deref()),
        LetterState::Parked { at } => (None, Some(*at), None),
        LetterState::Forgotten => (None, None, None),
    };
    json!({
        "id": kept.id,
        "sender": kept.sender,
        "state": kept.state.name(),
        "attempts": kept.attempts,
        "last_error": kept.last_error,
        "next_try": next_try,
        "settled_at": settled_at,
        "note": note,
        "written_at": kept.written_at,
        "replayed": kept.replayed,
        "key": kept.message.key(),
        "stream": kept.message.entity().to_string(),
        "version": kept.message.version,
        "event": kept.message.event,
        "label": kept.message.label(),
    })
}
