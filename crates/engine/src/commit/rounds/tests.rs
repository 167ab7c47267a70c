//! Rounds as stories: gathering, losing to others, building on what was lost.

use ordo_model::incident::{By, Incident, IncidentCommand, IncidentSource, Severity, StartIncident};
use ordo_model::job::{AttemptReport, Command, Definition, Pool, Refusal, SlotReservation, SlottedCommand, Stage};
use ordo_model::{FencingToken, Incarnation, JobId, RunId};
use ordo_store::Disposition;
use ordo_store_redb::RedbStore;
use uuid::Uuid;

use super::*;
use crate::commit::change::SlotLocation;
use crate::commit::command::SubmitError;
use crate::commit::entity_command::{CommitExtras, EntityCommand};
use crate::commit::job_command::JobReply;

const NOW: Timestamp = Timestamp::MIN;

/// A node: the rounds, and the store they write to.
struct TestNode {
    rounds: Rounds,
    store: Arc<dyn Store>,
}

fn job() -> JobId {
    JobId(Uuid::from_u128(1))
}

fn schedule() -> Command {
    let form = serde_json::json!({ "label": "l", "tool_name": "noop", "trigger": { "type": "manual" } });
    let definition: Definition = serde_json::from_value(form).unwrap();
    Command::Schedule { definition: Box::new(definition), held: false }
}

fn pause() -> Command {
    Command::Pause { reason: None }
}

/// Two nodes on one store.
fn nodes(is_shared: bool) -> [TestNode; 2] {
    let store: Arc<dyn Store> = Arc::new(RedbStore::in_memory().unwrap());
    [store.clone(), store].map(|store| TestNode {
        rounds: overlapping(Rounds::new(is_shared, OUTBOX_FLUSH_DELAY, Arc::default())),
        store,
    })
}

/// Most stories are about rounds that build on each other, however small they are.
fn overlapping(rounds: Rounds) -> Rounds {
    rounds.deciding_ahead_from(1)
}

impl TestNode {
    fn push(&mut self, command: Command) -> oneshot::Receiver<JobReply> {
        let (submission, answer) = Request::new(job(), command).answered();
        self.rounds.push(submission);
        answer
    }

    async fn take_off(&mut self) -> Option<(Flight, Batch)> {
        let gathered = self.rounds.gather()?;
        let loaded = load(self.store.as_ref(), &gathered, NOW).await;
        let mut flight = self.rounds.plan(gathered, loaded, NOW);
        let batch = flight.take_batch();
        Some((flight, batch))
    }

    async fn land(&mut self, (flight, batch): (Flight, Batch)) {
        let outcomes = commit(self.store.as_ref(), batch).await;
        self.rounds.settle(flight, outcomes);
    }

    async fn run(&mut self, command: Command) -> JobReply {
        let mut answer = self.push(command);
        while let Some(flight) = self.take_off().await {
            self.land(flight).await;
        }
        answer.try_recv().expect("it was answered")
    }
}

#[tokio::test]
async fn on_a_shared_store_an_entity_waits_for_its_open_round_and_is_read_anew() {
    let [mut one, mut two] = nodes(true);
    assert!(one.run(schedule()).await.is_ok());
    // Both decide on the same version; the other node is faster.
    let mut slow = one.push(pause());
    let flight = one.take_off().await.unwrap();
    let mut behind = one.push(Command::Resume);
    assert!(one.rounds.gather().is_none(), "what comes on a busy entity waits");
    assert!(two.run(pause()).await.is_ok());
    one.land(flight).await;
    assert!(slow.try_recv().is_err(), "it is decided anew");
    while let Some(flight) = one.take_off().await {
        one.land(flight).await;
    }
    assert!(!matches!(slow.try_recv().unwrap(), Err(SubmitError::Contended)), "and answered by what is so now");
    assert!(behind.try_recv().unwrap().is_ok(), "what it decides now rests on what the other wrote");
}

#[tokio::test]
async fn on_a_shared_store_nobody_is_refused_because_of_what_was_true_before() {
    let [mut one, mut two] = nodes(true);
    assert!(one.run(schedule()).await.is_ok());
    assert!(one.run(pause()).await.is_ok());
    assert!(two.run(Command::Resume).await.is_ok());
    let again = one.run(pause()).await;
    assert!(again.is_ok(), "it is not paused any more: {again:?}");
}

#[tokio::test]
async fn on_a_shared_store_nothing_is_read_for_a_new_job_and_one_that_exists_is_found_out() {
    let [mut one, mut two] = nodes(true);
    let mut answer = one.push(schedule());
    let gathered = one.rounds.gather().unwrap();
    assert!(gathered.missing.is_empty(), "no round trip for what is only now brought into being");
    let mut flight = one.rounds.plan(gathered, Ok(Loaded::default()), NOW);
    let batch = flight.take_batch();
    one.land((flight, batch)).await;
    assert!(answer.try_recv().unwrap().is_ok());
    let again = two.run(schedule()).await;
    assert!(matches!(again, Err(SubmitError::Refused(Refusal::Exists))), "{again:?}");
}

