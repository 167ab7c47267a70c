//! When a job runs: from what was typed to the trigger the server knows.

use ordo_model::Timestamp;
use serde_json::{Map, Value, json};

use crate::cli::definition::{DstRepeated, DstSkipped, TriggerArgs};
use crate::error::{Error, Result};
use crate::zone;

/// The trigger of a new job.
pub(crate) fn new(args: &TriggerArgs, now: Timestamp) -> Result<Value> {
    if let Some(trigger) = with_rule(args, now)? {
        return Ok(trigger);
    }
    if options(args, now)?.is_empty() && args.tz.is_none() {
        return Ok(json!({ "type": "manual" }));
    }
    Err(Error::misused("there is no schedule to which the options belong").hint("add --at, --in, --every or --cron"))
}

/// The trigger of a job after a change: a new rule replaces it, options alone are laid over it.
pub(crate) fn changed(args: &TriggerArgs, now: Timestamp, old: &Value) -> Result<Option<Value>> {
    if let Some(trigger) = with_rule(args, now)? {
        return Ok(Some(trigger));
    }
    let mut options = options(args, now)?;
    if let Some(zone) = &args.tz {
        let is_cron = old.get("cron").is_some();
        let only_for_times = args.start.is_some() || args.end.is_some();
        if is_cron {
            options.insert("timezone".to_owned(), json!(zone));
        } else if !only_for_times {
            return Err(Error::misused("--tz belongs to a cron schedule, and this job has none"));
        }
    }
    if options.is_empty() {
        return Ok(None);
    }
    let mut trigger = old.clone();
    for (name, value) in options {
        put(&mut trigger, &name, Some(value));
    }
    Ok(Some(trigger))
}

fn with_rule(args: &TriggerArgs, now: Timestamp) -> Result<Option<Value>> {
    let mut trigger = match rule(args, now)? {
        Some(rule) => rule,
        None => return Ok(None),
    };
    for (name, value) in options(args, now)? {
        put(&mut trigger, &name, Some(value));
    }
    Ok(Some(trigger))
}

fn rule(args: &TriggerArgs, now: Timestamp) -> Result<Option<Value>> {
    if let Some(text) = &args.at {
        let at = zone::parse("--at", text, &zone::asked(args.tz.as_deref())?, now)?;
        return Ok(Some(json!({ "type": "scheduled", "at": at })));
    }
    if let Some(after) = args.after {
        return Ok(Some(json!({ "type": "scheduled", "at": now.plus(after) })));
    }
    if let Some(every) = args.every {
        return Ok(Some(json!({ "type": "scheduled", "every": every })));
    }
    if let Some(expr) = &args.cron {
        let zone = args.tz.as_deref().unwrap_or("UTC");
        return Ok(Some(json!({ "type": "scheduled", "cron": expr, "timezone": zone })));
    }
    Ok(args.on_hook.as_ref().map(|slug| json!({ "type": "webhook", "hook": slug })))
}

/// Everything besides the rule.
fn options(args: &TriggerArgs, now: Timestamp) -> Result<Map<String, Value>> {
    let mut options = Map::new();
    for (name, flag, text) in [("start", "--start", &args.start), ("end", "--end", &args.end)] {
        if let Some(text) = text {
            options.insert(name.to_owned(), json!(zone::parse(flag, text, &zone::asked(args.tz.as_deref())?, now)?));
        }
    }
    if let Some(jitter) = args.jitter {
        options.insert("jitter".to_owned(), json!(jitter));
    }
    if !args.exclude.is_empty() {
        options.insert("exclude".to_owned(), json!(args.exclude));
    }
    if let Some(dst) = dst_json(args.dst_skipped, args.dst_repeated) {
        options.insert("dst".to_owned(), dst);
    }
    Ok(options)
}

pub(crate) fn dst_json(skipped: Option<DstSkipped>, repeated: Option<DstRepeated>) -> Option<Value> {
    let skipped = skipped.map(|rule| match rule {
        DstSkipped::Shift => "shift",
        DstSkipped::Skip => "skip",
    });
    let repeated = repeated.map(|rule| match rule {
        DstRepeated::First => "first",
        DstRepeated::Last => "last",
        DstRepeated::Both => "both",
    });
    let mut dst = Map::new();
    dst.extend(skipped.map(|rule| ("skipped".to_owned(), json!(rule))));
    dst.extend(repeated.map(|rule| ("repeated".to_owned(), json!(rule))));
    (!dst.is_empty()).then_some(Value::Object(dst))
}

pub(crate) fn put(object: &mut Value, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        object[name] = value;
    }
}
