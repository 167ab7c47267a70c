//! Whatever is asked of a job, in whatever order and with whatever clock: the books balance.
//!
//! The oracle keeps its own account. It lists nominal times by counting, one by one, and never asks a `Schedule`.

mod oracle;

use crate::story::*;
use oracle::{Oracle, OracleTrigger};
use ordo_model::job::{AttemptReport, Command, Definition, Refusal, SlotReservation};
use ordo_model::testing::proptest_config;
use ordo_model::{FencingToken, Millis, RunId};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

/// One thing that happens to the job.
#[derive(Debug, Clone)]
enum JobStep {
    Wake {
        reservation: bool,
    },
    /// The clock goes to the job's alarm, if that lies ahead.
    WakeAtAlarm {
        reservation: bool,
    },
    Pause,
    Resume,
    Cancel,
    Trigger {
        reservation: bool,
    },
    UpdateTrigger(OracleTrigger),
    UpdatePolicies(Value),
    UpdateLabel(u8),
    Backfill {
        ago: u64,
        length: u64,
    },
    Start(Index),
    Report {
        run: Index,
        report: AttemptEnd,
        reservation: bool,
    },
    StaleReport(Index),
    CancelRun(Index),
    RetryRun(Index),
    Orphan {
        generation: u128,
        settle_after_ms: u64,
    },
    Trim,
}

#[derive(Debug, Clone, Copy)]
enum AttemptEnd {
    Completed,
    Failed,
    Cancelled,
    Interrupted,
    GivenBack,
}

/// How the clock moves before a step.
#[derive(Debug, Clone, Copy)]
enum ClockMove {
    Stands,
    Forward(u64),
    Beats(u64),
    Back(u64),
}

fn clock() -> impl Strategy<Value = ClockMove> {
    prop_oneof![
        2 => Just(ClockMove::Stands),
        2 => select(vec![1, 4_999, 5_000, 5_001, 9_999, 10_000, 10_001]).prop_map(ClockMove::Forward),
        2 => (0u64..30_000).prop_map(ClockMove::Forward),
        3 => (0u64..12).prop_map(ClockMove::Beats),
        1 => (0u64..300).prop_map(ClockMove::Beats),
        1 => (0u64..60_000).prop_map(ClockMove::Back),
    ]
}

fn beat() -> impl Strategy<Value = OracleTrigger> {
    prop_oneof![
        4 => (select(vec![1u64, 40, 100, 1_000, 3_000, 7_000, 60_000]), prop::option::of(0u64..40_000), any::<bool>(), any::<bool>())
            .prop_map(|(every, started_ago, jitter, ends)| OracleTrigger::Every {
                every,
                started_ago,
                jitter: if jitter { every / 2 } else { 0 },
                lasts: ends.then_some(every * 50),
            }),
        2 => select(vec![1u64, 10, 20, 30]).prop_map(|every| OracleTrigger::Seconds { every }),
        1 => select(vec![1u64, 2, 5]).prop_map(|every| OracleTrigger::Minutes { every }),
        2 => (0u64..100_000).prop_map(|ahead| OracleTrigger::At { ahead }),
        1 => Just(OracleTrigger::Manual),
    ]
}

fn misfire() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!("fire_once_now")),
        Just(json!("do_nothing")),
        (1u32..=100, 0u64..60_000)
            .prop_map(|(cap, window)| { json!({"fire_all": {"cap": cap, "window": Millis::from_ms(window)}}) }),
    ]
}

fn policies() -> impl Strategy<Value = Value> {
    let block = select(vec![
        json!("serial"),
        json!("discard"),
        json!("cover"),
        json!({"concurrent": {"max": 1}}),
        json!({"concurrent": {"max": 3}}),
    ]);
    let retry = (1u32..4, select(vec![0u64, 1, 2_000, 30_000]))
        .prop_map(|(max_attempts, backoff)| json!({"max_attempts": max_attempts, "backoff": Millis::from_ms(backoff)}));
    let timeout = select(vec!["1ms", "20s", "1h"]);
    (misfire(), block, retry, any::<bool>(), timeout).prop_map(|(misfire, block, retry, idempotent, timeout)| {
        json!({"misfire": misfire, "block": block, "retry": retry, "idempotent": idempotent, "timeout": timeout})
    })
}

