//! The first steps, until they are taken or somebody has had enough of them.
//!
//! Invariant: a step is ticked because of what the store says, not because somebody clicked.

use ordo_engine::run_list::RunFilter;

use crate::http::problem::Problem;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::shell::queries;

/// One step: what to do, where, and whether it is done.
pub(crate) struct FirstStep {
    pub(crate) words: &'static str,
    pub(crate) why: &'static str,
    pub(crate) href: String,
    pub(crate) is_done: bool,
}

/// The steps, if any is left to be taken; they are for whoever may take all of them.
pub(crate) async fn read(ctx: &PageContext, has_jobs: bool) -> Result<Vec<FirstStep>, Problem> {
    if !ctx.viewer.may_admin || ctx.preferences.hides_steps {
        return Ok(Vec::new());
    }
    let engine = &ctx.app.engine;
    let has_run = !queries(ctx).runs(&RunFilter::default(), None, 1).await?.items.is_empty();
    // The server's own token is always there.
    let has_others = engine.tokens().list(None, 2).await?.items.len() > 1;
    let is_told = !engine.senders().is_empty() || !queries(ctx).channels().await?.is_empty();
    let step = |words, why, path: &str, is_done| FirstStep { words, why, href: ctx.link(path), is_done };
    let steps = vec![
        step("Create a job", "A command or an HTTP request, and a schedule for it", "/jobs/new", has_jobs),
        step("See it run", "Its log and its result are on the page of the run", "/runs", has_run),
        step(
            "Be notified when it fails",
            "A channel sends incidents to Slack, by mail or to another system",
            "/channels",
            is_told,
        ),
        step(
            "Give others access",
            "A token for each person and program, with the role it needs",
            "/tokens/new",
            has_others,
        ),
    ];
    Ok(if steps.iter().all(|step| step.is_done) { Vec::new() } else { steps })
}
