//! Making and changing a job by a form, with a preview of what it will do.

use askama::Template;
use axum::extract::Form;
use axum::http::StatusCode;
use axum::response::Response;
use ordo_api::jobs::{NewJob, sentence};
use ordo_engine::clock::new_id;
use ordo_engine::job_list::{JobFilter, JobQuery};
use ordo_model::JobId;
use ordo_model::job::{Command, Definition, Job};
use serde_json::{Map, Value};

use crate::api::jobs;
use crate::api::jobs::find;
use crate::api::jobs::tool_check;
use crate::http::params::Params;
use crate::http::path::Named;
use crate::http::problem::Problem;
use crate::pages::calendar::hint;
use crate::pages::jobs::actions::field;
use crate::pages::jobs::equivalents;
use crate::pages::jobs::fields::JobForm;
use crate::pages::jobs::job::{FireRow, preview_rows};
use crate::pages::jobs::more_fields::{AlertFields, MoreFields};
use crate::pages::layout::answer;
use crate::pages::layout::context::{Flash, PageContext};
use crate::pages::layout::moment::zone_of;
use crate::pages::layout::shell::{NavSection, PageShell, queries};
use crate::pages::objects::escalations::chain_names;

#[derive(Template)]
#[template(path = "job_form.html")]
struct FormPage {
    shell: PageShell,
    /// Where the form goes.
    target: String,
    back: String,
    is_new: bool,
    revision: u64,
    fields: JobForm,
    tools: Vec<String>,
    zones: Vec<String>,
    my_zone: String,
    errors: Vec<(&'static str, String)>,
    preview: FormPreview,
    escalations: Vec<String>,
}

impl FormPage {
    /// (name of the fields, the question, what was chosen)
    fn alerts(&self) -> [(&'static str, &'static str, &AlertFields); 2] {
        let more = &self.fields.more;
        [
            ("failure", "When a run fails after all retries", &more.on_failure),
            ("missed", "When a run is late or missed", &more.on_missed),
        ]
    }

    /// How an executor is chosen, by name and in words.
    fn routings(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("round", "each in its turn"),
            ("first", "the first by name"),
            ("last", "the last by name"),
            ("random", "any"),
            ("lfu", "the least often chosen"),
            ("lru", "the longest not chosen"),
            ("consistent_hash", "always the same"),
            ("failover", "the one heard of last"),
            ("busyover", "the first with a free slot"),
            ("sharding_broadcast", "all of them, each a share"),
        ]
    }

    fn error(&self, name: &str) -> &str {
        self.errors.iter().find(|(field, _)| *field == name).map_or("", |(_, message)| message)
    }
}

/// What the job as typed would do.
#[derive(Template)]
#[template(path = "job_preview.html")]
pub(crate) struct FormPreview {
    sentence: Option<String>,
    fires: Vec<FireRow>,
    zone: Option<String>,
    my_zone: String,
    cli: String,
    curl: String,
    wrong: Option<String>,
    errors: Vec<(&'static str, String)>,
    /// What it would meet in the week to come.
    hints: Vec<String>,
    calendar: String,
}

impl FormPreview {
    async fn of(ctx: &PageContext, fields: &JobForm) -> FormPreview {
        let mut preview = FormPreview {
            sentence: None,
            fires: Vec::new(),
            zone: None,
            my_zone: ctx.preferences.zone_name().to_owned(),
            cli: String::new(),
            curl: String::new(),
            wrong: None,
            errors: Vec::new(),
            hints: Vec::new(),
            calendar: ctx.link("/calendar"),
        };
        match checked(ctx, fields).await {
            Ok((typed, definition)) => {
                preview.fill(ctx, &definition);
                preview.cli = equivalents::cli(&typed);
                preview.curl = equivalents::curl(&typed, &ctx.app.base_path);
                // A form is shown all the same when nobody can look ahead.
                preview.hints = hint::hints(ctx, &definition).await.unwrap_or_default();
            }
            Err(problem) => {
                preview.errors = placed(fields, &problem);
                preview.wrong = Some(problem.detail);
                // The schedule can be read, or be wrong itself, though something else is missing.
                match with_stand_ins(ctx, fields).await {
                    Ok((_, definition)) => preview.fill(ctx, &definition),
                    Err(problem) => {
                        preview.errors.extend(placed(fields, &problem));
                        preview.wrong = Some(problem.detail);
                    }
                }
            }
        }
        preview
    }

