//! One order to many jobs: those that were ticked, or all that match a search.
//!
//! Invariant: nothing is done before a page has said what to how many; one confirmation reaches at most
//! [`BULK_MAX`] jobs and says how many it reached.

use askama::Template;
use axum::extract::Form;
use axum::response::Response;
use ordo_api::Code;
use ordo_engine::SubmitError;
use ordo_engine::job_list::{JobFilter, JobOrder, JobQuery};
use ordo_engine::page::Cursor;
use ordo_model::JobId;
use ordo_model::job::{Command, Job, JobState};
use ordo_store::Fault;

use crate::http::problem::Problem;
use crate::pages::layout::answer;
use crate::pages::layout::context::{Flash, PageContext};
use crate::pages::layout::search;
use crate::pages::layout::shell::{NavSection, PageShell, queries};
use crate::pages::runs::outcome::grouped;

/// How many jobs one confirmed order reaches.
pub(crate) const BULK_MAX: usize = 20_000;
const AT_ONCE: usize = 500;
const NAMED: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BulkAction {
    Pause,
    Resume,
    Trigger,
    Cancel,
}

impl BulkAction {
    fn named(name: &str) -> Result<BulkAction, Problem> {
        match name {
            "pause" => Ok(BulkAction::Pause),
            "resume" => Ok(BulkAction::Resume),
            "trigger" => Ok(BulkAction::Trigger),
            "cancel" => Ok(BulkAction::Cancel),
            _ => Err(Problem::field(Code::InvalidBody, "order", "must be pause, resume, trigger or cancel")),
        }
    }

    /// (name, title, done)
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            BulkAction::Pause => ("pause", "Pause", "Paused"),
            BulkAction::Resume => ("resume", "Resume", "Resumed"),
            BulkAction::Trigger => ("trigger", "Trigger", "Triggered"),
            BulkAction::Cancel => ("cancel", "Cancel", "Cancelled"),
        }
    }

    /// Whether the order changes anything for a job in this state.
    fn concerns(self, state: JobState) -> bool {
        match self {
            BulkAction::Pause => matches!(state, JobState::Active | JobState::Held),
            BulkAction::Resume => matches!(state, JobState::Paused | JobState::Held),
            BulkAction::Trigger => state != JobState::Cancelled,
            BulkAction::Cancel => !matches!(state, JobState::Cancelled | JobState::Finished),
        }
    }

    fn command(self, reason: Option<String>) -> Command {
        match self {
            BulkAction::Pause => Command::Pause { reason },
            BulkAction::Resume => Command::Resume,
            BulkAction::Trigger => Command::Trigger { tool_input: None, traceparent: None },
            BulkAction::Cancel => Command::Cancel { reason },
        }
    }
}

/// Which jobs are meant.
enum Meant {
    These(Vec<JobId>),
    Matching(JobFilter),
}

struct BulkRequest {
    order: BulkAction,
    meant: Meant,
    q: String,
    back: String,
    reason: Option<String>,
    /// At most so many.
    limit: usize,
    is_confirmed: bool,
}

impl BulkRequest {
    fn read(fields: &[(String, String)]) -> Result<BulkRequest, Problem> {
        let field = |name: &str| fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let ids = fields.iter().filter(|(key, _)| key == "id").filter_map(|(_, id)| id.parse().ok()).collect();
        let q = field("q").unwrap_or_default().to_owned();
        let unread = |message: String| Problem::field(Code::InvalidQuery, "q", message);
        let meant = match field("scope") {
            Some("all") => Meant::Matching(search::parse(&q).map_err(unread)?),
            Some(_) | None => Meant::These(ids),
        };
        let limit = field("limit").and_then(|text| text.parse().ok()).unwrap_or(BULK_MAX).clamp(1, BULK_MAX);
        Ok(BulkRequest {
            order: BulkAction::named(field("order").unwrap_or_default())?,
            meant,
            q,
            back: field("back").unwrap_or("/jobs").to_owned(),
            reason: field("reason").map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned),
            limit,
            is_confirmed: field("confirmed").is_some(),
        })
    }
}

#[derive(Template)]
#[template(path = "bulk.html")]
struct BulkPage {
    shell: PageShell,
    name: &'static str,
    title: &'static str,
    count: String,
    /// More than can be reached at once.
    is_cut: bool,
    is_all: bool,
    q: String,
    back: String,
    ids: Vec<String>,
    named: Vec<String>,
    unnamed: usize,
    max: usize,
    takes_reason: bool,
}

