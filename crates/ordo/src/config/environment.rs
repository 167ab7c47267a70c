//! `ORDO_*` variables as settings: `ORDO_SERVE__LISTEN` is `serve.listen`.
//!
//! Only variables with `__` (and `ORDO_NODE`) are settings: a platform may add others of its own (Kubernetes makes
//! `ORDO_PORT` for a service called ordo), and those must not stop the daemon.

use std::collections::BTreeMap;

use super::keys::KEYS;
#[cfg(test)]
use super::keys::ValueKind;
use super::layers::{ConfigLayers, Path, SettingOrigin};

const PREFIX: &str = "ORDO_";
/// Settings with a short name of their own.
const SHORT: [(&str, &str); 2] = [("ORDO_LOG", "log.level"), ("ORDO_NODE", "node")];

/// What other programs that send spans call the same; ours come before them, and so does the file.
const STANDARD: [(&str, &str); 2] =
    [("OTEL_EXPORTER_OTLP_ENDPOINT", "telemetry.otlp_endpoint"), ("OTEL_SERVICE_NAME", "telemetry.service_name")];

pub(super) fn add_standard(layers: &mut ConfigLayers, variables: &BTreeMap<String, String>) -> Result<(), String> {
    for (name, path) in STANDARD {
        if let Some(value) = variables.get(name).filter(|value| !value.trim().is_empty()) {
            layers.set_text(Path::parse(path), value, SettingOrigin::Variable(name.to_owned()))?;
        }
    }
    Ok(())
}

pub(super) fn add(layers: &mut ConfigLayers, variables: &BTreeMap<String, String>) -> Result<(), String> {
    for (name, value) in variables {
        let Some(path) = path_of(name)? else { continue };
        layers.set_text(path, value, SettingOrigin::Variable(name.clone())).map_err(|why| format!("{name}: {why}"))?;
    }
    Ok(())
}

fn path_of(name: &str) -> Result<Option<Path>, String> {
    if let Some((_, path)) = SHORT.iter().find(|(short, _)| *short == name) {
        return Ok(Some(Path::parse(path)));
    }
    let Some(rest) = name.strip_prefix(PREFIX) else { return Ok(None) };
    if rest.contains("__") {
        return Ok(Some(segments(rest)));
    }
    // One underscore instead of two is the likely slip.
    match KEYS.iter().find(|key| key.path.contains('.') && variable(key.path).replace("__", "_") == name) {
        Some(key) => Err(format!("unknown variable {name}, did you mean {:?}?", variable(key.path))),
        None => Ok(None),
    }
}

/// Names of variables for a tool (`ORDO_TOOLS__SDLC__ENV__TOKEN`) keep their case; everything else is lower-case.
fn segments(rest: &str) -> Path {
    let names: Vec<String> = rest.split("__").map(str::to_lowercase).collect();
    let given: Vec<&str> = rest.split("__").collect();
    let is_env = matches!(names.as_slice(), [tools, _, env, _] if tools == "tools" && env == "env");
    Path::of(names.iter().zip(given).enumerate().map(
        |(place, (lower, given))| {
            if is_env && place == 3 { given } else { lower.as_str() }
        },
    ))
}

/// The variable that sets this key, if there is one: what has no section is set in the file.
pub(super) fn variable_of(path: &str) -> Option<String> {
    let short = SHORT.iter().find(|(_, key)| *key == path).map(|(name, _)| (*name).to_owned());
    short.or_else(|| path.contains('.').then(|| variable(path)))
}

fn variable(path: &str) -> String {
    format!("{PREFIX}{}", path.to_uppercase().replace('.', "__"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, value: &str) -> Result<toml::Table, String> {
        let mut layers = ConfigLayers::default();
        add(&mut layers, &BTreeMap::from([(name.to_owned(), value.to_owned())]))?;
        Ok(layers.to_table())
    }

    #[test]
    fn two_underscores_are_a_step_down() {
        assert_eq!(set("ORDO_POOLS__FAST__SLOTS", "7").unwrap()["pools"]["fast"]["slots"].as_integer(), Some(7));
        assert_eq!(set("ORDO_TOOLS__X__ENV__KeY", "v").unwrap()["tools"]["x"]["env"]["KeY"].as_str(), Some("v"));
        assert_eq!(set("ORDO_LOG", "debug").unwrap()["log"]["level"].as_str(), Some("debug"));
    }

    #[test]
    fn the_variable_that_is_named_for_a_key_sets_it() {
        assert_eq!(variable_of("group"), None);
        for key in KEYS {
            let Some(name) = variable_of(key.path) else { continue };
            let value = match key.kind {
                ValueKind::Number => "1",
                ValueKind::Bool => "true",
                ValueKind::Text | ValueKind::List => "x",
            };
            let table = toml::Value::Table(set(&name, value).unwrap());
            let found = key.path.split('.').try_fold(&table, |table, part| table.get(part));
            assert!(found.is_some(), "{name} does not set {}", key.path);
        }
    }

    #[test]
    fn a_slip_is_refused_and_what_is_not_ours_is_left_alone() {
        assert!(set("ORDO_SERVE_LISTEN", "x").unwrap_err().contains("ORDO_SERVE__LISTEN"));
        assert!(set("ORDO_SERVE__LISEN", "x").unwrap_err().contains("serve.listen"));
        assert!(set("ORDO_POOLS__FAST__SLOTS", "many").unwrap_err().contains("not a number"));
        for foreign in ["ORDO_TOKEN", "ORDO_SERVER", "ORDO_PORT", "ORDO_SERVICE_HOST", "HOME"] {
            assert!(set(foreign, "x").unwrap().is_empty());
        }
    }
}
