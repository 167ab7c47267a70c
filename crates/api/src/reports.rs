//! What executors bring back: reports and log lines, many at once, each answered for itself.

use ordo_model::{FencingToken, LogStream, Millis, RunId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::problem::ProblemDetails;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ReportBatch)]
pub struct Reports {
    pub reports: Vec<Report>,
    /// The last lines of these runs, stored before the reports: one request instead of two.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chunks: Vec<LogChunk>,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    pub run_id: RunId,
    pub token: FencingToken,
    pub status: ReportStatus,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case", try_from = "StatusForm")]
pub enum ReportStatus {
    Completed {
        #[serde(default)]
        result: Value,
    },
    Failed {
        reason: String,
    },
    Cancelled {},
    /// Gives a run back that was not begun.
    Nack {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delay: Option<Millis>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

/// The same, read as the flat object that it is.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatusForm {
    r#type: StatusKind,
    result: Option<Value>,
    reason: Option<String>,
    delay: Option<Millis>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StatusKind {
    Completed,
    Failed,
    Cancelled,
    Nack,
}

impl TryFrom<StatusForm> for ReportStatus {
    type Error = String;

    fn try_from(form: StatusForm) -> Result<ReportStatus, String> {
        use StatusKind::{Cancelled, Completed, Failed, Nack};
        let given = [
            ("result", form.result.is_some(), &[Completed][..]),
            ("reason", form.reason.is_some(), &[Failed, Nack]),
            ("delay", form.delay.is_some(), &[Nack]),
        ];
        if let Some((name, _, _)) = given.iter().find(|(_, given, fits)| *given && !fits.contains(&form.r#type)) {
            return Err(format!("a report of this type has no {name}"));
        }
        match form.r#type {
            Completed => Ok(ReportStatus::Completed { result: form.result.unwrap_or_default() }),
            Failed => {
                let reason = form.reason.ok_or("a report of a failure needs its reason")?;
                Ok(ReportStatus::Failed { reason })
            }
            Cancelled => Ok(ReportStatus::Cancelled {}),
            Nack => Ok(ReportStatus::Nack { delay: form.delay, reason: form.reason }),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LogChunks {
    pub chunks: Vec<LogChunk>,
}

/// Some log lines of one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LogChunk {
    pub run_id: RunId,
    pub token: FencingToken,
    /// Counts the chunks of an attempt from 0.
    pub seq: u64,
    pub lines: Vec<NewLogLine>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewLogLine {
    /// Now when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    #[serde(default)]
    pub stream: LogStream,
    pub text: String,
}

/// One result for each report or chunk, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReportResults {
    pub results: Vec<ReportResult>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReportResult {
    pub run_id: RunId,
    /// 200, or the status of the problem.
    pub status: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ProblemDetails>,
}
