//! The seed's action read as a job: the same wish in other words.
//!
//! Invariant: reading is pure and says no by name. What an action cannot say (a calendar, policies) keeps its default;
//! what a job cannot take over (an id, a status, times of its own) is refused.

use serde_json::{Map, Value, json};

use super::definition::Invalid;

/// What an exported action says of its own past.
const PAST: [&str; 4] = ["id", "status", "created_at", "updated_at"];

/// The fields of a job: those that were given, or those that the given action stands for.
pub fn as_job(mut fields: Map<String, Value>) -> Result<Map<String, Value>, Invalid> {
    let recurrence = fields.remove("recurrence");
    let Some(Value::Object(trigger)) = fields.get_mut("trigger") else {
        return match recurrence {
            Some(_) => Err(Invalid::new("recurrence", "goes with a trigger that says when it begins: next_tick_at")),
            None => Ok(fields),
        };
    };
    for name in ["raw_payload", "received_at"] {
        if trigger.contains_key(name) {
            let message = "a payload comes through a hook: give {\"type\": \"webhook\", \"hook\": \"slug\"}";
            return Err(Invalid::new(format!("trigger.{name}"), message));
        }
    }
    if let Some(seconds) = trigger.get("every").filter(|every| every.is_number()) {
        let every = length("trigger.every", seconds)?;
        trigger.insert("every".to_owned(), every);
    }
    if recurrence.is_none() && !trigger.contains_key("next_tick_at") {
        return Ok(fields);
    }
    begin(trigger, recurrence.as_ref().filter(|recurrence| !recurrence.is_null()))?;
    if let Some(name) = PAST.into_iter().find(|name| fields.contains_key(*name)) {
        let message = "belongs to an action that was exported: leave it out, or read the file with ordo import actions";
        return Err(Invalid::new(name, message));
    }
    Ok(fields)
}

/// A first time, and perhaps a length after which it comes again.
fn begin(trigger: &mut Map<String, Value>, recurrence: Option<&Value>) -> Result<(), Invalid> {
    let own = ["every", "cron"].into_iter().find(|name| trigger.contains_key(*name));
    if let (Some(own), Some(_)) = (own, recurrence) {
        return Err(Invalid::new("recurrence", format!("the trigger says {own} already: leave out one of them")));
    }
    let first = match (trigger.remove("next_tick_at"), trigger.contains_key("at") || trigger.contains_key("start")) {
        (Some(_), true) => return Err(Invalid::new("trigger.next_tick_at", "is said twice: leave out at and start")),
        (Some(first), false) => Some(first),
        (None, _) => trigger.remove("at"),
    };
    match (recurrence, first) {
        (Some(recurrence), Some(first)) => {
            trigger.insert("every".to_owned(), length("recurrence", recurrence)?);
            trigger.insert("start".to_owned(), first);
        }
        (Some(_), None) => {
            return Err(Invalid::new("trigger.next_tick_at", "is missing: a recurrence begins at some time"));
        }
        // A job that says how it recurs says with the first time where that begins.
        (None, Some(first)) if own.is_some() => drop(trigger.insert("start".to_owned(), first)),
        (None, Some(first)) => drop(trigger.insert("at".to_owned(), first)),
        (None, None) => {}
    }
    Ok(())
}

/// Seconds, as the seed writes a length; or a length as everywhere here.
fn length(field: &str, given: &Value) -> Result<Value, Invalid> {
    let wrong = || Invalid::new(field, "must be a number of seconds above zero, or a length like \"90s\"");
    match given {
        Value::String(text) => Ok(json!(text)),
        Value::Number(seconds) => {
            let ms = seconds.as_f64().map(|seconds| (seconds * 1_000.0).round()).ok_or_else(wrong)?;
            if !(1.0..9e15).contains(&ms) {
                return Err(wrong());
            }
            Ok(json!(format!("{ms:.0}ms")))
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(action: Value) -> Result<Value, String> {
        let Value::Object(fields) = action else { panic!("an object") };
        as_job(fields).map(Value::Object).map_err(|invalid| format!("{}: {}", invalid.field, invalid.message))
    }

    #[test]
    fn an_action_becomes_a_job_that_begins_and_recurs_as_it_says() {
        let at = "2027-01-01T00:00:00Z";
        let action = |recurrence: Value| {
            let trigger = json!({"type": "scheduled", "next_tick_at": at});
            json!({"label": "a", "tool_name": "noop", "tool_input": {}, "trigger": trigger, "recurrence": recurrence})
        };
        let job = |trigger: Value| json!({"label": "a", "tool_name": "noop", "tool_input": {}, "trigger": trigger});
        let every = json!({"type": "scheduled", "every": "60000ms", "start": at});
        assert_eq!(read(action(json!(60))), Ok(job(every)));
        assert_eq!(read(action(Value::Null)), Ok(job(json!({"type": "scheduled", "at": at}))));
    }

    #[test]
    fn a_number_is_a_length_in_seconds() {
        let read = |every: Value| read(json!({"trigger": {"type": "scheduled", "every": every}}));
        assert_eq!(read(json!(60)).unwrap()["trigger"]["every"], "60000ms");
        assert_eq!(read(json!(0.25)).unwrap()["trigger"]["every"], "250ms");
        assert_eq!(read(json!("10s")).unwrap()["trigger"]["every"], "10s");
        for wrong in [json!(0), json!(-5), json!(0.0001)] {
            assert!(read(wrong).unwrap_err().contains("above zero"));
        }
    }

    #[test]
    fn a_job_in_our_own_words_is_left_as_it_is() {
        for job in [
            json!({"label": "a", "trigger": {"type": "scheduled", "cron": "* * * * *"}}),
            json!({"label": "a", "trigger": {"type": "manual"}}),
            json!({"label": "a", "trigger": "odd"}),
            json!({"label": "a"}),
        ] {
            assert_eq!(read(job.clone()), Ok(job));
        }
    }

    #[test]
    fn what_an_action_says_too_much_or_too_little_is_refused_by_name() {
        let trigger = json!({"type": "scheduled", "next_tick_at": "2027-01-01T00:00:00Z"});
        for name in PAST {
            let refusal = read(json!({"trigger": trigger, name: "x"})).unwrap_err();
            assert!(refusal.starts_with(&format!("{name}: ")) && refusal.contains("ordo import actions"), "{refusal}");
        }
        for (action, says) in [
            (json!({"recurrence": 60}), "recurrence: goes with a trigger"),
            (json!({"recurrence": 60, "trigger": {"type": "manual"}}), "trigger.next_tick_at: is missing"),
            (json!({"recurrence": 60, "trigger": {"type": "scheduled", "cron": "* * * * *"}}), "says cron already"),
            (json!({"trigger": {"type": "webhook", "raw_payload": [1]}}), "trigger.raw_payload: a payload comes"),
            (json!({"trigger": {"type": "scheduled", "at": "x", "next_tick_at": "x"}}), "is said twice"),
            (json!({"recurrence": true, "trigger": trigger}), "recurrence: must be a number of seconds"),
        ] {
            let refusal = read(action).unwrap_err();
            assert!(refusal.contains(says), "{refusal}");
        }
    }
}
