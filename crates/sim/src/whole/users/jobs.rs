//! Jobs, as users ask for them: here and elsewhere, by schedule, by hook and by hand.

use std::collections::BTreeSet;

use ordo_model::JobId;
use ordo_model::job::{Command, Definition};
use serde_json::{Map, Value, json};

use super::{Users, answered};
use crate::rng::SimRng;
use crate::whole::executors::{FAR_GROUP, FAR_TOOL};
use crate::whole::facts::{WholeAnswer, Wish};
use crate::whole::users::objects::HOOK;
use crate::workload::{self, WorkloadSpan};

/// How often a creation is asked for again until it is known what became of it.
const CREATE_TRIES: usize = 30;

/// By then every job is paused once all is well, or nothing ever is again.
const PAUSED_WITHIN_MS: i64 = 5 * 60_000;

const ROUTINGS: [&str; 10] =
    ["first", "last", "round", "random", "lfu", "lru", "consistent_hash", "failover", "busyover", "sharding_broadcast"];

/// Whose work a run is: what runs of different jobs share limits by.
const TENANTS: [&str; 2] = ["north", "south"];

impl Users {
    fn span(&self) -> WorkloadSpan {
        WorkloadSpan {
            now_ms: self.scene.plan.begin_ms + self.scene.mono(),
            length_ms: self.scene.plan.length_ms.max(4 * 60_000),
        }
    }

    fn marker(&self) -> String {
        format!("op-{}", self.scene.next_op())
    }

    fn definition(&self, marker: &str) -> Definition {
        let span = self.span();
        let (elsewhere, hooked) = (self.scene.plan.executors > 0 && self.scene.chance(450), self.scene.chance(250));
        let before = self.known().jobs.clone();
        self.scene.with_rng(|rng| {
            let definition = workload::definition(rng, marker, span);
            let mut patch: Map<String, Value> = Map::new();
            patch.insert("retention".into(), json!({ "runs": rng.skewed(5, 200), "age": "2h" }));
            patch.insert("tool_input".into(), json!({ "by": marker, "tenant": *rng.pick(&TENANTS) }));
            if rng.chance(250) {
                let limit = json!({ "key": "/tenant", "max": rng.skewed(1, 4) });
                patch.insert("concurrency_key".into(), limit);
            }
            if rng.chance(200) {
                // Jobs count together where they have the same window: few different ones.
                let (most, per) = (rng.between(2, 6), (rng.skewed(500, 3_000) + 999) / 1_000);
                let limit = json!({ "key": "/tenant", "limit": most, "per": format!("{per}s") });
                patch.insert("rate_limit".into(), limit);
            }
            if !hooked && !before.is_empty() && rng.chance(350) {
                patch.insert("trigger".into(), json!({ "type": "manual" }));
                patch.insert("after".into(), after(rng, &before));
            }
            if elsewhere {
                let routing = *rng.pick(&ROUTINGS);
                patch.insert("group".into(), json!(FAR_GROUP));
                patch.insert("tool_name".into(), json!(FAR_TOOL));
                patch.insert("routing".into(), json!(routing));
                patch.insert("timeout".into(), json!(format!("{}ms", rng.skewed(2_000, 120_000))));
            }
            if hooked {
                patch.insert("trigger".into(), json!({ "type": "webhook", "hook": HOOK }));
            }
            if rng.chance(500) {
                let incident = json!({ "after": rng.between(1, 3), "resolve_on_recovery": rng.chance(500) });
                patch.insert("on_failure".into(), json!({ "incident": incident }));
            }
            if rng.chance(300) {
                patch.insert("on_missed".into(), json!({ "incident": {} }));
            }
            definition.patched(&patch).unwrap_or_else(|error| panic!("the workload writes what can be read: {error:?}"))
        })
    }

