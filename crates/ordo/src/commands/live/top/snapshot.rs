//! What the screen shows, as of one moment.

use serde_json::Value;

use crate::commands::talk::CommandSession;
use crate::error::Result;

/// As many as a tall terminal shows.
pub(super) const LISTED: usize = 60;
/// The longest page: under load many of the newest runs wait or run, and what has ended is behind them.
const PAGE_MAX: usize = 200;
/// The statuses of incidents that have not ended.
const UNRESOLVED: [&str; 2] = ["open", "mitigating"];

#[derive(Debug, Clone, Default)]
pub(super) struct TopSnapshot {
    pub(super) status: Value,
    pub(super) running: Vec<Value>,
    pub(super) pending: Vec<Value>,
    pub(super) latest: Vec<Value>,
    /// Active jobs, the next to fire first.
    pub(super) next: Vec<Value>,
    /// Those that are open or being mitigated.
    pub(super) incidents: usize,
    /// Why the daemon could not be asked.
    pub(super) away: Option<String>,
}

impl TopSnapshot {
    pub(super) async fn take(talk: &CommandSession) -> Result<TopSnapshot> {
        let list = async |path: &str| -> Result<Vec<Value>> {
            let page = talk.get(path).await?;
            Ok(page["items"].as_array().cloned().unwrap_or_default())
        };
        let mut next = list(&format!("/v1/jobs?order=next&state=active&limit={PAGE_MAX}")).await?;
        next.retain(|job| job["next_tick_at"].is_string());
        next.sort_by(|a, b| a["next_tick_at"].as_str().cmp(&b["next_tick_at"].as_str()));
        next.truncate(LISTED);
        let mut incidents = 0;
        for status in UNRESOLVED {
            incidents += list(&format!("/v1/incidents?status={status}&limit={LISTED}")).await?.len();
        }
        Ok(TopSnapshot {
            status: talk.get("/v1/status").await?,
            running: list(&format!("/v1/runs?status=running&limit={LISTED}")).await?,
            pending: list(&format!("/v1/runs?status=pending&limit={LISTED}")).await?,
            latest: ended(list(&format!("/v1/runs?limit={PAGE_MAX}")).await?),
            next,
            incidents,
            away: None,
        })
    }

    /// Anew, or as it was with what stands in the way.
    pub(super) async fn renewed(self, talk: &CommandSession) -> TopSnapshot {
        match TopSnapshot::take(talk).await {
            Ok(snapshot) => snapshot,
            Err(error) => TopSnapshot { away: Some(error.summary()), ..self },
        }
    }
}

fn ended(mut runs: Vec<Value>) -> Vec<Value> {
    runs.retain(|run| !["running", "pending"].contains(&run["status"]["type"].as_str().unwrap_or_default()));
    runs.truncate(LISTED);
    runs
}