/// What waits in an outbox is looked at within the delay that the rounds were given.
#[tokio::test]
async fn the_alarm_of_an_outbox_is_laid_by_the_delay_of_the_configuration() {
    for delay in [OUTBOX_FLUSH_DELAY, Millis::from_secs(5)] {
        let store: Arc<dyn Store> = Arc::new(RedbStore::in_memory().unwrap());
        let mut node = TestNode { rounds: Rounds::new(false, delay, Arc::default()), store };
        let by = By { actor: "anna".into(), source: IncidentSource::Api, on_behalf_of: None };
        let start = StartIncident {
            title: "down".into(),
            description: String::new(),
            severity: Severity::Sev3,
            identifier: None,
            generation: 0,
            links: Vec::new(),
            escalation: None,
            by,
        };
        let start = IncidentCommand::Start(Box::new(start));
        let (command, _answer) = EntityCommand::<Incident>::pair(
            Uuid::from_u128(7),
            start,
            CommitExtras::default(),
            ordo_store::EventActor::Ordo,
        );
        node.rounds.push(Submission::new(command));
        let (_, batch) = node.take_off().await.unwrap();
        let Disposition::Keep { alarm, .. } = &batch.items[0].disposition else { panic!("it is kept") };
        assert_eq!(alarm.map(|alarm| alarm.at), Some(NOW.plus(delay)));
    }
}

#[tokio::test]
async fn an_idle_store_gets_the_first_command_at_once_and_what_comes_meanwhile_goes_together() {
    let [mut node, _] = nodes(false);
    assert!(node.run(schedule()).await.is_ok());
    let _first = node.push(pause());
    let writing = node.take_off().await.expect("an idle store need not wait");
    let mut ready = Vec::new();
    for _ in 1..ROUNDS_MAX {
        let _next = node.push(Command::Resume);
        ready.push(node.take_off().await.expect("a few rounds are ready to follow"));
    }
    let answers: Vec<_> = (0..10).map(|_| node.push(Command::Wake)).collect();
    assert!(node.take_off().await.is_none(), "the rest gathers");
    node.land(writing).await;
    let together = node.take_off().await.unwrap();
    assert_eq!(together.0.len(), answers.len());
    for round in ready {
        node.land(round).await;
    }
    node.land(together).await;
    assert!(answers.into_iter().all(|mut answer| answer.try_recv().unwrap().is_ok()));
    assert!(node.rounds.is_idle());
}

#[tokio::test]
async fn a_few_commands_wait_for_the_commit_under_way_and_many_are_decided_beside_it() {
    let store: Arc<dyn Store> = Arc::new(RedbStore::in_memory().unwrap());
    let mut node = TestNode { rounds: Rounds::new(false, OUTBOX_FLUSH_DELAY, Arc::default()), store };
    assert!(node.run(schedule()).await.is_ok());
    let _first = node.push(pause());
    let writing = node.take_off().await.expect("an idle store need not wait");
    let mut answers: Vec<_> = (1..AHEAD_MIN).map(|_| node.push(Command::Wake)).collect();
    assert!(node.take_off().await.is_none(), "they share the next commit with whoever comes before the writer is free");
    answers.push(node.push(Command::Wake));
    let ahead = node.take_off().await.expect("deciding them takes as long as the sync");
    assert_eq!(ahead.0.len(), AHEAD_MIN);
    let last = node.push(Command::Resume);
    assert!(node.take_off().await.is_none());
    node.land(writing).await;
    assert!(node.take_off().await.is_none(), "one round is on its way still");
    node.land(ahead).await;
    let alone = node.take_off().await.expect("an idle store need not wait");
    node.land(alone).await;
    assert!(answers.into_iter().chain([last]).all(|mut answer| answer.try_recv().unwrap().is_ok()));
}

#[tokio::test]
async fn what_came_together_goes_in_rounds_that_follow_each_other() {
    let store: Arc<dyn Store> = Arc::new(RedbStore::in_memory().unwrap());
    let mut node = TestNode { rounds: Rounds::new(false, OUTBOX_FLUSH_DELAY, Arc::default()), store };
    assert!(node.run(schedule()).await.is_ok());
    let mut answers: Vec<_> = (0..2 * ROUND_MAX + AHEAD_MIN).map(|_| node.push(Command::Wake)).collect();
    let mut rounds = Vec::new();
    while let Some(round) = node.take_off().await {
        rounds.push(round);
    }
    assert_eq!(rounds.iter().map(|(flight, _)| flight.len()).collect::<Vec<_>>(), [ROUND_MAX, ROUND_MAX, AHEAD_MIN]);
    for round in rounds {
        node.land(round).await;
    }
    assert!(answers.iter_mut().all(|answer| answer.try_recv().unwrap().is_ok()));
}

