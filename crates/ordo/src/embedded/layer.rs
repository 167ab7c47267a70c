//! Middleware: what is done around every attempt, whatever its tool.
//!
//! Invariant: layers are entered in the order they were added and left in the opposite one; the tool is called at most once.

use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use ordo_engine::tool::{Failure, Tool, Work};
use serde_json::Value;

use super::Context;

pub(super) type LayerFuture = Pin<Box<dyn Future<Output = Result<Value, Failure>> + Send>>;
pub(super) type Layer = Arc<dyn Fn(Call) -> LayerFuture + Send + Sync>;

/// One attempt on its way to its tool.
pub struct Call {
    name: Arc<str>,
    work: Work,
    tool: Arc<dyn Tool>,
    layers: Arc<[Layer]>,
    /// How many layers it has passed.
    passed: usize,
}

impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call").field("tool", &self.name).field("run", &self.work.run_id).finish_non_exhaustive()
    }
}

impl Call {
    /// The name of the tool.
    pub fn tool_name(&self) -> &str {
        &self.name
    }

    /// The label of the job.
    pub fn label(&self) -> &str {
        &self.work.label
    }

    /// What the handler will know of the attempt.
    pub fn context(&self) -> Context {
        Context::of(self.work.clone())
    }

    /// What the tool will be given.
    pub fn input(&self) -> &Value {
        &self.work.input
    }

    /// Goes on: through the layers that are left, then to the tool.
    pub async fn proceed(mut self) -> Result<Value, Failure> {
        match self.layers.get(self.passed).cloned() {
            Some(layer) => {
                self.passed += 1;
                layer(self).await
            }
            None => self.tool.run(self.work).await,
        }
    }
}

/// A tool with layers around it.
pub(super) struct Layered {
    pub(super) name: Arc<str>,
    pub(super) tool: Arc<dyn Tool>,
    pub(super) layers: Arc<[Layer]>,
}

#[async_trait]
impl Tool for Layered {
    fn check(&self, input: &Value) -> Result<(), String> {
        self.tool.check(input)
    }

    async fn run(&self, work: Work) -> Result<Value, Failure> {
        let (name, tool, layers) = (self.name.clone(), self.tool.clone(), self.layers.clone());
        Call { name, work, tool, layers, passed: 0 }.proceed().await
    }

    async fn sweep(&self) -> Result<usize, std::io::Error> {
        self.tool.sweep().await
    }
}
