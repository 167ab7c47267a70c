//! When a timer fires, as triggers: one for each `OnCalendar=`, one for its interval.

use ordo_model::Millis;
use ordo_model::limits::JITTER_MAX;
use serde_json::{Value, json};

use super::unit::{UnitName, Units};
use super::{calendar, left_out, span};

const TIMER: &str = "Timer";

/// A job in the making: what it does comes from the service.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) trigger: Value,
    pub(super) misfire: &'static str,
    pub(super) warnings: Vec<String>,
}

/// `Unit=`, or the service of the same name.
pub(super) fn service_of(units: &Units, timer: &UnitName) -> Result<UnitName, String> {
    match units.value(timer, TIMER, "Unit") {
        None => Ok(UnitName { stem: timer.stem.clone(), kind: "service".to_owned() }),
        Some(name) => match UnitName::parse(name).filter(|unit| unit.kind == "service") {
            Some(unit) => Ok(unit),
            None => Err(format!("it starts {name}, which is no service")),
        },
    }
}

pub(super) fn plans(units: &Units, timer: &UnitName, zone: &str) -> Result<Vec<Planned>, String> {
    if timer.is_template() {
        return Err("it is a template: import the instances that are enabled, such as backup@home.timer".to_owned());
    }
    let jitter = jitter(units, timer)?;
    let shared = left_out::of_timer(units, timer);
    let misfire = if units.is_true(timer, TIMER, "Persistent") { "fire_once_now" } else { "do_nothing" };
    let mut plans = Vec::new();
    for event in units.values(timer, TIMER, "OnCalendar") {
        let event = calendar::parse(event)?;
        let zone = event.zone.as_deref().unwrap_or(zone);
        let trigger = json!({ "type": "scheduled", "cron": event.cron, "timezone": zone });
        plans.push(Planned { trigger: delayed(trigger, jitter), misfire, warnings: shared.clone() });
    }
    plans.extend(interval(units, timer, jitter, &shared)?);
    if plans.is_empty() {
        plans.push(at_boot(units, timer, shared)?);
    }
    Ok(plans)
}

fn delayed(mut trigger: Value, jitter: Option<Millis>) -> Value {
    if let Some(jitter) = jitter {
        trigger["jitter"] = json!(jitter);
    }
    trigger
}

fn jitter(units: &Units, timer: &UnitName) -> Result<Option<Millis>, String> {
    let Some(text) = units.value(timer, TIMER, "RandomizedDelaySec") else { return Ok(None) };
    let Some(length) = span::parse(text)? else { return Err("RandomizedDelaySec=infinity never fires".to_owned()) };
    if length > JITTER_MAX {
        return Err(format!("RandomizedDelaySec={text} is longer than the longest jitter, {JITTER_MAX}"));
    }
    Ok(Some(length).filter(|length| length.ms() > 0))
}

/// Counted from the last start or end of the unit: the nearest to it is an interval.
fn interval(
    units: &Units,
    timer: &UnitName,
    jitter: Option<Millis>,
    shared: &[String],
) -> Result<Option<Planned>, String> {
    let (key, text) =
        match (units.value(timer, TIMER, "OnUnitActiveSec"), units.value(timer, TIMER, "OnUnitInactiveSec")) {
            (Some(text), _) => ("OnUnitActiveSec", text),
            (None, Some(text)) => ("OnUnitInactiveSec", text),
            (None, None) => return Ok(None),
        };
    let Some(every) = span::parse(text)? else { return Err(format!("{key}=infinity never fires")) };
    let mut warnings = shared.to_vec();
    if key == "OnUnitInactiveSec" {
        warnings.push("OnUnitInactiveSec= counts from the end of a run; the interval counts from its start".to_owned());
    }
    for first in ["OnBootSec", "OnStartupSec", "OnActiveSec"] {
        if units.value(timer, TIMER, first).is_some() {
            warnings.push(format!("{first}= is left out: the interval begins with the import"));
        }
    }
    let mut trigger = json!({ "type": "scheduled", "every": every });
    match jitter {
        Some(jitter) if jitter >= every => {
            warnings.push("RandomizedDelaySec= is left out: it is not shorter than the interval".to_owned());
        }
        jitter => trigger = delayed(trigger, jitter),
    }
    // What fell into the time the machine was off is not made up for.
    Ok(Some(Planned { trigger, misfire: "do_nothing", warnings }))
}

fn at_boot(units: &Units, timer: &UnitName, mut warnings: Vec<String>) -> Result<Planned, String> {
    let keys = ["OnBootSec", "OnStartupSec", "OnActiveSec"];
    let Some(key) = keys.into_iter().find(|key| units.value(timer, TIMER, key).is_some()) else {
        return Err("it has no OnCalendar= and no interval: it never fires".to_owned());
    };
    warnings.push(format!(
        "{key}= has no time: the job runs only when triggered; let the system do that when it starts: \
         ordo job trigger {}",
        timer.stem
    ));
    Ok(Planned { trigger: json!({ "type": "manual" }), misfire: "do_nothing", warnings })
}