#[tokio::test]
async fn what_was_built_on_a_lost_round_is_not_carried_out() {
    let [mut node, _] = nodes(false);
    assert!(node.run(schedule()).await.is_ok());
    let mut lost = node.push(pause());
    let (first, _) = node.take_off().await.unwrap();
    let mut built = node.push(Command::Resume);
    let second = node.take_off().await.unwrap();
    node.rounds.settle(first, Err(Fault::damaged("the disk is gone")));
    assert!(matches!(lost.try_recv().unwrap(), Err(SubmitError::Store(_))));
    let _later = node.push(Command::Wake);
    assert!(node.rounds.gather().is_none(), "nothing is planned before what was built on it is settled");
    node.land(second).await;
    assert!(matches!(built.try_recv().unwrap(), Err(SubmitError::Contended)));
    assert!(node.run(pause()).await.is_ok(), "it was never paused");
}

#[tokio::test]
async fn a_report_that_is_lost_twice_gives_its_slot_back_once() {
    let [mut node, _] = nodes(false);
    assert!(node.run(schedule()).await.is_ok());
    let report = AttemptReport::Failed { started_at: None, reason: "no".into() };
    let command = Command::Report { run_id: RunId(Uuid::from_u128(2)), token: FencingToken(1), report };
    let location = Some(SlotLocation::Local(Pool::Fast));
    node.rounds.push(Request { location, ..Request::new(job(), command) }.unanswered());
    let (first, _) = node.take_off().await.unwrap();
    let lost = node.rounds.settle(first, Err(Fault::damaged("the disk is gone")));
    assert_eq!(lost.changes[0].returned, [SlotLocation::Local(Pool::Fast)]);
    let gathered = node.rounds.gather().expect("a report is tried until it is written");
    let unread = node.rounds.plan(gathered, Err(Fault::damaged("nor can it be read")), NOW);
    let lost_again = node.rounds.settle(unread, Ok(Vec::new()));
    assert_eq!(lost_again.changes[0].returned, []);
}

fn trigger() -> Command {
    Command::Trigger { tool_input: None, traceparent: None }
}

/// A command with a slot to run in.
fn placed(command: Command) -> Submission {
    let executor = Incarnation { executor: "here".into(), generation: Uuid::from_u128(7) };
    let reservation = SlotReservation {
        executor,
        group: "default".into(),
        tools: None,
        draw: 3,
        has_others: false,
        is_keyless: false,
    };
    let slotted = SlottedCommand { command, reservation: Some(reservation) };
    let location = Some(SlotLocation::Local(Pool::Fast));
    Request { slotted, location, ..Request::new(job(), Command::Wake) }.unanswered()
}

/// A trigger with a slot to run in, whose commit fails as far as anybody hears.
async fn start_in_vain(node: &mut TestNode, becomes_durable: bool) -> Settled {
    node.rounds.push(placed(trigger()));
    let (flight, batch) = node.take_off().await.unwrap();
    if becomes_durable {
        commit(node.store.as_ref(), batch).await.unwrap();
    }
    node.rounds.settle(flight, Err(Fault::damaged("the disk is gone")))
}

#[tokio::test]
async fn a_start_that_became_durable_although_its_commit_failed_is_given_back() {
    let [mut node, _] = nodes(false);
    assert!(node.run(schedule()).await.is_ok());
    let settled = start_in_vain(&mut node, true).await;
    assert!(settled.changes.iter().all(|change| change.assignments.is_empty()), "nobody executes it");
    let seen = node.run(Command::Wake).await.unwrap();
    assert_eq!(seen.job.active.len(), 1);
    assert_eq!(seen.job.active[0].stage, Stage::Queued, "it waits for another slot instead of being taken for running");
}

#[tokio::test]
async fn a_start_that_did_not_become_durable_leaves_nothing_to_give_back() {
    let [mut node, _] = nodes(false);
    assert!(node.run(schedule()).await.is_ok());
    start_in_vain(&mut node, false).await;
    let seen = node.run(trigger()).await.unwrap();
    assert_eq!(seen.job.active.len(), 1, "the run of the trigger alone");
}

