//! The made-up fleet of the demo, as `fleet.json` has it: its jobs, how each of them behaves, and what people did.
//!
//! Invariant: nothing in it depends on chance. The same job at the same time behaves the same, so that a story that was
//! looked at once is the story that everybody sees.

use ordo_model::incident::EscalationStep;
use ordo_model::monitor::MonitorSettings;
use ordo_model::{Millis, Timestamp};
use serde::Deserialize;
use serde_json::{Map, Value};

const FLEET: &str = include_str!("fleet.json");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fleet {
    pub(super) outage: Outage,
    pub(super) escalation: Vec<EscalationStep>,
    pub(super) executors: Vec<FleetExecutor>,
    pub(super) jobs: Vec<FleetJob>,
    pub(super) hooks: Vec<FleetHook>,
    pub(super) monitors: Vec<FleetMonitor>,
    pub(super) responses: Vec<Response>,
}

/// The server was away for a while: what was due is late, or missed.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Outage {
    pub(super) ago: Millis,
    pub(super) lasts: Millis,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FleetExecutor {
    pub(super) name: String,
    pub(super) group: String,
    pub(super) tools: Vec<String>,
    pub(super) capacity: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FleetJob {
    /// Who added it.
    pub(super) by: String,
    /// How long ago; otherwise when the history begins.
    #[serde(default)]
    pub(super) added: Option<Millis>,
    /// The job that it comes after, by its label.
    #[serde(default)]
    pub(super) after: Option<String>,
    /// Until the end of the history it runs in the server itself, then on executors of this group.
    #[serde(default)]
    pub(super) ends_in_group: Option<String>,
    #[serde(default)]
    pub(super) paused: Option<Paused>,
    pub(super) definition: Map<String, Value>,
    pub(super) act: Behaviour,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Paused {
    pub(super) ago: Millis,
    pub(super) by: String,
    pub(super) reason: String,
}

/// How a job behaves.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Behaviour {
    /// The shortest and the longest.
    pub(super) takes: (Millis, Millis),
    pub(super) says: Vec<String>,
    pub(super) result: Value,
    #[serde(default)]
    pub(super) fails: Vec<FailureRule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FailureRule {
    /// How long ago it began, and ended: without, always, or to this day.
    #[serde(default)]
    pub(super) from: Option<Millis>,
    #[serde(default)]
    pub(super) to: Option<Millis>,
    /// One run in so many; without, all of them.
    #[serde(default)]
    pub(super) one_in: Option<u64>,
    /// So many attempts of such a run; without, all of them.
    #[serde(default)]
    pub(super) attempts: Option<u32>,
    pub(super) reason: String,
    pub(super) says: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FleetHook {
    pub(super) slug: String,
    pub(super) every: Millis,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Value,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FleetMonitor {
    pub(super) settings: MonitorSettings,
    pub(super) pings_every: Millis,
    #[serde(default)]
    pub(super) silent: Option<MonitorSilence>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MonitorSilence {
    /// How long ago it fell silent.
    pub(super) from: Millis,
}

/// What people do about the incident of a job or a monitor.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Response {
    pub(super) to: String,
    pub(super) steps: Vec<ResponseStep>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResponseStep {
    pub(super) after: Millis,
    pub(super) by: String,
    pub(super) does: ResponseAction,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ResponseAction {
    Acknowledge,
    Assign(String),
    Note(String),
    Mitigate(String),
    /// Runs the job once, now.
    Trigger(String),
}

impl Fleet {
    pub(super) fn read() -> Fleet {
        serde_json::from_str(FLEET).expect("fleet.json is part of the program, and a test reads it")
    }

    /// The job that pretends, by its label and what it hands to its tool; one that comes after another hands on more.
    pub(super) fn job(&self, label: &str, input: &Value) -> Option<&FleetJob> {
        let hands = |job: &FleetJob| {
            let own = job.definition.get("tool_input").and_then(Value::as_object);
            own.is_some_and(|own| own.iter().all(|(key, value)| input.get(key) == Some(value)))
        };
        self.jobs.iter().find(|job| job.label() == label && hands(job))
    }

    /// The names of the tools that the fleet's jobs use.
    pub(super) fn tools(&self) -> impl Iterator<Item = &str> {
        self.jobs.iter().filter_map(|job| job.definition.get("tool_name")?.as_str())
    }
}

impl FleetJob {
    pub(super) fn label(&self) -> &str {
        self.definition.get("label").and_then(Value::as_str).unwrap_or_default()
    }
}

impl Behaviour {
    /// How long this run takes.
    pub(super) fn length(&self, seed: u64) -> Millis {
        let (shortest, longest) = (self.takes.0.ms(), self.takes.1.ms());
        Millis::from_ms(shortest + mixed(seed) % (longest.saturating_sub(shortest) + 1))
    }

    /// Why this attempt fails, if it does. `started` is when the demo was. A run that somebody asked for succeeds also
    /// while those of the schedule fail: who asks has mended something.
    pub(super) fn failure(&self, run: &PretendedRun, started: Timestamp) -> Option<&FailureRule> {
        let PretendedRun { scheduled_for, seed, attempt } = *run;
        self.fails.iter().find(|failing| {
            let ago = |length: Option<Millis>| length.map(|length| started.minus(length));
            let has_begun = ago(failing.from).is_none_or(|from| scheduled_for.is_some_and(|at| from <= at));
            let goes_on = ago(failing.to).is_none_or(|to| scheduled_for.is_none_or(|at| at < to));
            let is_one = failing.one_in.is_none_or(|many| mixed(seed.wrapping_add(1)).is_multiple_of(many));
            has_begun && goes_on && is_one && failing.attempts.is_none_or(|attempts| attempt <= attempts)
        })
    }
}

/// One attempt of a job of the fleet.
#[derive(Debug, Clone, Copy)]
pub(super) struct PretendedRun {
    pub(super) scheduled_for: Option<Timestamp>,
    pub(super) seed: u64,
    pub(super) attempt: u32,
}

/// Different for every job and time, always the same for the same.
pub(super) fn seed(label: &str, at: Timestamp) -> u64 {
    let start = at.ms().unsigned_abs() / 1_000;
    label.bytes().fold(start, |sum, byte| mixed(sum ^ u64::from(byte)))
}

/// The bits well shaken (the finaliser of SplitMix64).
fn mixed(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fleet_can_be_read_and_refers_only_to_what_it_has() {
        let fleet = Fleet::read();
        let has = |label: &str| fleet.jobs.iter().any(|job| job.label() == label);
        assert!(fleet.jobs.iter().filter_map(|job| job.after.as_deref()).all(has));
        let is_monitor = |name: &str| fleet.monitors.iter().any(|monitor| monitor.settings.name == name);
        assert!(fleet.responses.iter().all(|response| has(&response.to) || is_monitor(&response.to)));
        let group_of = |job: &FleetJob| job.ends_in_group.clone().unwrap_or_else(|| "default".into());
        for job in fleet.jobs.iter().filter(|job| group_of(job) != "default") {
            let tool = job.definition["tool_name"].as_str().unwrap().to_owned();
            let offered = fleet.executors.iter().any(|one| one.group == group_of(job) && one.tools.contains(&tool));
            assert!(offered, "{}", job.label());
        }
    }

    #[test]
    fn a_run_behaves_the_same_whenever_it_is_looked_at() {
        let fleet = Fleet::read();
        let (now, act) = (Timestamp::from_ms(1_800_000_000_000).unwrap(), &fleet.jobs[1].act);
        let at = now.minus(Millis::from_hours(30));
        let seed = seed("settle-payments", at);
        assert_eq!(act.length(seed), act.length(seed));
        assert!((act.takes.0..=act.takes.1).contains(&act.length(seed)));
        let run = PretendedRun { scheduled_for: Some(now), seed, attempt: 2 };
        let just_now = act.failure(&run, now).map(|failing| failing.reason.as_str());
        assert_eq!(just_now, Some("cardhouse answered 503 Service Unavailable"));
        assert!(act.failure(&PretendedRun { scheduled_for: None, ..run }, now).is_none());
    }
}