fn step() -> impl Strategy<Value = JobStep> {
    let answer = select(vec![
        AttemptEnd::Completed,
        AttemptEnd::Failed,
        AttemptEnd::Cancelled,
        AttemptEnd::Interrupted,
        AttemptEnd::GivenBack,
    ]);
    prop_oneof![
        10 => any::<bool>().prop_map(|reservation| JobStep::Wake { reservation }),
        6 => any::<bool>().prop_map(|reservation| JobStep::WakeAtAlarm { reservation }),
        2 => Just(JobStep::Pause),
        3 => Just(JobStep::Resume),
        1 => prop::bool::weighted(0.3).prop_map(|really| if really { JobStep::Cancel } else { JobStep::Resume }),
        2 => any::<bool>().prop_map(|reservation| JobStep::Trigger { reservation }),
        2 => beat().prop_map(JobStep::UpdateTrigger),
        1 => policies().prop_map(JobStep::UpdatePolicies),
        1 => (0u8..3).prop_map(JobStep::UpdateLabel),
        1 => (0u64..40, 0u64..20).prop_map(|(ago, length)| JobStep::Backfill { ago, length }),
        4 => any::<Index>().prop_map(JobStep::Start),
        6 => (any::<Index>(), answer, any::<bool>())
            .prop_map(|(run, report, reservation)| JobStep::Report { run, report, reservation }),
        1 => any::<Index>().prop_map(JobStep::StaleReport),
        2 => any::<Index>().prop_map(JobStep::CancelRun),
        1 => any::<Index>().prop_map(JobStep::RetryRun),
        1 => (1u128..4, 0u64..20_000).prop_map(|(generation, settle_after_ms)| JobStep::Orphan { generation, settle_after_ms }),
        1 => Just(JobStep::Trim),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 4_000, ..proptest_config() })]

    #[test]
    fn every_occurrence_has_exactly_one_outcome_whatever_is_commanded(
        beat in beat(),
        policies in policies(),
        held in prop::bool::weighted(0.1),
        steps in prop::collection::vec((clock(), step()), 1..50),
    ) {
        play(beat, &policies, held, &steps);
    }
}

fn play(beat: OracleTrigger, policies: &Value, held: bool, steps: &[(ClockMove, JobStep)]) {
    let mut fields = policies.clone();
    fields["tool_input"] = json!({"ratio": 0.1, "list": [1, null, "ü"]});
    fields["trigger"] = beat.trigger(noon());
    let definition: Definition = definition(fields).expect("the definition reads");
    let mut story = Story::begin(definition, held, noon()).expect("the job is accepted");
    let mut oracle = Oracle::begin(beat, policies, held, noon());
    for (clock, step) in steps {
        let pace = oracle.pace();
        story.now = match *clock {
            ClockMove::Stands => story.now,
            ClockMove::Forward(by) => story.now.plus(Millis::from_ms(by.min(pace * 2_000))),
            ClockMove::Beats(beats) => story.now.plus(Millis::from_ms(beats * pace)),
            ClockMove::Back(by) => story.now.minus(Millis::from_ms(by)),
        };
        take(&mut story, &mut oracle, step);
    }
}

/// Carries out one step and lets the oracle judge what came of it.
fn take(story: &mut Story, oracle: &mut Oracle, step: &JobStep) {
    if let JobStep::WakeAtAlarm { .. } = step
        && let Some(alarm) = story.job.next_turn()
    {
        let furthest = story.now.plus(Millis::from_ms(oracle.pace() * 2_000));
        story.now = story.now.max(alarm.min(furthest));
    }
    let Some((command, reservation)) = command(story, oracle, step) else { return };
    let before = story.job.clone();
    let is_wake = matches!(command, Command::Wake);
    match story.order(command, reservation) {
        Ok(()) => oracle.judge(&before, story),
        Err(refusal) => {
            assert_eq!(before, story.job);
            assert!(is_expected(step, &refusal), "{step:?} was refused: {refusal}");
        }
    }
    if is_wake {
        oracle.judge_wake(story);
    }
}

