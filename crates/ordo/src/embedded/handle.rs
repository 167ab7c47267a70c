//! A job of the program with the types of its tool: what chains, calls and results are held to.
//!
//! Invariant: the types are those of the key that the job was made with.

use std::marker::PhantomData;
use std::ops::Deref;

use ordo_model::job::Job;
use ordo_model::{JobId, RunId};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Error;

/// A job that is stored, with the types of what its tool takes and returns. It reads as the [`Job`] it was then.
///
/// ```
/// use ordo::{Context, JobHandle, Ordo, ToolKey};
///
/// const DOUBLE: ToolKey<u32, u32> = ToolKey::new("double");
/// # async fn example() -> Result<(), ordo::Error> {
/// let ordo = Ordo::in_memory().handle(DOUBLE, |n, _: Context| async move { Ok::<_, String>(2 * n) }).start().await?;
/// let job: JobHandle<u32, u32> = ordo.ensure(DOUBLE.job("double", &1)).await?.into_job();
/// assert_eq!(job.definition.label, "double");
/// assert_eq!(ordo.call(&job, &21).await?, 42);
/// # ordo.shutdown(std::time::Duration::ZERO).await;
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
pub struct JobHandle<I = Value, O = Value> {
    job: Job,
    types: PhantomData<fn(I) -> O>,
}

impl<I, O> JobHandle<I, O> {
    pub(super) fn new(job: Job) -> JobHandle<I, O> {
        JobHandle { job, types: PhantomData }
    }

    /// The id by which it is stored.
    pub fn id(&self) -> JobId {
        self.job.id
    }
}

impl<I, O> Deref for JobHandle<I, O> {
    type Target = Job;

    fn deref(&self) -> &Job {
        &self.job
    }
}

impl<I, O> Clone for JobHandle<I, O> {
    fn clone(&self) -> JobHandle<I, O> {
        JobHandle::new(self.job.clone())
    }
}

impl<I, O> PartialEq for JobHandle<I, O> {
    fn eq(&self, other: &JobHandle<I, O>) -> bool {
        self.job == other.job
    }
}

impl<I, O> std::fmt::Debug for JobHandle<I, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("JobHandle").field(&self.job.id).field(&self.job.definition.label).finish()
    }
}

/// How a run of a job ended that this one comes [after](super::JobBuilder::after): an element of the field `after` of the
/// handler's input.
///
/// ```
/// use ordo::Upstream;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Extract {
///     rows: u64,
/// }
///
/// /// What the handler of the next step takes.
/// #[derive(Serialize, Deserialize)]
/// struct Render {
///     title: String,
///     /// Filled in by Ordo; empty in the job itself.
///     #[serde(default, skip_serializing)]
///     after: Vec<Upstream<Extract>>,
/// }
/// # let ended = r#"[{"job_id": "0197f0c5-0000-7000-8000-000000000000", "label": "extract",
/// #     "run_id": "0197f0c5-0000-7000-8000-000000000001", "status": "completed", "result": {"rows": 7}}]"#;
/// # let render = Render { title: String::new(), after: serde_json::from_str(ended).unwrap() };
/// let rows: u64 = render.after.iter().filter_map(Upstream::result).map(|extract| extract.rows).sum();
/// # assert_eq!(rows, 7);
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(bound(deserialize = "O: DeserializeOwned"))]
pub struct Upstream<O = Value> {
    /// The job that ended.
    pub job_id: JobId,
    /// Its label.
    pub label: String,
    /// The run that ended.
    pub run_id: RunId,
    /// `completed`, `failed` or `cancelled`.
    pub status: String,
    #[serde(default = "none")]
    result: Option<O>,
    /// Set instead of the result where that is too large to come along: [`Ordo::run`](super::Ordo::run) has it.
    #[serde(default)]
    pub result_bytes: Option<u64>,
    /// Why it failed or was cancelled.
    #[serde(default)]
    pub reason: Option<String>,
}

fn none<O>() -> Option<O> {
    None
}

impl<O> Upstream<O> {
    /// What its handler returned, if it completed and the result came along.
    pub fn result(&self) -> Option<&O> {
        self.result.as_ref()
    }

    /// The same, or why there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Failed`] with the reason.
    pub fn completed(&self) -> Result<&O, Error> {
        let why = || match (&self.reason, self.result_bytes) {
            (Some(reason), _) => format!("{} {}: {reason}", self.label, self.status),
            (None, Some(bytes)) => format!("{} returned {bytes} bytes, too many to come along", self.label),
            (None, None) => format!("{} {}", self.label, self.status),
        };
        self.result.as_ref().ok_or_else(|| Error::Failed(why()))
    }
}