    fn fill(&mut self, ctx: &PageContext, definition: &Definition) {
        self.sentence = Some(sentence(definition));
        self.zone = zone_of(&definition.trigger).map(str::to_owned);
        if let Some(schedule) = definition.trigger.schedule() {
            self.fires = preview_rows(ctx, schedule, uuid::Uuid::nil());
        }
    }
}

/// The job as it was typed, and as it would be made now.
async fn checked(ctx: &PageContext, fields: &JobForm) -> Result<(Definition, Definition), Problem> {
    let fields = with_ids(ctx, fields).await?;
    let NewJob { definition, .. } = jobs::read(fields.to_json(ctx.preferences.zone_name())?)?;
    tool_check::check(&ctx.app.engine, &definition, &definition.tool_input).await?;
    Ok((definition.clone(), definition.prepared(ctx.now)?))
}

/// The same with the ids of the jobs before it in its chain, which people name by their labels.
async fn with_ids(ctx: &PageContext, fields: &JobForm) -> Result<JobForm, Problem> {
    let mut ids = Vec::new();
    for name in fields.more.named_before() {
        ids.push(match name.parse::<JobId>() {
            Ok(id) => id.to_string(),
            Err(_) => id_of(ctx, name).await?,
        });
    }
    let more = MoreFields { after_jobs: ids.join("\n"), ..fields.more.clone() };
    Ok(JobForm { more, ..fields.clone() })
}

async fn id_of(ctx: &PageContext, label: &str) -> Result<String, Problem> {
    let filter = JobFilter { label: Some(label.to_owned()), ..JobFilter::default() };
    let found = queries(ctx).jobs(&JobQuery { filter, limit: 2, ..JobQuery::default() }).await?.items;
    let wrong = |message: String| Problem::field(ordo_api::Code::InvalidJob, "after_jobs", message);
    match found.as_slice() {
        [job] => Ok(job.id.to_string()),
        [] => Err(wrong(format!("there is no job {label:?}"))),
        [_, _, ..] => Err(wrong(format!("several jobs are called {label:?}: write the id"))),
    }
}

/// The same with a label and an action that are surely right.
async fn with_stand_ins(ctx: &PageContext, fields: &JobForm) -> Result<(Definition, Definition), Problem> {
    let fields = JobForm {
        label: "-".into(),
        action: "json".into(),
        tool_name: "noop".into(),
        tool_input: "{}".into(),
        ..fields.clone()
    };
    checked(ctx, &fields).await
}

/// What is wrong, each at its field of the form.
fn placed(fields: &JobForm, problem: &Problem) -> Vec<(&'static str, String)> {
    match problem.errors.is_empty() {
        true => vec![("", problem.detail.clone())],
        false => problem.errors.iter().map(|e| (fields.field_of(&e.field), e.message.clone())).collect(),
    }
}

async fn page(
    ctx: &PageContext,
    shell: PageShell,
    job: Option<&Job>,
    fields: JobForm,
    errors: Vec<(&'static str, String)>,
) -> Result<FormPage, Problem> {
    let own = job.map_or_else(|| "/jobs".to_owned(), |job| format!("/jobs/{}", job.id));
    let target = job.map_or_else(|| "/jobs/new".to_owned(), |job| format!("/jobs/{}/edit", job.id));
    Ok(FormPage {
        target: ctx.link(&target),
        back: ctx.link(&own),
        is_new: job.is_none(),
        revision: job.map_or(0, |job| job.revision),
        tools: ctx.app.engine.tools().keys().cloned().collect(),
        zones: ordo_model::zones::current().names().collect(),
        my_zone: ctx.preferences.zone_name().to_owned(),
        preview: FormPreview::of(ctx, &fields).await,
        escalations: chain_names(ctx).await?,
        shell,
        fields,
        errors,
    })
}

/// `GET /jobs/new`, with `copy` the job to begin with.
pub(crate) async fn blank(ctx: PageContext, mut params: Params) -> Result<Response, Problem> {
    ctx.operator()?;
    let fields = match params.take::<JobId>("copy")? {
        Some(id) => {
            let job = find(&ctx.app, id).await?;
            let fields = JobForm::of(&job.definition, &ctx.times(), ctx.preferences.zone_name());
            JobForm { label: format!("{} copy", fields.label), ..fields }
        }
        None => JobForm::blank(ctx.preferences.zone_name()),
    };
    let shell = PageShell::new(&ctx, NavSection::Jobs, "New job").await?;
    answer::ok(&page(&ctx, shell, None, fields, Vec::new()).await?)
}

/// `POST /jobs/preview`: the preview alone, for the script that shows it while somebody types.
pub(crate) async fn preview(ctx: PageContext, Form(pairs): Form<Vec<(String, String)>>) -> Result<Response, Problem> {
    answer::ok(&FormPreview::of(&ctx, &JobForm::read(&pairs)).await)
}

/// `POST /jobs/new`
pub(crate) async fn create(ctx: PageContext, Form(pairs): Form<Vec<(String, String)>>) -> Result<Response, Problem> {
    ctx.operator()?;
    let fields = JobForm::read(&pairs);
    let shell = PageShell::new(&ctx, NavSection::Jobs, "New job").await?;
    if field(&pairs, "only_preview").is_some() {
        return answer::ok(&page(&ctx, shell, None, fields, Vec::new()).await?);
    }
    match created(&ctx, &fields).await {
        Ok(job) => Ok(ctx.go(&format!("/jobs/{}", job.id), &Flash::good(format!("Created {}", job.definition.label)))),
        Err(problem) => refused(&ctx, shell, None, fields, &problem).await,
    }
}

async fn created(ctx: &PageContext, fields: &JobForm) -> Result<std::sync::Arc<Job>, Problem> {
    let fields = with_ids(ctx, fields).await?;
    let job: NewJob = jobs::read(fields.to_json(ctx.preferences.zone_name())?)?;
    let command = jobs::command(&ctx.app.engine, NewJob { held: fields.held, ..job }).await?;
    Ok(ctx.app.engine.submit(JobId(new_id()), command).await?.job)
}

/// The form as it was, with what is wrong.
async fn refused(
    ctx: &PageContext,
    shell: PageShell,
    job: Option<&Job>,
    fields: JobForm,
    problem: &Problem,
) -> Result<Response, Problem> {
    let errors = placed(&fields, problem);
    answer::page(StatusCode::UNPROCESSABLE_ENTITY, &page(ctx, shell, job, fields, errors).await?)
}

/// `GET /jobs/{id}/edit`
pub(crate) async fn edit(ctx: PageContext, Named(id): Named<JobId>) -> Result<Response, Problem> {
    ctx.operator()?;
    let job = find(&ctx.app, id).await?;
    let fields = JobForm::of(&job.definition, &ctx.times(), ctx.preferences.zone_name());
    let shell = PageShell::new(&ctx, NavSection::Jobs, format!("Edit {}", job.definition.label)).await?;
    answer::ok(&page(&ctx, shell, Some(&job), fields, Vec::new()).await?)
}

/// `POST /jobs/{id}/edit`
pub(crate) async fn change(
    ctx: PageContext,
    Named(id): Named<JobId>,
    Form(pairs): Form<Vec<(String, String)>>,
) -> Result<Response, Problem> {
    ctx.operator()?;
    let job = find(&ctx.app, id).await?;
    let fields = JobForm::read(&pairs);
    let shell = PageShell::new(&ctx, NavSection::Jobs, format!("Edit {}", job.definition.label)).await?;
    if field(&pairs, "only_preview").is_some() {
        return answer::ok(&page(&ctx, shell, Some(&job), fields, Vec::new()).await?);
    }
    let revision = field(&pairs, "revision").and_then(|text| text.parse().ok());
    match changed(&ctx, &job, &fields, revision).await {
        Ok(()) => Ok(ctx.go(&format!("/jobs/{id}"), &Flash::good("Saved"))),
        Err(problem) => refused(&ctx, shell, Some(&job), fields, &problem).await,
    }
}

async fn changed(ctx: &PageContext, job: &Job, fields: &JobForm, revision: Option<u64>) -> Result<(), Problem> {
    let zone = ctx.preferences.zone_name();
    let before = JobForm::of(&job.definition, &ctx.times(), zone).to_json(zone)?;
    let mut patch = difference(&before, with_ids(ctx, fields).await?.to_json(zone)?);
    if let (Some(before), Some(trigger)) = (before.get("trigger"), patch.get_mut("trigger")) {
        keep_moments(&job.definition, before, trigger);
    }
    if patch.is_empty() {
        return Ok(());
    }
    let definition = job.definition.patched(&patch)?;
    tool_check::check(&ctx.app.engine, &definition, &definition.tool_input).await?;
    ctx.app.engine.submit(job.id, Command::Update { patch, if_revision: revision, if_followed: None }).await?;
    Ok(())
}

/// Only what was changed: what the form does not show stays as it is.
fn difference(before: &Map<String, Value>, after: Map<String, Value>) -> Map<String, Value> {
    let gone = before.keys().filter(|key| !after.contains_key(*key)).map(|key| (key.clone(), Value::Null));
    let gone: Vec<(String, Value)> = gone.collect();
    after.into_iter().filter(|(key, value)| before.get(key) != Some(value)).chain(gone).collect()
}

/// A moment that nobody touched stays what it was: a clock on the wall does not tell the two hours of a repeated one apart.
fn keep_moments(definition: &Definition, before: &Value, after: &mut Value) {
    let stored = serde_json::to_value(&definition.trigger).unwrap_or_default();
    for name in ["at", "start", "end"] {
        if let (Some(shown), Some(typed), Some(exact)) = (before.get(name), after.get(name), stored.get(name))
            && shown == typed
        {
            after[name] = exact.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_was_changed_is_patched_and_what_was_emptied_is_reset() {
        let map = |value: Value| value.as_object().cloned().unwrap_or_default();
        let before = map(json!({ "label": "a", "description": "x", "priority": 5 }));
        let after = map(json!({ "label": "a", "priority": 6 }));
        assert_eq!(difference(&before, after), map(json!({ "priority": 6, "description": null })));
    }
}
