//! A crontab is pasted, shown as the jobs that it would become, and made into them.
//!
//! Invariant: nothing is made before it was shown, and a job whose label is there already is never made twice: importing
//! the same text again makes nothing.

use std::collections::BTreeSet;

use askama::Template;
use axum::extract::Form;
use axum::http::StatusCode;
use axum::response::Response;
use ordo_api::jobs::{NewJob, sentence};
use ordo_engine::clock::new_id;
use ordo_engine::job_list::{JobFilter, JobQuery};
use ordo_import::crontab::{CrontabFormat, CrontabOrigin, Detected, Machine, detect, read};
use ordo_import::{Imported, JobDraft};
use ordo_model::JobId;
use ordo_model::job::{Command, Definition, Trigger};
use ordo_model::limits::PAGE_MAX;
use serde_json::Value;

use crate::api::jobs;
use crate::http::problem::Problem;
use crate::pages::jobs::actions::{FormFields, field};
use crate::pages::layout::answer;
use crate::pages::layout::context::{Flash, PageContext};
use crate::pages::layout::html::Html;
use crate::pages::layout::shell::{NavSection, PageShell, queries};
use crate::pages::runs::outcome::{Counted, counted};

/// How many jobs one import makes; a longer crontab is for the command line.
const JOBS_MAX: usize = 500;
const NAME_DEFAULT: &str = "crontab";

#[derive(Template)]
#[template(path = "import.html")]
struct ImportPage {
    shell: PageShell,
    text: String,
    name: String,
    zone: String,
    format: String,
    held: bool,
    zones: Vec<String>,
    wrong: Option<String>,
    found: Option<Found>,
    cli: String,
}

/// What the text says.
struct Found {
    rows: Vec<ImportRow>,
    refused: Vec<(String, String)>,
    notes: Vec<String>,
    /// How many would be made.
    new: usize,
    summary: String,
}

struct ImportRow {
    place: String,
    label: String,
    /// The job as a sentence, or why it is none.
    schedule: String,
    next: Option<Html>,
    command: String,
    warnings: Vec<String>,
    is_wrong: bool,
    is_there: bool,
}

/// What was typed.
struct Pasted {
    text: String,
    name: String,
    zone: String,
    format: String,
    held: bool,
}

impl Pasted {
    fn read(ctx: &PageContext, fields: &[(String, String)]) -> Pasted {
        let text = |name: &str| field(fields, name).unwrap_or_default().trim().to_owned();
        let or = |given: String, default: &str| if given.is_empty() { default.to_owned() } else { given };
        Pasted {
            text: field(fields, "crontab").unwrap_or_default().replace("\r\n", "\n"),
            name: or(text("name"), NAME_DEFAULT),
            zone: or(text("timezone"), ctx.preferences.zone_name()),
            format: text("format"),
            held: field(fields, "held").is_some(),
        }
    }

    fn imported(&self) -> Imported {
        let Detected { format, notes } = match self.format.as_str() {
            "user" => Detected { format: CrontabFormat::User, notes: Vec::new() },
            "system" => Detected { format: CrontabFormat::System, notes: Vec::new() },
            // Nothing is known of the machine that the text comes from: it must speak for itself.
            _ => detect(&self.text, &Machine { users: BTreeSet::from(["root".to_owned()]), is_program: &|_| false }),
        };
        let origin = CrontabOrigin { format, name: self.name.clone(), zone: self.zone.clone(), cwd: None };
        let mut imported = read(&self.text, &origin);
        imported.notes.splice(0..0, notes);
        imported
    }

    /// What does the same on the machine with the crontab.
    fn cli(&self) -> String {
        let held = if self.held { " --held" } else { "" };
        format!(
            "crontab -l | ordo import crontab - --name {} --tz {}{held} --dry-run",
            quoted(&self.name),
            quoted(&self.zone)
        )
    }
}

/// `GET /jobs/import`
pub(crate) async fn blank(ctx: PageContext) -> Result<Response, Problem> {
    let pasted = Pasted::read(&ctx, &[]);
    answer::ok(&page(&ctx, pasted, None, None).await?)
}

/// `POST /jobs/import`: shows what it would do, or does it.
pub(crate) async fn take(ctx: PageContext, Form(fields): FormFields) -> Result<Response, Problem> {
    ctx.operator()?;
    let pasted = Pasted::read(&ctx, &fields);
    let refuse = |wrong: String| (StatusCode::UNPROCESSABLE_ENTITY, wrong);
    let imported = pasted.imported();
    let wrong = if ordo_model::zones::current().get(&pasted.zone).is_none() {
        Some(refuse(format!("There is no time zone {:?}.", pasted.zone)))
    } else if imported.drafts.is_empty() && imported.refused.is_empty() {
        Some(refuse("There is no job in it: paste what crontab -l prints.".to_owned()))
    } else if imported.drafts.len() > JOBS_MAX {
        Some(refuse(format!("It has more than {JOBS_MAX} jobs: use the command line.")))
    } else {
        None
    };
    if let Some((status, wrong)) = wrong {
        return answer::page(status, &page(&ctx, pasted, Some(wrong), None).await?);
    }
    let there = labels_there(&ctx, &pasted.name).await?;
    if field(&fields, "do").is_some() {
        return made(&ctx, &imported, &there, pasted.held).await;
    }
    let found = found(&ctx, &imported, &there);
    answer::ok(&page(&ctx, pasted, None, Some(found)).await?)
}

