//! Stories of the registry: who is heard of, what is handed out, what is taken back.

use ordo_model::executor::Speaker;

use super::*;

const RUN: RunId = RunId(Uuid::from_u128(7));
const NOW: Timestamp = Timestamp::MIN;

/// An executor with one attempt; what it did last was so many seconds ago: heartbeat, anything, renewal of the lease.
fn with_one_run(beaten: u64, heard: u64, renewed: u64) -> (ExecutorRegistry, Uuid) {
    let (registry, id) = (ExecutorRegistry::default(), Uuid::from_u128(1));
    let offer =
        Offer { name: "a".into(), group: "g".into(), tools: ["t".to_owned()].into(), capacity: 1, version: None };
    registry.enroll(id, offer, None, false, NOW);
    let mut lease = RunLease::new(JobId(Uuid::from_u128(3)), FencingToken(1), 1, NOW);
    lease.renewed = Stopwatch::started_ago(Millis::from_secs(renewed));
    registry.restore_lease(id, RUN, lease);
    let mut inner = registry.lock();
    let member = inner.members.get_mut(&id).unwrap();
    member.heard = Stopwatch::started_ago(Millis::from_secs(heard));
    member.beaten = Stopwatch::started_ago(Millis::from_secs(beaten));
    drop(inner);
    (registry, id)
}

pub(super) fn attempt(executor: Uuid, run_id: RunId) -> StartedAttempt {
    StartedAttempt {
        location: crate::commit::change::SlotLocation::Remote(executor),
        executor: ordo_model::Incarnation { executor: "a".into(), generation: executor },
        job_id: JobId(Uuid::from_u128(3)),
        run_id,
        label: String::new(),
        attempt: 1,
        token: FencingToken(2),
        scheduled_for: None,
        timeout: Millis::from_secs(1),
        delivery: None,
        tool_name: "t".into(),
        tool_input: serde_json::Value::Null,
        shard: None,
        traceparent: None,
    }
}

#[test]
fn what_a_silent_executor_was_sent_is_taken_back_until_it_has_confirmed_it() {
    let (registry, id) = with_one_run(4, 4, 4);
    let (run_id, token) = (RunId(Uuid::from_u128(8)), FencingToken(2));
    let overdue = Overdue { executor: id, job_id: JobId(Uuid::from_u128(3)), run_id, token };
    registry.deliver(attempt(id, run_id)).unwrap();
    assert!(registry.take(id, 9, true, NOW).unwrap().confirm);
    assert_eq!(registry.withdraw(&overdue).as_deref(), Some("a"));
    let pulse = registry.pulse(id, &[(run_id, token)], NOW).unwrap();
    assert_eq!((pulse.lost, pulse.confirmed), (vec![run_id], Vec::new()), "it does not begin it");

    let (registry, id) = with_one_run(4, 4, 4);
    registry.deliver(attempt(id, run_id)).unwrap();
    registry.take(id, 9, true, NOW).unwrap();
    assert_eq!(registry.pulse(id, &[(run_id, token)], NOW).unwrap().confirmed, [(run_id, token)]);
    assert_eq!(registry.withdraw(&overdue), None, "it has it");
}

#[test]
fn what_is_sent_to_one_that_was_just_heard_of_or_does_not_confirm_is_its_own() {
    for (silence, confirms) in [(0, true), (4, false)] {
        let (registry, id) = with_one_run(silence, silence, silence);
        let (run_id, token) = (RunId(Uuid::from_u128(8)), FencingToken(2));
        registry.deliver(attempt(id, run_id)).unwrap();
        assert!(!registry.take(id, 9, confirms, NOW).unwrap().confirm);
        let overdue = Overdue { executor: id, job_id: JobId(Uuid::from_u128(3)), run_id, token };
        assert_eq!(registry.withdraw(&overdue), None);
    }
}

#[test]
fn a_poll_says_once_what_is_to_end_and_is_no_sign_of_life_by_itself() {
    let (registry, id) = with_one_run(4, 4, 4);
    assert!(registry.recall(id, RUN).is_none(), "the executor has it");
    assert_eq!(registry.take(id, 9, true, NOW).unwrap().cancel, [RUN]);
    assert!(registry.take(id, 9, true, NOW).unwrap().is_empty());
    let pulse = registry.pulse(id, &[(RUN, FencingToken(1))], NOW).unwrap();
    assert_eq!(pulse.cancel, [RUN], "heartbeats repeat it");
    let (registry, id) = with_one_run(15, 15, 15);
    registry.take(id, 9, true, NOW);
    assert!(registry.is_overdue(id), "that something was put into its open poll says nothing about the executor");
}

#[test]
fn a_run_that_heartbeats_do_not_name_for_a_lease_is_silent_once() {
    let (registry, id) = with_one_run(1, 1, 15);
    assert_eq!(registry.silent().len(), 1);
    assert!(registry.silent().is_empty());
    assert!(!registry.is_overdue(id));
    assert!(registry.lease_of(Speaker::Admin, RUN).is_some(), "its report is still taken until it is settled");
}

#[test]
fn the_runs_of_a_frozen_executor_wait_until_the_executor_is_lost() {
    let (registry, id) = with_one_run(15, 14, 15);
    assert!(registry.silent().is_empty(), "its last sign was a poll: it may be frozen");
    assert!(!registry.is_overdue(id));
    let (registry, id) = with_one_run(16, 15, 16);
    assert!(registry.silent().is_empty());
    assert!(registry.is_overdue(id), "now it is lost as a whole");
    assert_eq!(registry.overdue(), [id]);
}

#[test]
fn an_executor_that_polls_and_never_beats_does_not_keep_its_runs() {
    let (registry, _) = with_one_run(40, 1, 30);
    assert_eq!(registry.silent().len(), 1);
}
