//! A job as a row of a list.

use ordo_api::jobs::sentence;
use ordo_model::JobId;
use ordo_model::job::{Job, JobState, Phase};
use ordo_store::Fault;

use crate::pages::charts::heartbeat;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::html::Html;
use crate::pages::runs::outcome::Badge;

#[derive(Debug, Clone)]
pub(crate) struct JobRow {
    pub(crate) id: String,
    pub(crate) href: String,
    pub(crate) label: String,
    pub(crate) tool: String,
    pub(crate) group: Option<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) schedule: String,
    /// Only when it is not active.
    pub(crate) state: Option<Badge>,
    pub(crate) paused_reason: Option<String>,
    pub(crate) next: Option<Html>,
    pub(crate) last: Option<(Badge, Html)>,
    pub(crate) failures_in_row: u32,
    pub(crate) beats: Html,
    pub(crate) can_pause: bool,
    pub(crate) can_resume: bool,
    pub(crate) can_trigger: bool,
}

impl JobRow {
    /// Rows with the beats of their last runs, which are read together.
    pub(crate) async fn read_all(ctx: &PageContext, jobs: &[Job]) -> Result<Vec<JobRow>, Fault> {
        let ids: Vec<JobId> = jobs.iter().map(|job| job.id).collect();
        let runs = ctx.app.engine.queries().recent_statuses(&ids, heartbeat::BEATS).await?;
        Ok(jobs.iter().zip(runs).map(|(job, runs)| JobRow::of(ctx, job, heartbeat::draw(&runs))).collect())
    }

    fn of(ctx: &PageContext, job: &Job, beats: Html) -> JobRow {
        let times = ctx.times().of_job(job);
        let state = job.state();
        let paused_reason = match &job.phase {
            Phase::Paused { reason, .. } => reason.clone(),
            Phase::Active | Phase::Held | Phase::Cancelled => None,
        };
        let last = job.history.last.as_ref();
        JobRow {
            id: job.id.to_string(),
            href: ctx.link(&format!("/jobs/{}", job.id)),
            label: job.definition.label.clone(),
            tool: job.definition.tool_name.clone(),
            group: Some(job.definition.group.clone()).filter(|group| group != "default"),
            tags: job.definition.tags.iter().cloned().collect(),
            schedule: sentence(&job.definition),
            state: (state != JobState::Active).then(|| Badge::of_state(state)),
            paused_reason,
            next: job.next_tick_at().map(|at| times.relative(at)),
            last: last.map(|last| (Badge::named(&last.status), times.ago(last.at))),
            failures_in_row: job.history.failures_in_row,
            beats,
            can_pause: state == JobState::Active,
            can_resume: matches!(state, JobState::Paused | JobState::Held),
            can_trigger: state != JobState::Cancelled,
        }
    }
}
