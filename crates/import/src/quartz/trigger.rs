//! When a trigger of Quartz fires, and what it makes of times that were missed.

use jiff::civil::DateTime;
use jiff::{Span, Timestamp};
use ordo_model::limits::PRIORITY_MAX;
use serde_json::{Value, json};

use super::cron;
use super::xml::Element;

pub(super) struct Plan {
    pub(super) trigger: Value,
    pub(super) misfire: Value,
    pub(super) priority: Option<u8>,
    pub(super) warnings: Vec<String>,
}

impl Plan {
    pub(super) fn manual() -> Plan {
        Plan {
            trigger: json!({ "type": "manual" }),
            misfire: json!("fire_once_now"),
            priority: None,
            warnings: Vec::new(),
        }
    }
}

pub(super) fn plan(trigger: &Element, zone: &str) -> Result<Plan, String> {
    let mut warnings = Vec::new();
    let zone = trigger.text("time-zone").filter(|zone| !zone.is_empty()).unwrap_or(zone);
    let mut schedule = match trigger.name.as_str() {
        "cron" => by_cron(trigger, zone)?,
        "simple" => simple(trigger, zone, &mut warnings)?,
        "calendar-interval" => calendar_interval(trigger, &mut warnings)?,
        other => return Err(format!("a trigger of the kind {other:?} has no counterpart")),
    };
    window(trigger, zone, &mut schedule, &mut warnings)?;
    if let Some(calendar) = trigger.text("calendar-name").filter(|name| !name.is_empty()) {
        warnings.push(format!("the calendar {calendar} is left out: write its days as exclusions of the job"));
    }
    let misfire = misfire(trigger, &mut warnings)?;
    Ok(Plan { trigger: schedule, misfire, priority: priority(trigger, &mut warnings)?, warnings })
}

fn by_cron(trigger: &Element, zone: &str) -> Result<Value, String> {
    let expression = trigger.text("cron-expression").ok_or("it has no cron-expression")?;
    Ok(json!({ "type": "scheduled", "cron": cron::translated(expression)?, "timezone": zone }))
}

/// An interval in milliseconds, so many times more or for ever.
fn simple(trigger: &Element, zone: &str, warnings: &mut Vec<String>) -> Result<Value, String> {
    let number = |name: &str, default: i64| match trigger.text(name).unwrap_or_default() {
        "" => Ok(default),
        "REPEAT_INDEFINITELY" => Ok(-1),
        text => text.parse::<i64>().map_err(|_| format!("{name} {text:?} is no number")),
    };
    let (count, interval) = (number("repeat-count", 0)?, number("repeat-interval", 0)?);
    let start = moment(trigger, "start-time", zone)?;
    if count == 0 {
        return match start {
            Some(at) => Ok(json!({ "type": "scheduled", "at": at.to_string() })),
            None => Err("it fires once, when Quartz starts: that is no time to come".to_owned()),
        };
    }
    if interval <= 0 {
        return Err("it repeats without a repeat-interval".to_owned());
    }
    let mut schedule = json!({ "type": "scheduled", "every": format!("{interval}ms") });
    match (count > 0, start) {
        (false, _) => {}
        (true, Some(start)) => {
            let length = Span::new().try_milliseconds(interval.saturating_mul(count).saturating_add(1));
            let end =
                length.and_then(|length| start.checked_add(length)).map_err(|_| "it ends beyond all calendars")?;
            schedule["end"] = json!(end.to_string());
        }
        (true, None) => {
            warnings.push(format!(
                "repeat-count {count} is left out: without a start-time it has no end; give one with --end"
            ));
        }
    }
    Ok(schedule)
}

fn calendar_interval(trigger: &Element, warnings: &mut Vec<String>) -> Result<Value, String> {
    let text = trigger.text("repeat-interval").unwrap_or_default();
    let count: u64 = text.parse().map_err(|_| format!("repeat-interval {text:?} is no number"))?;
    let unit = trigger.text("repeat-interval-unit").unwrap_or_default().to_ascii_uppercase();
    let every = match unit.as_str() {
        "SECOND" => format!("{count}s"),
        "MINUTE" => format!("{count}m"),
        "HOUR" => format!("{count}h"),
        "DAY" => format!("{count}d"),
        "WEEK" => format!("{}d", count.saturating_mul(7)),
        "MONTH" | "YEAR" => return Err(format!("an interval of {count} {unit} has no fixed length: write it as cron")),
        other => return Err(format!("repeat-interval-unit {other:?} is not known")),
    };
    if ["DAY", "WEEK"].contains(&unit.as_str()) {
        warnings.push("a day is 24 hours here: the time of day moves when the clocks change; cron keeps it".to_owned());
    }
    Ok(json!({ "type": "scheduled", "every": every }))
}

fn window(trigger: &Element, zone: &str, schedule: &mut Value, warnings: &mut Vec<String>) -> Result<(), String> {
    if schedule.get("at").is_none()
        && let Some(start) = moment(trigger, "start-time", zone)?
    {
        schedule["start"] = json!(start.to_string());
    }
    if let Some(end) = moment(trigger, "end-time", zone)? {
        schedule["end"] = json!(end.to_string());
    }
    if trigger.text("start-time-seconds-in-future").is_some() {
        warnings.push("start-time-seconds-in-future is left out: it counts from the start of Quartz".to_owned());
    }
    Ok(())
}

/// xsd:dateTime; without an offset it is wall-clock time.
fn moment(trigger: &Element, name: &str, zone: &str) -> Result<Option<Timestamp>, String> {
    let Some(text) = trigger.text(name).filter(|text| !text.is_empty()) else { return Ok(None) };
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(Some(moment));
    }
    let refuse = |_| format!("{name} {text:?} is no time");
    let wall: DateTime = text.parse().map_err(refuse)?;
    wall.in_tz(zone).map(|moment| Some(moment.timestamp())).map_err(refuse)
}

fn misfire(trigger: &Element, warnings: &mut Vec<String>) -> Result<Value, String> {
    let name = trigger.text("misfire-instruction").unwrap_or_default();
    let short = name.strip_prefix("MISFIRE_INSTRUCTION_").unwrap_or(name);
    Ok(match short {
        "" | "SMART_POLICY" | "FIRE_ONCE_NOW" | "FIRE_NOW" | "FireOnceNow" | "FireNow" | "SmartPolicy" => {
            json!("fire_once_now")
        }
        "DO_NOTHING" | "DoNothing" => json!("do_nothing"),
        "IGNORE_MISFIRE_POLICY" | "IgnoreMisfirePolicy" => {
            warnings.push("IGNORE_MISFIRE_POLICY becomes fire_all, which has a cap and a window".to_owned());
            json!({ "fire_all": {} })
        }
        other if other.starts_with("RESCHEDULE_NEXT") => json!("do_nothing"),
        other if other.starts_with("RESCHEDULE_NOW") => {
            warnings.push(format!("{other}: missed times are made up for once, and the schedule keeps its beat"));
            json!("fire_once_now")
        }
        other => return Err(format!("misfire-instruction {other:?} is not known")),
    })
}

fn priority(trigger: &Element, warnings: &mut Vec<String>) -> Result<Option<u8>, String> {
    let Some(text) = trigger.text("priority").filter(|text| !text.is_empty()) else { return Ok(None) };
    let priority: i64 = text.parse().map_err(|_| format!("priority {text:?} is no number"))?;
    let within = priority.clamp(0, i64::from(PRIORITY_MAX));
    if within != priority {
        warnings.push(format!("priority {priority} becomes {within}"));
    }
    Ok(u8::try_from(within).ok())
}
