//! What another program asks for with a row in `ordo.submissions`: a job, a run of a job that is there, or a run of a tool.
//!
//! Invariant: what was right when it was written down is right when it is read, however much later that is.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::job::{Definition, Invalid, action};
use crate::limits::{AT_GRACE, SUBMISSION_PAUSE_MAX, SUBMISSION_PAUSE_MIN};
use crate::strict;
use crate::time::{Millis, Timestamp};

/// A row as it was inserted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SubmissionForm {
    /// The job to run; or, with a tool, what the new job is called.
    pub label: Option<String>,
    pub input: Option<Value>,
    pub tool: Option<String>,
    /// When the new job runs; now without it.
    pub run_at: Option<Timestamp>,
    /// A job as `POST /v1/jobs` takes it. Without a trigger it runs once, now.
    pub job: Option<Value>,
}

/// What a row means.
#[derive(Debug, Clone, PartialEq)]
pub enum SubmittedOrder {
    Schedule { definition: Box<Definition>, held: bool },
    Run { label: String, input: Option<Value> },
}

impl SubmissionForm {
    /// Reads the row. `submitted_at`: when its transaction began.
    pub fn order(self, submitted_at: Timestamp, now: Timestamp) -> Result<SubmittedOrder, Invalid> {
        let SubmissionForm { label, input, tool, run_at, job } = self;
        match (job, label, tool) {
            (Some(job), None, None) if input.is_none() && run_at.is_none() => schedule(job, submitted_at, now),
            (None, Some(label), Some(tool)) => {
                let at = run_at.unwrap_or(now).max(now);
                let input = input.unwrap_or_else(|| Value::Object(Map::new()));
                let trigger = json!({ "type": "scheduled", "at": at });
                let job = json!({ "label": label, "tool_name": tool, "tool_input": input, "trigger": trigger });
                schedule(job, submitted_at, now)
            }
            (None, Some(label), None) if run_at.is_none() => Ok(SubmittedOrder::Run { label, input }),
            (None, Some(_), None) => Err(Invalid::new("run_at", "goes with a tool: a job that is there runs now")),
            _ => Err(Invalid::new("job", "give either a job, or a label with an input, a tool and a time if you like")),
        }
    }
}

fn schedule(job: Value, submitted_at: Timestamp, now: Timestamp) -> Result<SubmittedOrder, Invalid> {
    let Value::Object(fields) = job else { return Err(Invalid::new("job", "must be an object")) };
    let mut fields = action::as_job(fields)?;
    let held = match fields.remove("held") {
        None => false,
        Some(Value::Bool(held)) => held,
        Some(_) => return Err(Invalid::new("held", "must be true or false")),
    };
    if !fields.contains_key("trigger") {
        // A job that others bring about, or one that is to run once.
        let once = json!({ "type": "scheduled", "at": now });
        let trigger = if fields.contains_key("after") { json!({ "type": "manual" }) } else { once };
        fields.insert("trigger".to_owned(), trigger);
    }
    catch_up(&mut fields, submitted_at, now);
    let definition: Definition = strict::from_value(Value::Object(fields))?;
    Ok(SubmittedOrder::Schedule { definition: Box::new(definition), held })
}

/// A time that had not passed when it was written down means now, if nobody read it until then.
fn catch_up(fields: &mut Map<String, Value>, submitted_at: Timestamp, now: Timestamp) {
    let Some(at) = fields.get_mut("trigger").and_then(|trigger| trigger.get_mut("at")) else { return };
    let Some(time) = at.as_str().and_then(|text| text.parse::<Timestamp>().ok()) else { return };
    if time < now && time.plus(AT_GRACE) >= submitted_at {
        *at = json!(now);
    }
}

/// How long a submission that has to wait is left alone, by how often it was taken.
pub fn pause(tries: u32) -> Millis {
    let doubled = 1_u64 << tries.saturating_sub(1).min(16);
    SUBMISSION_PAUSE_MIN.saturating_mul(doubled).min(SUBMISSION_PAUSE_MAX)
}

