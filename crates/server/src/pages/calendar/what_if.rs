//! What if a job were added: a schedule and a duration, typed above the calendar or in the form of a job.

use ordo_api::forecast::ForecastFigures;
use ordo_engine::forecast::{ForecastGround, ProposedJob};
use ordo_model::Millis;
use ordo_model::forecast::Forecast;
use ordo_model::job::Definition;
use serde_json::json;

use crate::http::cookies::encode;
use crate::http::params::Params;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::moment::length;

/// What the job that is thought of is called.
const LABEL: &str = "the new job";

/// What was typed, and what comes of it.
pub(super) struct WhatIf {
    pub(super) cron: String,
    pub(super) zone: String,
    pub(super) took: String,
    pub(super) wrong: Option<String>,
    /// (what, now, then, whether it is worse)
    pub(super) figures: Vec<(&'static str, String, String, bool)>,
    /// The command that says the same.
    pub(super) cli: String,
    with: Option<Forecast>,
}

impl WhatIf {
    pub(super) fn read(ctx: &PageContext, params: &mut Params, ground: &ForecastGround) -> WhatIf {
        let mut text = |name: &str| params.take_text(name).unwrap_or_default().trim().to_owned();
        let (cron, zone, took) = (text("cron"), text("tz"), text("took"));
        let zone = if zone.is_empty() { ctx.preferences.zone_name().to_owned() } else { zone };
        let mut what_if = WhatIf { cron, zone, took, wrong: None, figures: Vec::new(), cli: String::new(), with: None };
        if what_if.cron.is_empty() {
            return what_if;
        }
        match what_if.proposed(ctx) {
            Err(wrong) => what_if.wrong = Some(wrong),
            Ok(job) => {
                let with = ground.with_proposed(&[job]);
                what_if.figures = figures(&ForecastFigures::of(&ground.as_it_stands()), &ForecastFigures::of(&with));
                what_if.cli = what_if.command();
                what_if.with = Some(with);
            }
        }
        what_if
    }

    pub(super) fn forecast(&self) -> Option<Forecast> {
        self.with.clone()
    }

    /// What it adds to an address.
    pub(super) fn query(&self) -> String {
        match self.cron.is_empty() {
            true => String::new(),
            false => format!("&cron={}&tz={}&took={}", encode(&self.cron), encode(&self.zone), encode(&self.took)),
        }
    }

    fn proposed(&self, ctx: &PageContext) -> Result<ProposedJob, String> {
        let took = match self.took.as_str() {
            "" => None,
            text => Some(text.parse::<Millis>().map_err(|_| "takes: must be a duration, such as 5m".to_owned())?),
        };
        let given = json!({ "label": LABEL, "tool_name": "noop",
            "trigger": { "type": "scheduled", "cron": self.cron, "timezone": self.zone } });
        let definition: Definition = serde_json::from_value(given).map_err(|error| error.to_string())?;
        let definition = definition
            .prepared(ctx.now)
            .map_err(|invalid| format!("{}: {}", invalid.field.trim_start_matches("trigger."), invalid.message))?;
        Ok(ProposedJob { definition, took })
    }

    fn command(&self) -> String {
        let job = json!({ "label": LABEL, "tool_name": "noop",
            "trigger": { "type": "scheduled", "cron": self.cron, "timezone": self.zone } });
        let took = if self.took.is_empty() { String::new() } else { format!(" --took {}", self.took) };
        format!("echo '{}' | ordo forecast --if -{took}", job.to_string().replace('\'', r"'\''"))
    }
}

/// (what, now, then, whether it is worse)
pub(crate) fn figures(now: &ForecastFigures, then: &ForecastFigures) -> Vec<(&'static str, String, String, bool)> {
    let least = |figures: &ForecastFigures, count: u64| {
        if figures.is_exact { count.to_string() } else { format!("at least {count}") }
    };
    let time =
        |ms: Millis| if ms.ms() == 0 { "none".to_owned() } else { length(i64::try_from(ms.ms()).unwrap_or(i64::MAX)) };
    let count = |of: u32| if of == 0 { "1".to_owned() } else { of.to_string() };
    vec![
        ("Fires", least(now, now.fires), least(then, then.fires), false),
        ("Runs at once", now.peak.to_string(), then.peak.to_string(), false),
        ("Jobs in the fullest minute", count(now.together), count(then.together), then.together > now.together),
        ("Pool saturation", time(now.saturated), time(then.saturated), then.saturated > now.saturated),
    ]
}
