//! A job that a program writes down.

use std::marker::PhantomData;
use std::time::Duration;

use ordo_model::job::{
    After, AfterMode, AfterOn, Block, ConcurrencyKey, Definition, IncidentPolicy, Misfire, RateLimit, Reaction, Retry,
    Routing, Trigger, UniqueKey,
};
use ordo_model::limits::BACKOFF_MAX;
use ordo_model::{JobId, Timestamp, strict};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::schedules::millis;
use super::{Error, JobHandle};

/// A job to be scheduled, with the types of its tool's input and result. Without a trigger it runs only when it is triggered.
///
/// ```
/// use std::time::Duration;
/// use ordo::{Block, Cron, Misfire, ToolKey, ZoneName};
///
/// const REPORT: ToolKey<String, u64> = ToolKey::new("report");
///
/// let nightly = REPORT
///     .job("nightly report", &"sales".to_owned())
///     .on(Cron::daily(2, 0)?.zone(ZoneName::new("Europe/Berlin")?))
///     .attempts(3, Duration::from_secs(60))
///     .timeout(Duration::from_secs(600))
///     .block(Block::Discard)
///     .misfire(Misfire::FireOnceNow)
///     .idempotent();
/// # Ok::<(), ordo::Error>(())
/// ```
pub struct JobBuilder<I = Value, O = Value> {
    fields: Map<String, Value>,
    wrong: Option<String>,
    types: PhantomData<fn(I) -> O>,
}

impl JobBuilder {
    /// A job of this name that uses this tool, whose types nobody knows. Prefer [`ToolKey::job`](super::ToolKey::job).
    pub fn new(label: impl Into<String>, tool: impl Into<String>) -> JobBuilder {
        JobBuilder::typed(label, tool)
    }

    /// What the tool is given.
    #[must_use]
    pub fn input(self, input: &impl Serialize) -> JobBuilder {
        self.given(input)
    }
}

impl<I, O> JobBuilder<I, O> {
    pub(super) fn typed(label: impl Into<String>, tool: impl Into<String>) -> JobBuilder<I, O> {
        let job = JobBuilder { fields: Map::new(), wrong: None, types: PhantomData };
        job.with("label", json!(label.into()))
            .with("tool_name", json!(tool.into()))
            .with("trigger", json!({ "type": "manual" }))
    }

    pub(super) fn given(mut self, input: &impl Serialize) -> JobBuilder<I, O> {
        match serde_json::to_value(input) {
            Ok(input) => self.with("tool_input", input),
            Err(error) => {
                self.wrong = Some(format!("the input cannot be written down: {error}"));
                self
            }
        }
    }

    /// When it runs: [`Every`](super::Every), [`Cron`](super::Cron) or [`At`](super::At).
    #[must_use]
    pub fn on(self, schedule: impl Into<Trigger>) -> JobBuilder<I, O> {
        self.with("trigger", json!(schedule.into()))
    }

    /// Runs for every delivery of this webhook. Only where a server receives them: see `ordo hook`.
    #[must_use]
    pub fn on_hook(self, slug: impl Into<String>) -> JobBuilder<I, O> {
        self.on(Trigger::Webhook { hook: slug.into() })
    }

    /// Fires again and again, the first time after one interval.
    #[must_use]
    pub fn every(self, interval: Duration) -> JobBuilder<I, O> {
        self.with("trigger", json!({ "type": "scheduled", "every": millis(interval) }))
    }

    /// Fires once.
    #[must_use]
    pub fn at(self, at: Timestamp) -> JobBuilder<I, O> {
        self.on(super::At(at))
    }

    /// Fires by a cron expression in an IANA time zone, both checked when the job is scheduled. [`JobBuilder::on`] takes one
    /// that is checked before.
    #[must_use]
    pub fn cron(self, expression: &str, timezone: &str) -> JobBuilder<I, O> {
        self.with("trigger", json!({ "type": "scheduled", "cron": expression, "timezone": timezone }))
    }

    /// A description for people.
    #[must_use]
    pub fn description(self, text: impl Into<String>) -> JobBuilder<I, O> {
        self.with("description", json!(text.into()))
    }

    /// Where to read more about it: a runbook, a dashboard.
    #[must_use]
    pub fn description_url(self, url: impl Into<String>) -> JobBuilder<I, O> {
        self.with("description_url", json!(url.into()))
    }

    /// The words by which people find it together with others: `nightly`, `team:billing`.
    #[must_use]
    pub fn tags<T: Into<String>>(self, tags: impl IntoIterator<Item = T>) -> JobBuilder<I, O> {
        let tags: Vec<String> = tags.into_iter().map(Into::into).collect();
        self.with("tags", json!(tags))
    }

    /// Failures open an incident.
    #[must_use]
    pub fn on_failure(self, incident: IncidentPolicy) -> JobBuilder<I, O> {
        self.with("on_failure", json!(Reaction { incident }))
    }