async fn page(
    ctx: &PageContext,
    pasted: Pasted,
    wrong: Option<String>,
    found: Option<Found>,
) -> Result<ImportPage, Problem> {
    Ok(ImportPage {
        shell: PageShell::new(ctx, NavSection::Jobs, "Import a crontab").await?,
        cli: pasted.cli(),
        zones: ordo_model::zones::current().names().collect(),
        text: pasted.text,
        name: pasted.name,
        zone: pasted.zone,
        format: pasted.format,
        held: pasted.held,
        wrong,
        found,
    })
}

/// The labels of the jobs that an import under this name has made.
async fn labels_there(ctx: &PageContext, name: &str) -> Result<BTreeSet<String>, Problem> {
    let filter = JobFilter { label_prefix: format!("{name}/"), ..JobFilter::default() };
    let mut query = JobQuery { filter, limit: PAGE_MAX, ..JobQuery::default() };
    let mut labels = BTreeSet::new();
    while labels.len() <= 2 * JOBS_MAX {
        let page = queries(ctx).jobs(&query).await?;
        labels.extend(page.items.iter().map(|job| job.definition.label.clone()));
        match page.next {
            Some(next) => query.after = Some(next),
            None => break,
        }
    }
    Ok(labels)
}

fn found(ctx: &PageContext, imported: &Imported, there: &BTreeSet<String>) -> Found {
    let rows: Vec<ImportRow> = imported.drafts.iter().map(|draft| row(ctx, draft, there)).collect();
    let new = rows.iter().filter(|row| !row.is_wrong && !row.is_there).count();
    let old = rows.iter().filter(|row| row.is_there).count();
    let mut summary = format!("{} would be made", counted(Counted::exactly(new), "job", "jobs"));
    if old > 0 {
        summary.push_str(&format!(
            ", {} there already",
            if old == 1 { "one is".to_owned() } else { format!("{old} are") }
        ));
    }
    let refused = imported.refused.iter().map(|one| (one.place.clone(), one.why.clone())).collect();
    Found { rows, refused, notes: imported.notes.clone(), new, summary }
}

fn row(ctx: &PageContext, draft: &JobDraft, there: &BTreeSet<String>) -> ImportRow {
    let definition = draft.normal(ctx.now).and_then(|fields| {
        serde_json::from_value::<Definition>(Value::Object(fields)).map_err(|error| error.to_string())
    });
    let (schedule, next, is_wrong) = match &definition {
        Ok(definition) => (sentence(definition), next(ctx, &definition.trigger), false),
        Err(why) => (why.clone(), None, true),
    };
    let input = draft.fields.get("tool_input");
    let part = |name: &str| input.and_then(|input| input.get(name)).and_then(Value::as_str);
    ImportRow {
        place: draft.place.clone(),
        label: draft.label.clone(),
        schedule,
        next,
        command: part("script").or_else(|| part("command")).unwrap_or_default().to_owned(),
        warnings: draft.warnings.clone(),
        is_wrong,
        is_there: there.contains(&draft.label),
    }
}

fn next(ctx: &PageContext, trigger: &Trigger) -> Option<Html> {
    let next = trigger.schedule()?.first_at_or_after(ctx.now, uuid::Uuid::nil())?;
    Some(ctx.times().relative(next.due))
}

async fn made(
    ctx: &PageContext,
    imported: &Imported,
    there: &BTreeSet<String>,
    held: bool,
) -> Result<Response, Problem> {
    let (mut commands, mut refused) = (Vec::new(), 0);
    // A line that is no job was shown as such, and is left out.
    let wanted = |draft: &&JobDraft| !there.contains(&draft.label) && draft.normal(ctx.now).is_ok();
    for draft in imported.drafts.iter().filter(wanted) {
        // What the server does not take is counted: the others are made all the same.
        match command(ctx, draft, held).await {
            Ok(command) => commands.push((JobId(new_id()), command)),
            Err(_) => refused += 1,
        }
    }
    if commands.is_empty() && refused == 0 {
        return Ok(ctx.go("/jobs", &Flash::good("Nothing to import: every job of it is there already")));
    }
    let answers = ctx.app.engine.submit_all(commands).await;
    let done = answers.iter().filter(|answer| answer.is_ok()).count();
    let words = counted(Counted::exactly(done), "job", "jobs");
    refused += answers.len() - done;
    let flash = match refused {
        0 => Flash::good(format!("Imported {words}{}", if held { ", held until you resume them" } else { "" })),
        _ if done == 0 => Flash::bad("None of the jobs could be made"),
        _ => Flash::bad(format!("Imported {words}; {refused} could not be made")),
    };
    Ok(ctx.go("/jobs?q=&sort=new", &flash))
}

async fn command(ctx: &PageContext, draft: &JobDraft, held: bool) -> Result<Command, Problem> {
    let job: NewJob = jobs::read(draft.body(held).as_object().cloned().unwrap_or_default())?;
    jobs::command(&ctx.app.engine, job).await
}

/// As a shell reads it back.
fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@+".contains(&byte);
    match text.bytes().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}
