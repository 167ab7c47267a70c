//! The authorisation matrix: every operation of the route table, held against every role, and against what is one's own
//! and what is not.
//!
//! Invariant: who may do what is written down here once more, apart from the table that the server goes by. An operation
//! that is not placed does not compile.

use axum::body::Body;
use axum::http::Request;
use ordo_api::Operation;
use ordo_model::Role;
use ordo_model::api_token::ApiToken;
use serde_json::{Value, json};

use crate::executors::render;
use ordo_server::testing::{TestResponse, World, text};

/// Who may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    /// Without a token; what is called proves itself in another way, or tells nothing.
    Everybody,
    /// Whoever reads: all but executors.
    Readers,
    /// Readers, and executors as far as it is their own.
    ReadersAndHolders,
    Operators,
    HookManagers,
    Executors,
    Admins,
}

/// On what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// On all there is, or on nothing in particular: whoever may do it to one may do it to all.
    All,
    /// Only on what is one's own; an admin on all.
    Own,
}

impl Who {
    fn has(self, role: Role) -> bool {
        let roles: &[Role] = match self {
            Who::Everybody => &Role::ALL,
            Who::ReadersAndHolders => &[Role::Admin, Role::Operator, Role::Viewer, Role::HookManager, Role::Executor],
            Who::Readers => &[Role::Admin, Role::Operator, Role::Viewer, Role::HookManager],
            Who::Operators => &[Role::Admin, Role::Operator],
            Who::HookManagers => &[Role::Admin, Role::HookManager],
            Who::Executors => &[Role::Admin, Role::Executor],
            Who::Admins => &[Role::Admin],
        };
        roles.contains(&role)
    }
}

/// Where each operation stands. A new one belongs here, with a thought for what is one's own.
const fn placed(operation: Operation) -> (Who, What) {
    use Operation::*;
    match operation {
        CallHook
        | Ping
        | PingWithText
        | PingStart
        | PingStartWithText
        | PingFail
        | PingFailWithText
        | PingLog
        | PingLogWithText
        | PingStatusOrName
        | PingStatusOrNameWithText
        | PingByName
        | PingByNameWithText
        | ReadBadge
        | HearSlack
        | PressInSlack
        | RegisterXxlExecutor
        | RemoveXxlExecutor
        | CallBackFromXxl
        | LoginByLink
        | LoginByForm
        | Logout
        | IsAlive
        | IsReady
        | ReadMetrics
        | ReadDescription => (Who::Everybody, What::All),
        ListJobs | ReadJob | PreviewJob | ListRuns | ReadRun | ReadLogs | ListExecutors | ListHooks | ReadHook
        | ListDeliveries | ListIncidents | ReadIncident | ExportIncident | ListNotifications | ReadNotification
        | ListMonitors | ReadMonitor | ReadEvents | ListSubscriptions | ReadSubscription | ReadStatus | ExplainCron
        | ReadForecast | AskForecast | ListChannels | ReadChannel | ListEscalations | ReadEscalation
        | ReadStoreStats | ReadTimekeeper | ListNodes | ListRevisions | DiffJob | ListSimilarIncidents
        | ListSilences => (Who::Readers, What::All),
        ReadStream => (Who::ReadersAndHolders, What::Own),
        CreateJob | CreateJobs | UpdateJob | CancelJob | TriggerJob | PauseJob | ResumeJob | BackfillJob
        | CancelRun | RetryRun | DrainExecutor | StartIncident | SetAssignee | SetSeverity | SetStatus
        | AcknowledgeIncident | AddNote | LinkIncident | ReplayNotification | AddMonitor | RemoveMonitor
        | SetIncidentRole | DescribeImpact | AddAction | SetAction | WritePostmortem | SnoozeIncident | EndSnooze
        | AddSilence | EndSilence | RevertJob => (Who::Operators, What::All),
        CreateHook | UpdateHook => (Who::HookManagers, What::Own),
        RemoveHook | ReplayDelivery | TestHook => (Who::HookManagers, What::All),
        RegisterExecutor | BeatExecutor | PollExecutor | LeaveExecutor | ReportRuns | SendLogs => {
            (Who::Executors, What::Own)
        }
        TestChannel | CreateSubscription | UpdateSubscription | RemoveSubscription | TestSubscription | ListSecrets
        | PutSecret | RemoveSecret | ResealSecrets | ListTokens | CreateToken | RevokeToken | BackupStore
        | CheckStore | DrainNode | ReadAudit | AddChannel | UpdateChannel | RemoveChannel | AddEscalation
        | UpdateEscalation | RemoveEscalation => (Who::Admins, What::All),
    }
}