fn command(story: &Story, oracle: &mut Oracle, step: &JobStep) -> Option<(Command, Option<SlotReservation>)> {
    let place = |wanted: &bool| if *wanted { reservation() } else { None };
    let any_active = |index: &Index| -> Option<RunId> {
        let runs = story.waiting();
        (!runs.is_empty()).then(|| *index.get(&runs))
    };
    Some(match step {
        JobStep::Wake { reservation } | JobStep::WakeAtAlarm { reservation } => (Command::Wake, place(reservation)),
        JobStep::Pause => (Command::Pause { reason: Some("for a while".into()) }, None),
        JobStep::Resume => (Command::Resume, None),
        JobStep::Cancel => (Command::Cancel { reason: None }, None),
        JobStep::Trigger { reservation } => {
            (Command::Trigger { tool_input: Some(json!({"by": "hand"})), traceparent: None }, place(reservation))
        }
        JobStep::UpdateTrigger(beat) => {
            oracle.will_change_to(*beat);
            (update(json!({"trigger": beat.trigger(story.now)})), None)
        }
        JobStep::UpdatePolicies(policies) => (update(policies.clone()), None),
        JobStep::UpdateLabel(number) => (update(json!({"label": format!("label {number}")})), None),
        JobStep::Backfill { ago, length } => {
            let from = story.now.minus(Millis::from_ms(ago * oracle.pace()));
            (Command::Backfill { from, to: from.plus(Millis::from_ms(length * oracle.pace())) }, None)
        }
        JobStep::Start(index) => (Command::Start { run_id: any_active(index)? }, reservation()),
        JobStep::Report { run, report, reservation } => {
            let running = story.running();
            let run_id = *(!running.is_empty()).then(|| run.get(&running))?;
            (Command::Report { run_id, token: story.token(run_id), report: answer(*report, story) }, place(reservation))
        }
        JobStep::StaleReport(index) => {
            let token = FencingToken(story.job.last_token.0 + 1);
            (Command::Report { run_id: any_active(index)?, token, report: completed(story.now) }, None)
        }
        JobStep::CancelRun(index) => (Command::CancelRun { run_id: any_active(index)?, reason: "enough".into() }, None),
        JobStep::RetryRun(index) => {
            let runs: Vec<_> = story.runs.values().collect();
            (Command::RetryRun { run: Box::new((*(!runs.is_empty()).then(|| index.get(&runs))?).clone()) }, None)
        }
        JobStep::Orphan { generation: number, settle_after_ms } => {
            (Command::Orphan { executor: generation(*number), settle_after: Millis::from_ms(*settle_after_ms) }, None)
        }
        JobStep::Trim => {
            let (history, below) = (&story.job.history, story.job.version);
            (Command::Trim { trims: history.trims, runs: history.kept, below, oldest: None }, None)
        }
    })
}

fn answer(answer: AttemptEnd, story: &Story) -> AttemptReport {
    match answer {
        AttemptEnd::Completed => completed(story.now),
        AttemptEnd::Failed => AttemptReport::Failed { started_at: Some(story.now), reason: "boom".into() },
        AttemptEnd::Cancelled => AttemptReport::Cancelled { started_at: None },
        AttemptEnd::Interrupted => AttemptReport::Interrupted { started_at: Some(story.now) },
        AttemptEnd::GivenBack => {
            AttemptReport::Nack { delay: Millis::from_ms(story.now.ms().unsigned_abs() % 3), reason: None }
        }
    }
}

/// Refusals that the random walk runs into by itself; any other is a bug.
fn is_expected(step: &JobStep, refusal: &Refusal) -> bool {
    match (step, refusal) {
        (
            JobStep::Wake { .. }
            | JobStep::WakeAtAlarm { .. }
            | JobStep::Orphan { .. }
            | JobStep::Trim
            | JobStep::Cancel,
            _,
        ) => false,
        (JobStep::Report { .. } | JobStep::CancelRun(_), _) => false,
        (JobStep::StaleReport(_), Refusal::StaleToken) => true,
        (JobStep::Start(_), Refusal::NoSuchRun) => true,
        (JobStep::Backfill { .. }, Refusal::Invalid(_) | Refusal::TooManyBackfills) => true,
        (JobStep::UpdateTrigger(_), Refusal::Invalid(invalid)) => invalid.message.contains("no time to come"),
        (_, Refusal::WrongState { .. }) => true,
        _ => false,
    }
}
