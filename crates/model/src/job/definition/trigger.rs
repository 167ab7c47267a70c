//! What makes a job run: its schedule, a webhook, or only people.

use serde::{Deserialize, Serialize};

use crate::schedule::{Dst, Exclusion, Rule, Schedule};
use crate::time::{Millis, Timestamp};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "TriggerForm", into = "TriggerForm")]
pub enum Trigger {
    Scheduled(Schedule),
    Webhook { hook: String },
    Manual,
}

impl Trigger {
    pub const NAMES: [&'static str; 3] = ["scheduled", "webhook", "manual"];

    /// Its `type` on the wire.
    pub const fn name(&self) -> &'static str {
        match self {
            Trigger::Scheduled(_) => Self::NAMES[0],
            Trigger::Webhook { .. } => Self::NAMES[1],
            Trigger::Manual => Self::NAMES[2],
        }
    }

    /// For keys: never changes once released.
    pub const fn code(&self) -> u8 {
        match self {
            Trigger::Scheduled(_) => 0,
            Trigger::Webhook { .. } => 1,
            Trigger::Manual => 2,
        }
    }

    pub fn code_of(name: &str) -> Option<u8> {
        Self::NAMES.iter().position(|known| *known == name).and_then(|place| u8::try_from(place).ok())
    }

    pub fn schedule(&self) -> Option<&Schedule> {
        match self {
            Trigger::Scheduled(schedule) => Some(schedule),
            Trigger::Webhook { .. } | Trigger::Manual => None,
        }
    }

    /// Whether the job has exactly one occurrence.
    pub fn is_one_off(&self) -> bool {
        matches!(self, Trigger::Scheduled(Schedule { rule: Rule::At { .. }, .. }))
    }
}

/// The trigger on the wire: one flat object, distinguished by `type`.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TriggerForm {
    r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    every: Option<Millis>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cron: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timezone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dst: Option<Dst>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jitter: Option<Millis>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    exclude: Vec<Exclusion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook: Option<String>,
}

impl TriggerForm {
    fn has_schedule_fields(&self) -> bool {
        self.at.is_some()
            || self.every.is_some()
            || self.cron.is_some()
            || self.timezone.is_some()
            || self.dst.is_some()
            || self.start.is_some()
            || self.end.is_some()
            || self.jitter.is_some()
            || !self.exclude.is_empty()
    }
}

impl TryFrom<TriggerForm> for Trigger {
    type Error = String;

    fn try_from(form: TriggerForm) -> Result<Trigger, String> {
        match form.r#type.as_str() {
            "scheduled" if form.hook.is_some() => Err("a scheduled trigger has no hook".into()),
            "scheduled" => schedule(form).map(Trigger::Scheduled),
            "webhook" | "manual" if form.has_schedule_fields() => {
                Err(format!("a {} trigger has no schedule: leave out at, every, cron and their options", form.r#type))
            }
            "webhook" => match form.hook {
                Some(hook) if !hook.is_empty() => Ok(Trigger::Webhook { hook }),
                _ => {
                    Err("a webhook trigger needs the slug of its hook: {\"type\": \"webhook\", \"hook\": \"slug\"}"
                        .into())
                }
            },
            "manual" if form.hook.is_some() => Err("a manual trigger has no hook".into()),
            "manual" => Ok(Trigger::Manual),
            "" => Err("a trigger needs a type: scheduled, webhook or manual".into()),
            other => Err(format!("unknown trigger type {other:?}: use scheduled, webhook or manual")),
        }
    }
}

fn schedule(form: TriggerForm) -> Result<Schedule, String> {
    let cron_only = form.timezone.is_some() || form.dst.is_some();
    let rule = match (form.at, form.every, form.cron) {
        (Some(at), None, None) => Rule::At { at },
        (None, Some(every), None) => Rule::Every { every },
        (None, None, Some(expr)) => Rule::Cron {
            expr,
            timezone: form.timezone.unwrap_or_else(|| "UTC".into()),
            dst: form.dst.unwrap_or_default(),
        },
        (None, None, None) => return Err("a scheduled trigger needs one of at, every or cron".into()),
        _ => return Err("a scheduled trigger takes only one of at, every and cron".into()),
    };
    if cron_only && !matches!(rule, Rule::Cron { .. }) {
        return Err("timezone and dst belong to a cron schedule".into());
    }
    Ok(Schedule { rule, start: form.start, end: form.end, jitter: form.jitter, exclude: form.exclude })
}

impl From<Trigger> for TriggerForm {
    fn from(trigger: Trigger) -> TriggerForm {
        match trigger {
            Trigger::Manual => TriggerForm { r#type: "manual".into(), ..TriggerForm::default() },
            Trigger::Webhook { hook } => {
                TriggerForm { r#type: "webhook".into(), hook: Some(hook), ..TriggerForm::default() }
            }
            Trigger::Scheduled(schedule) => scheduled_form(schedule),
        }
    }
}

fn scheduled_form(schedule: Schedule) -> TriggerForm {
    let mut form = TriggerForm {
        r#type: "scheduled".into(),
        start: schedule.start,
        end: schedule.end,
        jitter: schedule.jitter,
        exclude: schedule.exclude,
        ..TriggerForm::default()
    };
    match schedule.rule {
        Rule::At { at } => form.at = Some(at),
        Rule::Every { every } => form.every = Some(every),
        Rule::Cron { expr, timezone, dst } => {
            form.cron = Some(expr);
            form.timezone = Some(timezone);
            form.dst = (dst != Dst::default()).then_some(dst);
        }
    }
    form
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Trigger, String> {
        serde_json::from_str(text).map_err(|e| e.to_string())
    }

    #[test]
    fn a_trigger_is_written_as_it_is_read() {
        for text in [
            r#"{"type":"scheduled","at":"2026-11-15T19:20:00.000Z"}"#,
            r#"{"type":"scheduled","every":"10s","start":"2026-11-15T19:20:00.000Z"}"#,
            r#"{"type":"scheduled","cron":"0 2 * * *","timezone":"Europe/Berlin","jitter":"1m"}"#,
            r#"{"type":"webhook","hook":"github"}"#,
            r#"{"type":"manual"}"#,
        ] {
            let trigger = read(text).unwrap();
            assert_eq!(serde_json::to_string(&trigger).unwrap(), text);
            assert!(text.starts_with(&format!("{{\"type\":\"{}\"", trigger.name())));
        }
    }

    #[test]
    fn a_trigger_that_says_too_little_or_too_much_is_refused_with_what_to_do() {
        for (text, says) in [
            (r#"{"type":"scheduled"}"#, "needs one of at, every or cron"),
            (r#"{"type":"scheduled","every":"1s","cron":"* * * * *"}"#, "only one of"),
            (r#"{"type":"scheduled","every":"1s","timezone":"UTC"}"#, "belong to a cron"),
            (r#"{"type":"manual","every":"1s"}"#, "no schedule"),
            (r#"{"type":"webhook"}"#, "slug"),
            (r#"{"type":"cron"}"#, "unknown trigger type"),
            (r#"{"cron":"* * * * *"}"#, "needs a type"),
            (r#"{"type":"manual","color":"red"}"#, "color"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
