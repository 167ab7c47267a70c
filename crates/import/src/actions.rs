//! Actions as the seed's orchestrator writes them: one, a list, or one on each line.
//!
//! Invariant: an action that still has something to do becomes a job; of every other one it is said why it does not.

use ordo_model::job::action;
use serde_json::{Map, Value};

use super::draft::{Imported, JobDraft, Refused, tell_apart};

/// About which an action speaks.
const STATED: &[&str] = &["tool_name", "tool_input", "trigger"];

/// The file is neither JSON nor JSON on each line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotJson(String);

pub fn read(text: &str) -> Result<Imported, NotJson> {
    let mut reading = Imported::default();
    for (place, action) in values(text)? {
        match draft(&place, action) {
            Ok(draft) => reading.drafts.push(draft),
            Err(LeftOut::Refused(why)) => reading.refused.push(Refused { place, why }),
            Err(LeftOut::Over(why)) => reading.notes.push(format!("{place} is left out: {why}")),
        }
    }
    tell_apart(&mut reading.drafts);
    Ok(reading)
}

/// Each action with where it stands.
fn values(text: &str) -> Result<Vec<(String, Value)>, NotJson> {
    let whole = match serde_json::from_str(text) {
        Ok(Value::Array(actions)) => actions,
        Ok(one) => vec![one],
        Err(error) => return lines(text).ok_or_else(|| NotJson(error.to_string())),
    };
    Ok(whole.into_iter().enumerate().map(|(place, action)| (format!("action {}", place + 1), action)).collect())
}

fn lines(text: &str) -> Option<Vec<(String, Value)>> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let read = lines.map(|(place, line)| Some((format!("line {}", place + 1), serde_json::from_str(line).ok()?)));
    read.collect()
}

/// Why an action becomes no job.
enum LeftOut {
    /// It has nothing left to do.
    Over(String),
    Refused(String),
}

fn draft(place: &str, action: Value) -> Result<JobDraft, LeftOut> {
    let Value::Object(mut fields) = action else {
        return Err(LeftOut::Refused("is no action: not an object".to_owned()));
    };
    let id = fields.remove("id").and_then(|id| id.as_str().map(str::to_owned)).unwrap_or_default();
    let status = fields.remove("status");
    for name in ["created_at", "updated_at"] {
        fields.remove(name);
    }
    let Some(Value::String(label)) = fields.remove("label") else {
        return Err(LeftOut::Refused("has no label".to_owned()));
    };
    judge(&label, &fields, status.as_ref())?;
    let fields = action::as_job(fields)
        .map_err(|invalid| LeftOut::Refused(format!("{}: {}", invalid.field, invalid.message)))?;
    let warnings = match status.as_ref().and_then(|status| status["type"].as_str()) {
        Some("running") => {
            vec!["was running when it was written down: see whether that run should be repeated".to_owned()]
        }
        Some(_) | None => Vec::new(),
    };
    let label = if label.trim().is_empty() { id } else { label };
    Ok(JobDraft { place: place.to_owned(), label, fields, stated: STATED, held: false, warnings })
}

/// Whether it has something left to do: a pending one, or one that recurs.
fn judge(label: &str, fields: &Map<String, Value>, status: Option<&Value>) -> Result<(), LeftOut> {
    let recurs = fields.get("recurrence").is_some_and(|recurrence| !recurrence.is_null());
    let over =
        |what: &str| LeftOut::Over(format!("{label:?} {what}, and it does not recur; its past is not taken over"));
    match status.and_then(|status| status["type"].as_str()) {
        None | Some("pending") => Ok(()),
        Some("running" | "completed" | "failed") if recurs => Ok(()),
        Some("completed") => Err(over("has completed")),
        Some("failed") => Err(over("has failed")),
        Some("running") => Err(over("was running when it was written down")),
        Some(other) => Err(LeftOut::Refused(format!("has the unknown status {other:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn action(label: &str, status: &Value, recurrence: Option<u64>) -> Value {
        json!({
            "id": "6f0c9c9e-6d3b-4c0e-9a52-0f7d0a7d3c11", "label": label, "tool_name": "noop", "tool_input": {"n": 1},
            "trigger": {"type": "scheduled", "next_tick_at": "2027-01-01T00:00:00Z"}, "status": status,
            "recurrence": recurrence, "created_at": "2026-11-01T00:00:00Z", "updated_at": "2026-11-02T00:00:00Z"
        })
    }

    #[test]
    fn pending_ones_become_jobs_and_of_the_others_it_is_said_why_not() {
        let list = json!([
            action("once", &json!({"type": "pending"}), None),
            action("often", &json!({"type": "failed", "reason": "x"}), Some(60)),
            action("done", &json!({"type": "completed", "result": 1}), None),
            action("odd", &json!({"type": "lost"}), None),
        ]);
        let reading = read(&list.to_string()).unwrap();
        let jobs: Vec<_> =
            reading.drafts.iter().map(|draft| (draft.label.as_str(), &draft.fields["trigger"])).collect();
        let at = "2027-01-01T00:00:00Z";
        let once = json!({"type": "scheduled", "at": at});
        let often = json!({"type": "scheduled", "every": "60000ms", "start": at});
        assert_eq!(jobs, [("once", &once), ("often", &often)]);
        assert_eq!(reading.notes.len(), 1);
        assert!(reading.notes[0].contains("action 3") && reading.notes[0].contains("has completed"));
        assert_eq!(reading.refused[0].place, "action 4");
    }

    #[test]
    fn one_on_each_line_and_a_single_one_are_read_too() {
        let one = action("a", &json!({"type": "pending"}), None);
        assert_eq!(read(&one.to_string()).unwrap().drafts.len(), 1);
        let lines = read(&format!("{one}\n\n{one}\n")).unwrap();
        let labels: Vec<_> = lines.drafts.iter().map(|draft| (draft.place.as_str(), draft.label.as_str())).collect();
        assert_eq!(labels, [("line 1", "a"), ("line 3", "a (2)")]);
        assert!(read("label: a").is_err());
    }

    #[test]
    fn a_webhook_with_its_payload_is_refused_with_what_to_do() {
        let mut hook = action("h", &json!({"type": "pending"}), None);
        hook["trigger"] = json!({"type": "webhook", "raw_payload": [123], "received_at": "2026-11-01T00:00:00Z"});
        let reading = read(&hook.to_string()).unwrap();
        assert!(reading.refused[0].why.contains("hook"), "{:?}", reading.refused);
    }
}
