//! The jobs before and behind one in its chain.

use ordo_model::JobId;
use ordo_model::job::{AfterMode, AfterOn, Job};

use crate::http::problem::Problem;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::shell::queries;

/// How many jobs behind one are named.
const FOLLOWERS_SHOWN: usize = 50;

pub(crate) struct Chain {
    /// When it goes on, in words.
    pub(crate) rule: String,
    pub(crate) before: Vec<ChainLink>,
    pub(crate) behind: Vec<ChainLink>,
}

pub(crate) struct ChainLink {
    pub(crate) label: String,
    pub(crate) href: String,
    /// What is known of it in the round that is under way.
    pub(crate) note: Option<String>,
}

/// None for a job that stands alone.
pub(crate) async fn read(ctx: &PageContext, job: &Job) -> Result<Option<Chain>, Problem> {
    let followers = if job.followed { queries(ctx).followers(job.id).await? } else { Vec::new() };
    if job.definition.after.is_none() && followers.is_empty() {
        return Ok(None);
    }
    let mut chain = Chain { rule: rule(job), before: Vec::new(), behind: Vec::new() };
    for upstream in job.definition.after.iter().flat_map(|after| &after.jobs) {
        let arrived = job.arrived.iter().find(|end| end.job_id == *upstream);
        let note = arrived.map(|end| format!("{} in this round", end.status));
        chain.before.push(link(ctx, *upstream, note).await?);
    }
    for follower in followers.into_iter().take(FOLLOWERS_SHOWN) {
        chain.behind.push(link(ctx, follower, None).await?);
    }
    Ok(Some(chain))
}

fn rule(job: &Job) -> String {
    let Some(after) = &job.definition.after else { return String::new() };
    let end = match after.on {
        AfterOn::Success => "completed",
        AfterOn::Failure => "failed",
        AfterOn::Either => "ended, however",
    };
    match (after.mode, after.jobs.len()) {
        (AfterMode::All, 2..) => format!("when all of them have {end}"),
        (AfterMode::Any, 2..) => format!("whenever one of them has {end}"),
        (AfterMode::All | AfterMode::Any, _) => format!("when it has {end}"),
    }
}

async fn link(ctx: &PageContext, id: JobId, note: Option<String>) -> Result<ChainLink, Problem> {
    let label = ctx.app.engine.job(id).await?.map(|job| job.definition.label.clone());
    let label = label.unwrap_or_else(|| format!("{id} (forgotten)"));
    Ok(ChainLink { label, href: ctx.link(&format!("/jobs/{id}")), note })
}