/// `POST /jobs/bulk`: first asks, then does.
pub(crate) async fn order(ctx: PageContext, Form(fields): Form<Vec<(String, String)>>) -> Result<Response, Problem> {
    ctx.operator()?;
    let asked = BulkRequest::read(&fields)?;
    if matches!(&asked.meant, Meant::These(ids) if ids.is_empty()) {
        return Ok(ctx.go(&asked.back, &Flash::bad("Choose at least one job first")));
    }
    if asked.is_confirmed { carry_out(&ctx, &asked).await } else { ask(&ctx, asked).await }
}

async fn ask(ctx: &PageContext, asked: BulkRequest) -> Result<Response, Problem> {
    let (mut count, mut named) = (0, Vec::new());
    let mut walk = Walk::new(&asked);
    while let Some(jobs) = walk.next(ctx, asked.order).await? {
        count += jobs.len();
        named.extend(jobs.iter().take(NAMED.saturating_sub(named.len())).map(|job| job.definition.label.clone()));
        if count >= BULK_MAX {
            break;
        }
    }
    let (name, title, _) = asked.order.words();
    if count == 0 {
        return Ok(ctx.go(&asked.back, &Flash::bad(format!("There is nothing to {name} among them"))));
    }
    let ids = match &asked.meant {
        Meant::These(ids) => ids.iter().map(JobId::to_string).collect(),
        Meant::Matching(_) => Vec::new(),
    };
    let page = BulkPage {
        shell: PageShell::new(ctx, NavSection::Jobs, format!("{title} jobs")).await?,
        name,
        title,
        count: grouped(count.min(BULK_MAX)),
        is_cut: count >= BULK_MAX,
        is_all: ids.is_empty(),
        unnamed: count - named.len(),
        max: count.min(BULK_MAX),
        takes_reason: matches!(asked.order, BulkAction::Pause | BulkAction::Cancel),
        q: asked.q,
        back: asked.back,
        ids,
        named,
    };
    answer::ok(&page)
}

async fn carry_out(ctx: &PageContext, asked: &BulkRequest) -> Result<Response, Problem> {
    let (mut done, mut refused) = (0, 0);
    let mut walk = Walk::new(asked);
    while let Some(mut jobs) = walk.next(ctx, asked.order).await? {
        jobs.truncate(asked.limit - done);
        let orders = jobs.iter().map(|job| (job.id, asked.order.command(asked.reason.clone()))).collect();
        for answer in ctx.app.engine.submit_all(orders).await {
            match answer {
                Ok(_) => done += 1,
                // Somebody was quicker; the others are still meant.
                Err(SubmitError::Refused(_)) => refused += 1,
                Err(error) => return Err(error.into()),
            }
        }
        if done >= asked.limit {
            break;
        }
    }
    let (_, _, word) = asked.order.words();
    let noun = if done == 1 { "job" } else { "jobs" };
    let rest = if refused > 0 { format!("; {refused} could not be") } else { String::new() };
    Ok(ctx.go(&asked.back, &Flash::good(format!("{word} {} {noun}{rest}", grouped(done)))))
}

/// Goes through the jobs that are meant, some at a time.
struct Walk<'a> {
    meant: &'a Meant,
    after: Option<Cursor>,
    given: usize,
    is_over: bool,
}

impl<'a> Walk<'a> {
    fn new(asked: &'a BulkRequest) -> Walk<'a> {
        Walk { meant: &asked.meant, after: None, given: 0, is_over: false }
    }

    /// The next jobs that the order concerns, possibly none; nothing when all were given.
    async fn next(&mut self, ctx: &PageContext, order: BulkAction) -> Result<Option<Vec<Job>>, Fault> {
        if self.is_over {
            return Ok(None);
        }
        let found = match self.meant {
            Meant::These(ids) => {
                let some = &ids[self.given..ids.len().min(self.given + AT_ONCE)];
                self.given += some.len();
                self.is_over = self.given >= ids.len();
                queries(ctx).load_jobs(some).await?.into_iter().flatten().collect()
            }
            Meant::Matching(filter) => {
                let (filter, after) = (filter.clone(), self.after.take());
                let query = JobQuery { filter, order: JobOrder::Label, after, limit: AT_ONCE };
                let page = queries(ctx).jobs(&query).await?;
                self.is_over = page.next.is_none();
                self.after = page.next;
                page.items
            }
        };
        Ok(Some(found.into_iter().filter(|job| order.concerns(job.state())).collect()))
    }
}