    /// Occurrences that were missed open an incident.
    #[must_use]
    pub fn on_missed(self, incident: IncidentPolicy) -> JobBuilder<I, O> {
        self.with("on_missed", json!(Reaction { incident }))
    }

    /// How long one attempt may take; an hour without it.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> JobBuilder<I, O> {
        self.with("timeout", json!(millis(timeout)))
    }

    /// 0 to 9: among waiting runs the highest goes first.
    #[must_use]
    pub fn priority(self, priority: u8) -> JobBuilder<I, O> {
        self.with("priority", json!(priority))
    }

    /// What to do when it is due while it still runs.
    #[must_use]
    pub fn block(self, block: Block) -> JobBuilder<I, O> {
        self.with("block", json!(block))
    }

    /// What to do about occurrences that were missed.
    #[must_use]
    pub fn misfire(self, misfire: Misfire) -> JobBuilder<I, O> {
        self.with("misfire", json!(misfire))
    }

    /// The group of executors that may run it; `default` without it, which is this program.
    #[must_use]
    pub fn group(self, group: impl Into<String>) -> JobBuilder<I, O> {
        self.with("group", json!(group.into()))
    }

    /// Which executor of the group gets a run; [`Routing::ShardingBroadcast`] gives each of them its share.
    #[must_use]
    pub fn routing(self, routing: Routing) -> JobBuilder<I, O> {
        self.with("routing", json!(routing))
    }

    /// Running it twice does no harm: an attempt that a crash cut off is tried again.
    #[must_use]
    pub fn idempotent(self) -> JobBuilder<I, O> {
        self.with("idempotent", json!(true))
    }

    /// Within its window there is one job with this key, and one run that was asked for with the same input's key.
    #[must_use]
    pub fn unique(self, key: &UniqueKey) -> JobBuilder<I, O> {
        self.with("unique_key", json!(key))
    }

    /// At most so many runs at once that have the key in common, of whatever jobs.
    #[must_use]
    pub fn concurrency(self, key: &ConcurrencyKey) -> JobBuilder<I, O> {
        self.with("concurrency_key", json!(key))
    }

    /// At most so many runs in a time that have the key in common.
    #[must_use]
    pub fn rate_limit(self, limit: &RateLimit) -> JobBuilder<I, O> {
        self.with("rate_limit", json!(limit))
    }

    /// A run that nobody took in this time is given up.
    #[must_use]
    pub fn expire_after(self, length: Duration) -> JobBuilder<I, O> {
        self.with("expire_after", json!(millis(length)))
    }

    /// Runs when this job has completed; how it ended is the field `after` of its input, a list of
    /// [`Upstream`](super::Upstream).
    #[must_use]
    pub fn after<I2, O2>(self, upstream: &JobHandle<I2, O2>) -> JobBuilder<I, O> {
        self.after_jobs([upstream.id()], AfterMode::All, AfterOn::Success)
    }

    /// The same for several jobs: when all of them have ended, or each time one has; and which ends count.
    #[must_use]
    pub fn after_jobs(self, jobs: impl IntoIterator<Item = JobId>, mode: AfterMode, on: AfterOn) -> JobBuilder<I, O> {
        self.with("after", json!(After { jobs: jobs.into_iter().collect(), mode, on }))
    }

    /// How many finished runs are kept, and for how long.
    #[must_use]
    pub fn keep(self, runs: u32, age: Duration) -> JobBuilder<I, O> {
        self.with("retention", json!({ "runs": runs, "age": millis(age) }))
    }

    /// Failed runs are tried so often in all, with this wait before the second try, doubled each time.
    #[must_use]
    pub fn attempts(self, attempts: u32, backoff: Duration) -> JobBuilder<I, O> {
        self.retry(Retry { max_attempts: attempts, backoff: millis(backoff), max_backoff: BACKOFF_MAX })
    }

    /// How often failed runs are tried, and how long they wait in between.
    #[must_use]
    pub fn retry(self, retry: Retry) -> JobBuilder<I, O> {
        self.with("retry", json!(retry))
    }

    /// Any other field of a job, as in the HTTP API.
    #[must_use]
    pub fn with(mut self, field: &str, value: Value) -> JobBuilder<I, O> {
        self.fields.insert(field.to_owned(), value);
        self
    }
}

impl<I, O> Clone for JobBuilder<I, O> {
    fn clone(&self) -> JobBuilder<I, O> {
        JobBuilder { fields: self.fields.clone(), wrong: self.wrong.clone(), types: PhantomData }
    }
}

impl<I, O> std::fmt::Debug for JobBuilder<I, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("JobBuilder").field(&self.fields).finish()
    }
}

impl<I, O> TryFrom<JobBuilder<I, O>> for Definition {
    type Error = Error;

    fn try_from(job: JobBuilder<I, O>) -> Result<Definition, Error> {
        match job.wrong {
            Some(wrong) => Err(Error::Invalid(wrong)),
            None => {
                strict::from_value(Value::Object(job.fields)).map_err(|misread| Error::Invalid(misread.to_string()))
            }
        }
    }
}
