//! The log of a run: a page of it, or all of it as it is written.

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use ordo_api::Page;
use ordo_api::runs::LogLineView;
use ordo_engine::log_reader::{LogReader, NumberedLine};
use ordo_model::RunId;

use crate::api::runs::find;
use crate::api::runs::log_follow;
use crate::app::App;
use crate::auth::caller::Caller;
use crate::http::params::Params;
use crate::http::path::Named;
use crate::http::peer::Peer;
use crate::http::problem::Problem;
use crate::http::streams::Counting;
use crate::http::streams::sse::{last_event_id, wants_events};

pub(crate) fn view(NumberedLine { seq, line }: NumberedLine) -> LogLineView {
    LogLineView { id: seq.to_string(), at: line.at, stream: line.stream, text: line.text, attempt: line.attempt }
}

pub(crate) async fn read(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Named(id): Named<RunId>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    mut params: Params,
) -> Result<Response, Problem> {
    let follow = params.take::<bool>("follow")?.unwrap_or_else(|| wants_events(&headers));
    let limit = params.take_limit()?;
    let cursor = params.take_cursor::<u64>()?;
    params.finish()?;
    let run = find(&app, id).await?;
    if follow {
        let last = last_event_id(&headers)?.or(cursor);
        let closing = peer.map(|Extension(peer)| peer.closing).unwrap_or_default();
        let pass = app.streams.open(&app.engine, &caller, closing, Counting::Counted)?;
        return Ok(log_follow::answer(&app, run.id, last, pass));
    }
    page(&app, id, cursor, limit).await
}

async fn page(app: &App, id: RunId, after: Option<u64>, limit: usize) -> Result<Response, Problem> {
    let mut reader = LogReader::after(app.engine.queries().store().clone(), id, after);
    let mut lines = Vec::new();
    while lines.len() <= limit {
        let more = reader.next().await?;
        if more.is_empty() {
            break;
        }
        lines.extend(more);
    }
    let is_cut = lines.len() > limit;
    lines.truncate(limit);
    let items: Vec<LogLineView> = lines.into_iter().map(view).collect();
    let next_cursor = items.last().filter(|_| is_cut).map(|line| line.id.clone());
    Ok(Json(Page { items, next_cursor }).into_response())
}