/// The key under which a submission is carried out once.
pub fn once_key(id: Uuid) -> Vec<u8> {
    [b"submission/".as_slice(), id.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Trigger;
    use crate::schedule::Rule;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ms(ms).unwrap()
    }

    fn labelled(label: &str) -> SubmissionForm {
        SubmissionForm { label: Some(label.into()), ..SubmissionForm::default() }
    }

    fn fires_at(order: SubmittedOrder) -> Timestamp {
        let SubmittedOrder::Schedule { definition, .. } = order else { panic!("{order:?}") };
        let Trigger::Scheduled(schedule) = definition.trigger else { panic!("{definition:?}") };
        let Rule::At { at } = schedule.rule else { panic!("{schedule:?}") };
        at
    }

    #[test]
    fn a_label_alone_is_a_run_of_a_job_that_is_there() {
        let form = SubmissionForm { input: Some(json!({ "to": "ada" })), ..labelled("mail") };
        let run = SubmittedOrder::Run { label: "mail".into(), input: Some(json!({ "to": "ada" })) };
        assert_eq!(form.order(at(0), at(0)), Ok(run));
        let late = SubmissionForm { run_at: Some(at(5)), ..labelled("mail") };
        assert_eq!(late.order(at(0), at(0)).unwrap_err().field, "run_at");
    }

    #[test]
    fn a_tool_is_a_job_that_runs_once_now_or_later() {
        let form = |run_at| SubmissionForm { tool: Some("noop".into()), run_at, ..labelled("once") };
        let now = at(1_000_000);
        assert_eq!(fires_at(form(None).order(at(0), now).unwrap()), now);
        assert_eq!(fires_at(form(Some(at(5_000_000))).order(at(0), now).unwrap()), at(5_000_000));
        assert_eq!(fires_at(form(Some(at(3))).order(at(0), now).unwrap()), now, "what has passed means now");
    }

    #[test]
    fn a_time_that_passed_while_nobody_looked_means_now_and_one_that_was_wrong_stays_wrong() {
        let job = |time: i64| SubmissionForm {
            job: Some(json!({ "label": "a", "tool_name": "noop", "trigger": { "type": "scheduled", "at": at(time) } })),
            ..SubmissionForm::default()
        };
        let (submitted, now) = (at(10_000_000), at(20_000_000));
        assert_eq!(fires_at(job(11_000_000).order(submitted, now).unwrap()), now);
        assert_eq!(fires_at(job(21_000_000).order(submitted, now).unwrap()), at(21_000_000));
        assert_eq!(fires_at(job(1_000).order(submitted, now).unwrap()), at(1_000), "the definition refuses it");
    }

    #[test]
    fn a_job_is_read_as_strictly_as_by_the_api() {
        let read = |job: Value| SubmissionForm { job: Some(job), ..SubmissionForm::default() }.order(at(0), at(0));
        let manual = json!({ "label": "a", "tool_name": "noop", "trigger": { "type": "manual" }, "held": true });
        assert!(matches!(read(manual), Ok(SubmittedOrder::Schedule { held: true, .. })));
        let once = fires_at(read(json!({ "label": "a", "tool_name": "noop" })).unwrap());
        assert_eq!(once, at(0), "without a trigger it runs once, now");
        assert!(read(json!(["a"])).unwrap_err().message.contains("object"));
        assert!(
            read(json!({ "label": "a", "tool_name": "noop", "tirgger": {} })).unwrap_err().field.contains("tirgger")
        );
        let held = json!({ "label": "a", "tool_name": "noop", "trigger": { "type": "manual" }, "held": "yes" });
        assert_eq!(read(held).unwrap_err().field, "held");
        let both = SubmissionForm { job: Some(json!({})), ..labelled("a") };
        assert_eq!(both.order(at(0), at(0)).unwrap_err().field, "job");
        assert_eq!(SubmissionForm::default().order(at(0), at(0)).unwrap_err().field, "job");
    }

    #[test]
    fn whoever_has_to_wait_is_looked_at_less_and_less_often() {
        assert_eq!([1, 2, 3, 5, 6, 60].map(|tries| pause(tries).ms()), [1_000, 2_000, 4_000, 16_000, 30_000, 30_000]);
    }
}
