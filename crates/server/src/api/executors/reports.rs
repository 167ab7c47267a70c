//! What remote executors bring back: reports and log lines, many at once, each answered for itself.

use axum::Json;
use axum::extract::{Extension, State};
use axum::response::{IntoResponse, Response};
use ordo_api::Code;
use ordo_api::reports::{LogChunks, NewLogLine, Report, ReportResult, ReportResults, ReportStatus, Reports};
use ordo_engine::executors::{RemoteLine, RemoteLogChunk, RemoteReport, RemoteStatus, ReportError};
use ordo_model::limits::REPORTS_MAX;
use ordo_model::{Millis, RunId};
use ordo_store::Fault;

use crate::app::{App, Signed};
use crate::auth::caller::Caller;
use crate::http::body::Body;
use crate::http::problem::Problem;

fn remote(report: Report) -> RemoteReport {
    let status = match report.status {
        ReportStatus::Completed { result } => RemoteStatus::Completed { result },
        ReportStatus::Failed { reason } => RemoteStatus::Failed { reason },
        ReportStatus::Cancelled {} => RemoteStatus::Cancelled,
        ReportStatus::Nack { delay, reason } => RemoteStatus::Nack { delay: delay.unwrap_or(Millis::ZERO), reason },
    };
    RemoteReport { run_id: report.run_id, token: report.token, status }
}

pub(crate) async fn report(
    Signed(app): Signed,
    Extension(caller): Extension<Caller>,
    body: Body,
) -> Result<Response, Problem> {
    let Reports { reports, chunks } = body.parse()?;
    check_count("reports", reports.len())?;
    check_count("chunks", chunks.len())?;
    let ids: Vec<RunId> = reports.iter().map(|report| report.run_id).collect();
    let (lines, reports) = (log_chunks(&app, chunks), reports.into_iter().map(remote).collect());
    let answers = app.engine.report_with_logs(caller.speaker(), lines, reports).await;
    Ok(results(ids, answers))
}

fn log_chunks(app: &App, chunks: Vec<ordo_api::reports::LogChunk>) -> Vec<RemoteLogChunk> {
    let now = app.now();
    let line = |line: NewLogLine| RemoteLine { at: line.at.unwrap_or(now), stream: line.stream, text: line.text };
    let chunk = |chunk: ordo_api::reports::LogChunk| RemoteLogChunk {
        run_id: chunk.run_id,
        token: chunk.token,
        seq: chunk.seq,
        lines: chunk.lines.into_iter().map(line).collect(),
    };
    chunks.into_iter().map(chunk).collect()
}

pub(crate) async fn logs(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    body: Body,
) -> Result<Response, Problem> {
    let LogChunks { chunks } = body.parse()?;
    check_count("chunks", chunks.len())?;
    let ids: Vec<RunId> = chunks.iter().map(|chunk| chunk.run_id).collect();
    let answers = app.engine.store_logs(caller.speaker(), log_chunks(&app, chunks)).await;
    Ok(results(ids, answers))
}

fn check_count(field: &str, count: usize) -> Result<(), Problem> {
    match count <= REPORTS_MAX {
        true => Ok(()),
        false => Err(Problem::field(Code::InvalidBody, field, format!("has more than {REPORTS_MAX} entries"))),
    }
}

/// One answer for each, in order: `{"run_id", "status": 200}` or `{"run_id", "status", "error": problem}`.
fn results(ids: Vec<RunId>, answers: Vec<Result<(), ReportError>>) -> Response {
    let result = |(run_id, answer): (RunId, Result<(), ReportError>)| match answer {
        Ok(()) => ReportResult { run_id, status: 200, error: None },
        Err(error) => {
            let error = problem(run_id, error).details();
            ReportResult { run_id, status: error.status, error: Some(error) }
        }
    };
    let results = ids.into_iter().zip(answers).map(result).collect();
    Json(ReportResults { results }).into_response()
}

fn problem(id: RunId, error: ReportError) -> Problem {
    let text = error.to_string();
    match error {
        ReportError::NoSuchRun => Problem::no_run(id),
        ReportError::Stale => Problem::new(Code::StaleToken, text),
        ReportError::DelayTooLong => Problem::field(Code::InvalidBody, "delay", text),
        ReportError::Submit(error) => error.into(),
        ReportError::Store(fault) => Fault::clone(&fault).into(),
    }
}