#[tokio::test]
async fn a_report_whose_round_could_not_be_read_starts_nothing_in_the_slot_that_it_gave_back() {
    let [mut node, _] = nodes(true);
    assert!(node.run(schedule()).await.is_ok());
    node.rounds.push(placed(trigger()));
    let (flight, batch) = node.take_off().await.unwrap();
    node.land((flight, batch)).await;
    let waiting = node.run(trigger()).await.unwrap();
    let (first, second) = (&waiting.job.active[0], waiting.job.active[1].id);
    let token = first.attempt().expect("it was started").token;
    let report = AttemptReport::Failed { started_at: None, reason: "no".into() };
    node.rounds.push(placed(Command::Report { run_id: first.id, token, report }));
    let gathered = node.rounds.gather().unwrap();
    let unread = node.rounds.plan(gathered, Err(Fault::unavailable("loading", "the database restarts")), NOW);
    let lost = node.rounds.settle(unread, Ok(Vec::new()));
    assert_eq!(lost.changes[0].returned, [SlotLocation::Local(Pool::Fast)]);
    let flight = node.take_off().await.expect("a report is tried until it is written");
    node.land(flight).await;
    let seen = node.run(Command::Wake).await.unwrap();
    assert_eq!(seen.job.active[0].id, second);
    assert_eq!(seen.job.active[0].stage, Stage::Queued, "nobody would execute it");
}

/// Starts a run of the job on the first node; returns it with its token.
async fn started(node: &mut TestNode) -> (RunId, FencingToken) {
    assert!(node.run(schedule()).await.is_ok());
    node.rounds.push(placed(trigger()));
    let flight = node.take_off().await.unwrap();
    node.land(flight).await;
    let snapshot = node.store.load(&[job().into()]).await.unwrap().remove(0).expect("a job");
    let stored = crate::commit::encoding::codec::decode_job(&snapshot.state).expect("a snapshot");
    (stored.active[0].id, stored.active[0].attempt().expect("it was started").token)
}

fn completed((run_id, token): (RunId, FencingToken)) -> Command {
    let report = AttemptReport::Completed { started_at: NOW, result: serde_json::json!({}), result_bytes: None };
    Command::Report { run_id, token, report }
}

#[tokio::test]
async fn on_a_shared_store_a_report_is_decided_on_what_the_node_wrote_itself() {
    let [mut one, _] = nodes(true);
    let attempt = started(&mut one).await;
    let mut answer = one.push(completed(attempt));
    let gathered = one.rounds.gather().unwrap();
    assert!(gathered.missing.is_empty(), "no round trip for a job that was written here a moment ago");
    let mut flight = one.rounds.plan(gathered, Ok(Loaded::default()), NOW);
    let batch = flight.take_batch();
    one.land((flight, batch)).await;
    assert!(answer.try_recv().unwrap().unwrap().job.active.is_empty());
    one.push(trigger());
    assert_eq!(one.rounds.gather().unwrap().missing.len(), 1, "whatever else is decided on what is stored now");
}

#[tokio::test]
async fn a_report_that_was_decided_on_what_others_have_changed_since_is_decided_anew() {
    let [mut one, mut two] = nodes(true);
    let attempt = started(&mut one).await;
    assert!(two.run(pause()).await.is_ok());
    let reported = one.run(completed(attempt)).await.unwrap();
    assert!(reported.job.active.is_empty() && reported.job.state() == ordo_model::job::JobState::Paused);
}

#[tokio::test]
async fn a_report_is_refused_only_by_what_is_stored_now() {
    let [mut one, mut two] = nodes(true);
    let (run, token) = started(&mut one).await;
    let mut answer = one.push(completed((run, FencingToken(token.0 + 1))));
    let flight = one.take_off().await.unwrap();
    one.land(flight).await;
    assert!(answer.try_recv().is_err(), "no guard has looked at it");
    let gathered = one.rounds.gather().unwrap();
    assert_eq!(gathered.missing.len(), 1);
    let loaded = load(one.store.as_ref(), &gathered, NOW).await;
    let mut flight = one.rounds.plan(gathered, loaded, NOW);
    let batch = flight.take_batch();
    one.land((flight, batch)).await;
    assert!(matches!(answer.try_recv().unwrap(), Err(SubmitError::Refused(_))));
    assert!(two.run(completed((run, token))).await.is_ok(), "and nothing was changed by it");
}

#[test]
fn only_a_few_commands_of_the_engine_s_own_wait_for_others_to_come_along() {
    let [mut node, _] = nodes(true);
    assert!(!node.rounds.is_patient(), "there is nothing to wait with");
    node.rounds.push(Request::new(job(), Command::Wake).unanswered());
    assert!(node.rounds.is_patient());
    node.rounds.push(Request::new(job(), pause()).unanswered());
    assert!(!node.rounds.is_patient(), "somebody waits for an answer");
    let [mut many, _] = nodes(true);
    (0..PATIENT_MAX).for_each(|_| many.rounds.push(Request::new(job(), Command::Wake).unanswered()));
    assert!(!many.rounds.is_patient(), "they are many by themselves");
    let [mut own, _] = nodes(false);
    own.rounds.push(Request::new(job(), Command::Wake).unanswered());
    assert!(!own.rounds.is_patient(), "a store of one's own has a rule of its own");
}
