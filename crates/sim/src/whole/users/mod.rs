//! The users: ask for things at random, and remember what they were answered.
//!
//! Invariant: every ask bears a marker that is found again in the log if it took effect.

mod jobs;
mod objects;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ordo_engine::{Engine, SubmitError};
use ordo_model::JobId;
use uuid::Uuid;

use super::facts::{Deed, WholeAnswer, Wish};
use super::node::NodeSlot;
use super::scene::Scene;
use super::wire::{Copies, NodeReply, call};

pub(crate) struct Users {
    pub(crate) scene: Arc<Scene>,
    pub(crate) nodes: Vec<Arc<NodeSlot>>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    jobs: Vec<JobId>,
    monitors: Vec<(String, Uuid)>,
}

impl Users {
    pub(crate) fn new(scene: &Arc<Scene>, nodes: &[Arc<NodeSlot>]) -> Users {
        Users { scene: scene.clone(), nodes: nodes.to_vec(), known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn some_node(&self) -> Arc<NodeSlot> {
        self.nodes[self.scene.with_rng(|rng| rng.place(self.nodes.len()))].clone()
    }

    pub(crate) fn new_id(&self) -> Uuid {
        let (high, low) = self.scene.with_rng(|rng| (rng.draw(), rng.draw()));
        let time = (self.scene.plan.begin_ms + self.scene.mono()).unsigned_abs() << 16;
        Uuid::from_u64_pair(time | (high & 0x0fff) | 0x7000, low)
    }

    /// Asks some node, and writes down what was asked and answered.
    async fn wish(
        &self,
        wish: Wish,
        ask: impl Fn(Engine) -> NodeReply<WholeAnswer> + Send + Sync + Clone + 'static,
    ) -> WholeAnswer {
        let op = self.scene.next_op();
        self.scene.fact(Deed::Asked { op, wish });
        let answer = call(&self.some_node(), Copies::One, ask).await.unwrap_or(WholeAnswer::Unknown);
        self.scene.fact(Deed::Answered { op, answer: answer.clone() });
        answer
    }

    /// All that is ever asked, each at its time.
    pub(crate) async fn act(self: Arc<Self>) {
        let plan = &self.scene.plan;
        for number in 0..plan.jobs {
            let (me, at) = (self.clone(), self.scene.between(0, plan.length_ms / 4));
            tokio::spawn(async move {
                me.scene.sleep(at).await;
                me.create_job(number).await;
            });
        }
        for number in 0..plan.monitors {
            tokio::spawn(self.clone().keep_monitor(number));
        }
        let knots: Vec<i64> = (0..3).map(|_| self.scene.between(0, plan.length_ms)).collect();
        for _ in 0..plan.commands {
            let near = self.scene.chance(500);
            let knot = self.scene.with_rng(|rng| *rng.pick(&knots));
            let at = if near { knot + self.scene.between(0, 400) } else { self.scene.between(0, plan.length_ms) };
            let me = self.clone();
            tokio::spawn(async move {
                me.scene.sleep(at).await;
                if !me.scene.is_calm() {
                    me.command().await;
                }
            });
        }
    }

    async fn command(&self) {
        match self.scene.between(0, 19) {
            0..=2 => self.trigger().await,
            3 | 4 => self.pause().await,
            5 | 6 => self.resume().await,
            7 | 8 => self.update().await,
            9 => self.cancel_run().await,
            10 => self.cancel().await,
            11 | 12 => self.start_incident().await,
            13 => self.add_note().await,
            14 => self.set_status().await,
            15 => self.acknowledge().await,
            _ => self.deliver().await,
        }
    }
}

/// What became of a command on whatever it was.
fn answered<T, R: std::error::Error>(
    answer: Result<T, SubmitError<R>>,
    made: impl FnOnce(T) -> Option<Uuid>,
) -> WholeAnswer {
    match answer {
        Ok(done) => WholeAnswer::Done(made(done)),
        Err(SubmitError::Refused(refusal)) => WholeAnswer::Refused(refusal.to_string()),
        Err(SubmitError::Duplicate(_)) => WholeAnswer::Before(Uuid::nil()),
        Err(_) => WholeAnswer::Unknown,
    }
}
