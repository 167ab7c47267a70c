//! What remote executors bring back: reports and log lines, many at once, each answered for itself.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ordo_engine::executors::{LogChunk, RemoteLine, RemoteReport, RemoteStatus, ReportError};
use ordo_engine::logs::LogStream;
use ordo_model::limits::REPORTS_MAX;
use ordo_model::{Millis, RunId, Timestamp, Token};
use ordo_store::Fault;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::App;
use crate::http::body::Body;
use crate::http::code::Code;
use crate::http::problem::Problem;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReportsForm {
    reports: Vec<ReportForm>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReportForm {
    run_id: RunId,
    token: Token,
    status: StatusForm,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum StatusForm {
    Completed {
        #[serde(default)]
        result: Value,
    },
    Failed {
        reason: String,
    },
    Cancelled {},
    Nack {
        #[serde(default)]
        delay: Option<Millis>,
        #[serde(default)]
        reason: Option<String>,
    },
}

impl From<ReportForm> for RemoteReport {
    fn from(form: ReportForm) -> RemoteReport {
        let status = match form.status {
            StatusForm::Completed { result } => RemoteStatus::Completed { result },
            StatusForm::Failed { reason } => RemoteStatus::Failed { reason },
            StatusForm::Cancelled {} => RemoteStatus::Cancelled,
            StatusForm::Nack { delay, reason } => RemoteStatus::Nack { delay: delay.unwrap_or(Millis::ZERO), reason },
        };
        RemoteReport { run_id: form.run_id, token: form.token, status }
    }
}

pub(crate) async fn report(State(app): State<App>, body: Body) -> Result<Response, Problem> {
    let ReportsForm { reports } = body.parse()?;
    check_count("reports", reports.len())?;
    let ids: Vec<RunId> = reports.iter().map(|report| report.run_id).collect();
    let answers = app.engine.report(reports.into_iter().map(RemoteReport::from).collect()).await;
    Ok(results(ids, answers))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LogsForm {
    chunks: Vec<ChunkForm>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChunkForm {
    run_id: RunId,
    token: Token,
    seq: u64,
    lines: Vec<LineForm>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LineForm {
    at: Option<Timestamp>,
    #[serde(default = "stdout")]
    stream: LogStream,
    text: String,
}

fn stdout() -> LogStream {
    LogStream::Stdout
}

pub(crate) async fn logs(State(app): State<App>, body: Body) -> Result<Response, Problem> {
    let LogsForm { chunks } = body.parse()?;
    check_count("chunks", chunks.len())?;
    let ids: Vec<RunId> = chunks.iter().map(|chunk| chunk.run_id).collect();
    let now = app.now();
    let line = |line: LineForm| RemoteLine { at: line.at.unwrap_or(now), stream: line.stream, text: line.text };
    let chunk = |chunk: ChunkForm| LogChunk {
        run_id: chunk.run_id,
        token: chunk.token,
        seq: chunk.seq,
        lines: chunk.lines.into_iter().map(line).collect(),
    };
    let answers = app.engine.store_logs(chunks.into_iter().map(chunk).collect()).await;
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
    let result = |(id, answer): (RunId, Result<(), ReportError>)| match answer {
        Ok(()) => json!({ "run_id": id, "status": 200 }),
        Err(error) => {
            let problem = problem(id, error);
            json!({ "run_id": id, "status": problem.code.status().as_u16(), "error": problem.to_json() })
        }
    };
    let results: Vec<Value> = ids.into_iter().zip(answers).map(result).collect();
    (StatusCode::OK, Json(json!({ "results": results }))).into_response()
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
