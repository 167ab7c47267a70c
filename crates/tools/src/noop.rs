//! `noop`: does nothing, for benchmarks and tests.

use async_trait::async_trait;
use ordo_engine::tool::{Failure, Tool, Work};
use serde_json::Value;

#[derive(Debug, Clone, Copy, Default)]
pub struct Noop;

#[async_trait]
impl Tool for Noop {
    fn check(&self, _input: &Value) -> Result<(), String> {
        Ok(())
    }

    async fn run(&self, _work: Work) -> Result<Value, Failure> {
        Ok(Value::Null)
    }
}
