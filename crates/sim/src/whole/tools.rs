//! The work itself, on a node: takes its time and ends well, badly, or not at all. Evidence outside the store.

use std::sync::Arc;

use async_trait::async_trait;
use ordo_engine::tool::{Failure, Tool, Work};
use ordo_model::RunId;
use serde_json::{Value, json};
use uuid::Uuid;

use super::facts::{Deed, WorkResult};
use super::generation::NodeGeneration;
use super::plan::FaultKind;
use super::scene::Scene;

pub(crate) struct SimTool {
    pub(crate) scene: Arc<Scene>,
    pub(crate) generation: Arc<NodeGeneration>,
}

#[async_trait]
impl Tool for SimTool {
    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }

    async fn run(&self, work: Work) -> Result<Value, Failure> {
        self.generation.alive(&self.scene).await;
        let (run, token) = (work.run_id, work.token.0);
        self.scene.fact(Deed::Executing { by: Uuid::nil(), run, token });
        let deaf = self.scene.strikes(FaultKind::DeafWork, 60);
        let end = tokio::select! {
            biased;
            () = work.cancel.cancelled(), if !deaf => WorkResult::Stopped,
            end = labour(&self.scene, run, token) => end,
        };
        self.generation.alive(&self.scene).await;
        self.scene.fact(Deed::Executed { run, token, end: end.clone() });
        match end {
            WorkResult::Well => Ok(json!({ "token": token })),
            WorkResult::Badly(reason) => Err(Failure::new(reason)),
            WorkResult::Stopped => Err(Failure::new("stopped")),
        }
    }
}

/// Work, wherever it is done.
pub(crate) async fn labour(scene: &Scene, run: RunId, token: u64) -> WorkResult {
    let longest = if scene.is_calm() { 60 } else { scene.with_rng(|rng| *rng.pick(&[10, 200, 5_000, 40_000])) };
    let longest = if scene.may(FaultKind::SlowExecutor) { longest * 4 } else { longest };
    scene.dawdle(longest).await;
    // In the calm everything that is asked for comes to its end.
    if !scene.is_calm() && scene.chance(250) {
        return WorkResult::Badly(format!("broke in {run} at token {token}"));
    }
    WorkResult::Well
}