/// A path with something at every place that asks for a name.
fn concrete(path: &str) -> String {
    let part = |part: &str| if part.starts_with('{') { "x".to_owned() } else { part.to_owned() };
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

fn is_let_in(answer: &TestResponse) -> bool {
    answer.status != 401 && answer.json["code"] != "forbidden"
}

#[tokio::test]
async fn every_operation_is_open_to_the_roles_that_it_is_placed_for_and_to_no_others() {
    let world = World::new().await;
    let mut tokens = Vec::new();
    for role in Role::ALL {
        tokens.push((role, world.token(role.name(), role).await));
    }
    let revoked = world.token("revoked", Role::Admin).await;
    world.delete(&format!("/v1/tokens/{}", ApiToken::id("revoked").id)).await.expect(200);
    for route in Operation::routes() {
        let (operation, method, path) = (route.operation(), route.method.name(), concrete(route.path));
        let (who, _) = placed(operation);
        let bare = Request::builder().method(method).uri(&path).body(Body::empty()).unwrap();
        let status = world.send(bare).await.status.as_u16();
        if who == Who::Everybody {
            // A wrong login and a hook that is not there are no question of rights.
            assert_ne!(status, 403, "{operation:?} without a token");
            continue;
        }
        assert_eq!(status, 401, "{operation:?} without a token");
        assert_eq!(world.request_as(&revoked, method, &path, None).await.status, 401, "{operation:?} after revocation");
        for (role, token) in &tokens {
            let answer = world.request_as(token, method, &path, None).await;
            assert_eq!(is_let_in(&answer), who.has(*role), "{role} at {operation:?}: {}", answer.text);
        }
    }
}

/// Two tokens of one role, each with things of its own, and a run that the first one has.
struct Neighbours {
    world: World,
    ann: String,
    bob: String,
    executor: String,
    run: Value,
    job: String,
}

impl Neighbours {
    async fn new() -> Neighbours {
        let world = World::new().await;
        let token = async |name: &str| {
            let wanted = json!({ "name": name, "role": "executor", "groups": ["gpu"] });
            text(&world.post("/v1/tokens", wanted).await.expect(201)["token"])
        };
        let (ann, bob) = (token("ann").await, token("bob").await);
        let offer = json!({ "name": "w", "group": "gpu", "tools": ["render"], "capacity": 4 });
        let executor = text(&world.request_as(&ann, "POST", "/v1/executors", Some(offer)).await.expect(201)["id"]);
        let job = world.job(render(&json!({}))).await;
        world.trigger(&job).await;
        let poll = json!({ "max": 1, "wait_ms": 10_000 });
        let polled =
            world.request_as(&ann, "POST", &format!("/v1/executors/{executor}/poll"), Some(poll)).await.expect(200);
        let (run, job) = (polled["runs"][0].clone(), text(&job["id"]));
        Neighbours { world, ann, bob, executor, run, job }
    }

    /// Whether the holder of the token is served, on what is the first one's own.
    async fn is_served(&self, operation: Operation, token: &str) -> bool {
        let Neighbours { world, executor, run, job, .. } = self;
        let send_request =
            async |method: &str, path: &str, body: Option<Value>| world.request_as(token, method, path, body).await;
        let of_run = |field: &str, more: Value| {
            let mut entry = json!({ "run_id": run["run_id"], "token": run["token"] });
            entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({ field: [entry] })
        };
        match operation {
            Operation::BeatExecutor => {
                send_request("POST", &format!("/v1/executors/{executor}/heartbeat"), Some(json!({}))).await.status
                    == 200
            }
            Operation::PollExecutor => {
                send_request("POST", &format!("/v1/executors/{executor}/poll"), Some(json!({}))).await.status == 200
            }
            Operation::LeaveExecutor => {
                send_request("DELETE", &format!("/v1/executors/{executor}"), None).await.status == 200
            }
            Operation::SendLogs => {
                let chunk = of_run("chunks", json!({ "seq": 0, "lines": [] }));
                send_request("POST", "/v1/runs/logs", Some(chunk)).await.json["results"][0]["status"] == 200
            }
            Operation::ReportRuns => {
                let report = of_run("reports", json!({ "status": { "type": "nack", "delay": "1h" } }));
                send_request("POST", "/v1/runs/report", Some(report)).await.json["results"][0]["status"] == 200
            }
            Operation::ReadStream => {
                send_request("GET", &format!("/v1/streams/ordo-job-{job}"), None).await.status == 200
            }
            Operation::RegisterExecutor => {
                // Own is a group that the token serves.
                let group = if token == self.ann { "gpu" } else { "payments" };
                let offer = json!({ "name": "more", "group": group, "tools": ["render"], "capacity": 1 });
                send_request("POST", "/v1/executors", Some(offer)).await.status == 201
            }
            other => panic!("{other:?} is for what is one's own: say here how that is tried"),
        }
    }
}

#[tokio::test]
async fn what_belongs_to_one_token_is_closed_to_another_of_the_same_role() {
    let owned = Operation::ALL.iter().copied().filter(|operation| placed(*operation).1 == What::Own);
    for operation in owned.filter(|operation| !matches!(operation, Operation::CreateHook | Operation::UpdateHook)) {
        let neighbours = Neighbours::new().await;
        assert!(!neighbours.is_served(operation, &neighbours.bob).await, "{operation:?}: a stranger");
        assert!(neighbours.is_served(operation, &neighbours.ann).await, "{operation:?}: its owner");
    }
}

#[tokio::test]
async fn a_hook_manager_uses_the_secrets_of_his_hooks_and_no_others() {
    let world = World::new().await;
    world.put("/v1/secrets/shared", json!({ "value": "s" })).await.expect(201);
    let manager = world.token("m", Role::HookManager).await;
    let verify = |secret: Value| json!({ "type": "github", "secret": secret });
    let hook = |secret: Value| Some(json!({ "slug": "push", "verify": verify(secret) }));
    let foreign = world.request_as(&manager, "POST", "/v1/hooks", hook(json!({ "secret": "shared" }))).await;
    foreign.refused(403, "forbidden");
    world.request_as(&manager, "POST", "/v1/hooks", hook(json!("own"))).await.expect(201);
    let change = |secret: Value| Some(json!({ "verify": verify(secret) }));
    let foreign = world.request_as(&manager, "PATCH", "/v1/hooks/push", change(json!({ "secret": "shared" }))).await;
    foreign.refused(403, "forbidden");
    world.request_as(&manager, "PATCH", "/v1/hooks/push", change(json!({ "secret": "hook/push" }))).await.expect(200);
}
