//! An async function as a tool, with its input already read.
//!
//! Invariant: an input that the function cannot take is refused when the job is scheduled, not when it fires.

use std::fmt::Display;
use std::marker::PhantomData;

use async_trait::async_trait;
use ordo_engine::tool::{Failure, Tool, Work};
use ordo_model::LogStream;
use ordo_model::{JobId, RunId, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What a handler knows of the attempt that it works on.
#[derive(Debug, Clone)]
pub struct Context {
    work: Work,
}

impl Context {
    pub(super) fn of(work: Work) -> Context {
        Context { work }
    }

    /// The label of the job.
    pub fn label(&self) -> &str {
        &self.work.label
    }

    /// The job.
    pub fn job_id(&self) -> JobId {
        self.work.job_id
    }

    /// The run.
    pub fn run_id(&self) -> RunId {
        self.work.run_id
    }

    /// Which try it is, from 1.
    pub fn attempt(&self) -> u32 {
        self.work.attempt
    }

    /// Grows with every attempt of the job: others can refuse one that is no longer the current one.
    pub fn fence(&self) -> u64 {
        self.work.token.0
    }

    /// The nominal time; None when somebody asked for the run.
    pub fn scheduled_for(&self) -> Option<Timestamp> {
        self.work.scheduled_for
    }

    /// Writes a line to the log of the run.
    pub fn log(&self, text: &str) {
        self.work.log.line(LogStream::Stdout, text);
    }

    /// Waits until the attempt is to stop. Its future is dropped then anyway.
    pub async fn cancelled(&self) {
        self.work.cancel.cancelled().await;
    }
}

/// A function that takes an input of type `I`.
pub(super) struct TypedHandler<F, I> {
    function: F,
    input: PhantomData<fn(I)>,
}

impl<F, I> TypedHandler<F, I> {
    pub(super) fn new(function: F) -> TypedHandler<F, I> {
        TypedHandler { function, input: PhantomData }
    }
}

#[async_trait]
impl<F, I, R, O, E> Tool for TypedHandler<F, I>
where
    F: Fn(I, Context) -> R + Send + Sync + 'static,
    I: DeserializeOwned + Send + 'static,
    R: Future<Output = Result<O, E>> + Send + 'static,
    O: Serialize + Send + 'static,
    E: Display + Send + 'static,
{
    fn check(&self, input: &Value) -> Result<(), String> {
        I::deserialize(input).map(drop).map_err(|error| error.to_string())
    }

    async fn run(&self, work: Work) -> Result<Value, Failure> {
        let input = I::deserialize(&work.input).map_err(|error| Failure::new(format!("input: {error}")))?;
        let cancel = work.cancel.clone();
        let working = (self.function)(input, Context::of(work));
        let done = tokio::select! {
            done = working => done,
            () = cancel.cancelled() => return Err(Failure::new("stopped")),
        };
        let result = done.map_err(|error| Failure::new(error.to_string()))?;
        serde_json::to_value(result)
            .map_err(|error| Failure::new(format!("the result cannot be written down: {error}")))
    }
}
