//! The network between those outside and a node: requests and answers are lost, doubled, delayed, and overtake each other.
//!
//! Invariant: whoever asks hears the answer of its own request or nothing; nothing may mean anything.

use std::pin::Pin;
use std::sync::Arc;

use ordo_engine::Engine;

use super::node::NodeSlot;
use super::plan::FaultKind;
use super::scene::Scene;

/// How long somebody waits for an answer that does not come.
const PATIENCE_MS: i64 = 3_000;

pub(crate) type NodeReply<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Whether a request may come twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copies {
    One,
    Many,
}

/// Asks a node. None: nothing is known of what became of it.
pub(crate) async fn call<T: Send + 'static>(
    node: &Arc<NodeSlot>,
    copies: Copies,
    ask: impl Fn(Engine) -> NodeReply<T> + Send + Sync + Clone + 'static,
) -> Option<T> {
    let scene = node.scene.clone();
    if scene.strikes(FaultKind::MessageLost, 60) {
        scene.sleep(PATIENCE_MS).await;
        return None;
    }
    if copies == Copies::Many && scene.strikes(FaultKind::MessageDoubled, 80) {
        let (node, ask, scene) = (node.clone(), ask.clone(), scene.clone());
        tokio::spawn(async move {
            travel(&scene).await;
            drop(answer(&node, &ask).await);
        });
    }
    travel(&scene).await;
    let answer = answer(node, &ask).await;
    if answer.is_none() || scene.strikes(FaultKind::AnswerLost, 60) {
        scene.sleep(PATIENCE_MS).await;
        return None;
    }
    travel(&scene).await;
    answer
}

async fn travel(scene: &Scene) {
    if scene.strikes(FaultKind::MessageDelayed, 150) {
        scene.dawdle(2_000).await;
    }
    if scene.strikes(FaultKind::MessageReordered, 60) {
        scene.dawdle(12_000).await;
    }
    scene.dawdle(8).await;
}

/// What the node answers, if it lives long enough.
async fn answer<T>(node: &NodeSlot, ask: &impl Fn(Engine) -> NodeReply<T>) -> Option<T> {
    let running = node.running()?;
    tokio::select! {
        biased;
        () = running.generation.ended() => None,
        answer = ask(running.engine.clone()) => Some(answer),
    }
}
