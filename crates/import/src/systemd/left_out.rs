//! The directives for which Ordo has no counterpart.
//!
//! Invariant: those that are carried over, or mean nothing here, are named in this file; any other is reported, also one
//! that systemd does not have yet.

use std::collections::BTreeSet;

use super::unit::{UnitName, Units};

/// (section, the directives in it that need no warning)
const SERVICE: [(&str, &[&str]); 3] = [
    (
        "Service",
        &[
            "Type",
            "ExecStart",
            "ExecStartPre",
            "ExecStartPost",
            "ExecCondition",
            "Environment",
            "WorkingDirectory",
            "TimeoutStartSec",
            "TimeoutSec",
            "TimeoutStopSec",
            "RuntimeMaxSec",
            "Restart",
            "RestartSec",
            "User",
            "Group",
            "EnvironmentFile",
            "StandardOutput",
            "StandardError",
            "SyslogIdentifier",
            "SyslogLevel",
            "RemainAfterExit",
            "KillMode",
            "KillSignal",
            "SendSIGKILL",
        ],
    ),
    (
        "Unit",
        &[
            "Description",
            "Documentation",
            "After",
            "Before",
            "Wants",
            "DefaultDependencies",
            "StartLimitBurst",
            "StartLimitIntervalSec",
            "OnFailure",
        ],
    ),
    ("Install", &["WantedBy", "RequiredBy", "Also", "Alias"]),
];

const TIMER: [(&str, &[&str]); 3] = [
    (
        "Timer",
        &[
            "OnCalendar",
            "Persistent",
            "RandomizedDelaySec",
            "FixedRandomDelay",
            "AccuracySec",
            "RemainAfterElapse",
            "Unit",
            "OnUnitActiveSec",
            "OnUnitInactiveSec",
            "OnBootSec",
            "OnStartupSec",
            "OnActiveSec",
        ],
    ),
    (
        "Unit",
        &["Description", "Documentation", "After", "Before", "Wants", "DefaultDependencies", "PartOf", "Requires"],
    ),
    ("Install", &["WantedBy", "RequiredBy", "Also", "Alias"]),
];

pub(super) fn of_timer(units: &Units, name: &UnitName) -> Vec<String> {
    unknown(units, name, &TIMER)
}

pub(super) fn of_service(units: &Units, name: &UnitName) -> Vec<String> {
    let mut warnings = Vec::new();
    let value = |key: &str| units.value(name, "Service", key);
    if let Some(user) = value("User") {
        warnings.push(format!("it will run as the user of the daemon, not as {user}"));
    } else if let Some(group) = value("Group") {
        warnings.push(format!("it will run in the group of the daemon, not in {group}"));
    }
    if let Some(file) = value("EnvironmentFile") {
        warnings.push(format!(
            "EnvironmentFile={file} is left out: put its variables into env, or its secrets into ordo secret"
        ));
    }
    if let Some(kind) = value("Type").filter(|kind| ["forking", "notify", "notify-reload", "dbus"].contains(kind)) {
        warnings.push(format!("Type={kind}: a run ends when its command returns"));
    }
    if let Some(unit) = units.value(name, "Unit", "OnFailure") {
        warnings
            .push(format!("OnFailure={unit} is left out: see --on-failure-incident, or a job with --after-on failure"));
    }
    warnings.extend(unknown(units, name, &SERVICE));
    warnings
}

/// One warning for all of them: a hardened unit has dozens.
fn unknown(units: &Units, name: &UnitName, known: &[(&str, &[&str])]) -> Vec<String> {
    let is_known = |section: &str, key: &str| {
        section.starts_with("X-")
            || key.starts_with("X-")
            || known.iter().any(|(named, keys)| *named == section && keys.contains(&key))
    };
    let found: BTreeSet<&str> = units
        .directives(name)
        .iter()
        .filter(|directive| !is_known(&directive.section, &directive.key))
        .map(|directive| directive.key.as_str())
        .collect();
    let (checks, rest): (Vec<&str>, Vec<&str>) =
        found.into_iter().partition(|key| key.starts_with("Condition") || key.starts_with("Assert"));
    let mut warnings = Vec::new();
    if !checks.is_empty() {
        warnings.push(format!("{name}: {} not checked before a run", named(&checks)));
    }
    if !rest.is_empty() {
        warnings.push(format!("{name}: {} left out", named(&rest)));
    }
    warnings
}

fn named(keys: &[&str]) -> String {
    let list = keys.iter().map(|key| format!("{key}=")).collect::<Vec<_>>().join(", ");
    format!("{list} {}", if keys.len() == 1 { "is" } else { "are" })
}