    pub(super) async fn create_job(&self, _number: usize) {
        let (job, marker) = (JobId(self.new_id()), self.marker());
        let definition = self.definition(&marker);
        self.known().jobs.push(job);
        for _ in 0..CREATE_TRIES {
            let wish = Wish::CreateJob { job, marker: marker.clone(), definition: Box::new(definition.clone()) };
            let definition = definition.clone();
            let answer = self.wish(wish, move |engine| {
                let command = Command::Schedule { definition: Box::new(definition.clone()), held: false };
                Box::pin(async move { answered(engine.submit(job, command).await, |_| None) })
            });
            if answer.await != WholeAnswer::Unknown || self.scene.is_calm() {
                return;
            }
            self.scene.sleep(self.scene.between(200, 4_000)).await;
        }
    }

    fn some_job(&self) -> Option<JobId> {
        let jobs = self.known().jobs.clone();
        (!jobs.is_empty()).then(|| self.scene.with_rng(|rng| *rng.pick(&jobs)))
    }

    async fn order(&self, wish: Wish, job: JobId, command: Command) -> WholeAnswer {
        self.wish(wish, move |engine| {
            let command = command.clone();
            Box::pin(async move { answered(engine.submit(job, command).await, |_| None) })
        })
        .await
    }

    pub(super) async fn trigger(&self) {
        let Some(job) = self.some_job() else { return };
        let marker = self.marker();
        let tenant = self.scene.with_rng(|rng| *rng.pick(&TENANTS));
        let input = json!({ "by": marker, "tenant": tenant });
        let command = Command::Trigger { tool_input: Some(input), traceparent: None };
        self.order(Wish::Trigger { job, marker }, job, command).await;
    }

    pub(super) async fn pause(&self) {
        if let Some(job) = self.some_job() {
            self.pause_job(job).await;
        }
    }

    async fn pause_job(&self, job: JobId) -> WholeAnswer {
        let marker = self.marker();
        let command = Command::Pause { reason: Some(marker.clone()) };
        self.order(Wish::Pause { job, marker }, job, command).await
    }

    /// Every job, each until it is known that it is paused, or is not there. Where no node comes up again nobody is told.
    pub(crate) async fn pause_all(&self) {
        let (jobs, since) = (self.known().jobs.clone(), self.scene.mono());
        for job in jobs {
            while self.pause_job(job).await == WholeAnswer::Unknown {
                if self.scene.mono() - since > PAUSED_WITHIN_MS {
                    return;
                }
                self.scene.sleep(1_000).await;
            }
        }
    }

    pub(super) async fn resume(&self) {
        let Some(job) = self.some_job() else { return };
        self.order(Wish::Resume { job }, job, Command::Resume).await;
    }

    pub(super) async fn update(&self) {
        let Some(job) = self.some_job() else { return };
        let (marker, span) = (self.marker(), self.span());
        let mut patch = self.scene.with_rng(|rng| workload::patch(rng, &marker, span));
        // What is elsewhere or hooked stays so: a schedule would make it another kind of job.
        patch.remove("trigger");
        patch.remove("retention");
        self.order(Wish::Update { job, marker }, job, Command::Update { patch, if_revision: None, if_followed: None })
            .await;
    }

    pub(super) async fn cancel(&self) {
        if !self.scene.chance(300) {
            return;
        }
        let Some(job) = self.some_job() else { return };
        let marker = self.marker();
        let command = Command::Cancel { reason: Some(marker.clone()) };
        self.order(Wish::Cancel { job, marker }, job, command).await;
    }

    pub(super) async fn cancel_run(&self) {
        let Some((job, run_id)) = self.scene.some_run() else { return };
        let marker = self.marker();
        let command = Command::CancelRun { run_id, reason: marker.clone() };
        self.order(Wish::CancelRun { job, run: run_id, marker }, job, command).await;
    }
}

/// Ends of one or two jobs that were asked for before. One that was refused cannot be followed.
fn after(rng: &mut SimRng, before: &[JobId]) -> Value {
    let jobs: BTreeSet<JobId> = (0..2).map(|_| *rng.pick(before)).collect();
    let (mode, on) = (*rng.pick(&["any", "any", "all"]), *rng.pick(&["success", "failure", "either"]));
    json!({ "jobs": jobs, "mode": mode, "on": on })
}
