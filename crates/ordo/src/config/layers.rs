//! Layers of settings: defaults, file, environment, flags. The later wins, key by key.
//!
//! Invariant: every value knows where it came from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use toml::Value;

use super::keys::{KEYS, ValueKind, kind_of};

/// A key: its sections and its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Path(Vec<String>);

impl Path {
    pub(super) fn parse(text: &str) -> Path {
        Path(text.split('.').map(str::to_owned).collect())
    }

    pub(super) fn of<'a>(segments: impl IntoIterator<Item = &'a str>) -> Path {
        Path(segments.into_iter().map(str::to_owned).collect())
    }

    fn child(&self, name: &str) -> Path {
        Path(self.0.iter().cloned().chain([name.to_owned()]).collect())
    }

    fn is_a_variable_of_a_tool(&self) -> bool {
        matches!(self.0.as_slice(), [tools, _, env, _] if tools == "tools" && env == "env")
    }

    /// What holds a password or a token.
    pub(crate) fn is_secret(&self) -> bool {
        const SECRET: [&str; 4] = ["sinks.kurrentdb.connection", "slack.bot_token", "slack.signing_secret", "smtp.url"];
        let is_token = self.segments().next() == Some("xxl") && self.segments().last() == Some("access_token");
        is_token || self.is_a_variable_of_a_tool() || SECRET.contains(&self.to_string().as_str())
    }

    pub(super) fn segments(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SettingOrigin {
    Default,
    File(PathBuf),
    Variable(String),
    Flag(&'static str),
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingOrigin::Default => f.write_str("default"),
            SettingOrigin::File(path) => write!(f, "{}", path.display()),
            SettingOrigin::Variable(name) => f.write_str(name),
            SettingOrigin::Flag(name) => f.write_str(name),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Setting {
    pub(crate) value: Value,
    pub(crate) origin: SettingOrigin,
}

/// The settings so far, with where each came from.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConfigLayers(BTreeMap<Path, Setting>);

impl ConfigLayers {
    pub(super) fn defaults() -> ConfigLayers {
        let mut layers = ConfigLayers::default();
        for key in KEYS {
            let Some(text) = key.default else { continue };
            // A default that cannot be read would be a mistake on the page of keys; the tests read all of them.
            if let Ok(value) = from_text(key.kind, text) {
                layers.set(Path::parse(key.path), value, SettingOrigin::Default);
            }
        }
        layers
    }

    pub(super) fn set(&mut self, path: Path, value: Value, origin: SettingOrigin) {
        self.0.insert(path, Setting { value, origin });
    }

    /// A value written as text.
    pub(super) fn set_text(&mut self, path: Path, text: &str, origin: SettingOrigin) -> Result<(), String> {
        let value = kind_of(&path).and_then(|kind| from_text(kind, text).map_err(|why| format!("{path}: {why}")))?;
        self.set(path, value, origin);
        Ok(())
    }

    /// All keys of a table, refusing those that do not exist.
    pub(super) fn add_table(&mut self, table: toml::Table, origin: &SettingOrigin) -> Result<(), String> {
        self.add_below(&Path(Vec::new()), table, origin)
    }

    fn add_below(&mut self, above: &Path, table: toml::Table, origin: &SettingOrigin) -> Result<(), String> {
        for (name, value) in table {
            let path = above.child(&name);
            match value {
                Value::Table(table) => self.add_below(&path, table, origin)?,
                value => {
                    kind_of(&path)?;
                    self.set(path, value, origin.clone());
                }
            }
        }
        Ok(())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Path, &Setting)> {
        self.0.iter()
    }

    /// Where the value of a key came from; of a section, what somebody wrote in it rather than a default.
    pub(super) fn origin_of(&self, written: &str) -> Option<&SettingOrigin> {
        let found = self.0.iter().filter(|(path, _)| {
            let path = path.to_string();
            written == path || written.starts_with(&format!("{path}[")) || path.starts_with(&format!("{written}."))
        });
        found.map(|(_, setting)| &setting.origin).min_by_key(|origin| **origin == SettingOrigin::Default)
    }

    /// All of it as one tree.
    pub(super) fn to_table(&self) -> toml::Table {
        let mut root = toml::Table::new();
        for (path, setting) in &self.0 {
            put(&mut root, &path.0, &setting.value);
        }
        root
    }
}

fn put(table: &mut toml::Table, path: &[String], value: &Value) {
    match path {
        [] => {}
        [name] => drop(table.insert(name.clone(), value.clone())),
        [section, rest @ ..] => {
            let below = table.entry(section.clone()).or_insert_with(|| Value::Table(toml::Table::new()));
            if let Value::Table(below) = below {
                put(below, rest, value);
            }
        }
    }
}

fn from_text(kind: ValueKind, text: &str) -> Result<Value, String> {
    match kind {
        ValueKind::Text => Ok(Value::from(text)),
        ValueKind::Number => {
            text.trim().parse::<i64>().map(Value::from).map_err(|_| format!("{text:?} is not a number"))
        }
        ValueKind::Bool => {
            text.trim().parse::<bool>().map(Value::from).map_err(|_| format!("{text:?} is not true or false"))
        }
        ValueKind::List if text.trim_start().starts_with('[') => {
            text.parse().map_err(|_| format!("{text:?} is not a list"))
        }
        ValueKind::List => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Ok(Value::Array(items.map(Value::from).collect()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_can_be_read() {
        let layers = ConfigLayers::defaults();
        let wanted = KEYS.iter().filter(|key| key.default.is_some()).count();
        assert_eq!(layers.iter().count(), wanted);
    }

    #[test]
    fn the_later_layer_wins_and_says_where_it_came_from() {
        let mut layers = ConfigLayers::defaults();
        let file = SettingOrigin::File("ordo.toml".into());
        layers.add_table("[serve]\nlisten = '1.1.1.1:1'\ngrace = '5s'".parse().unwrap(), &file).unwrap();
        layers.set_text(Path::parse("serve.listen"), "2.2.2.2:2", SettingOrigin::Flag("--listen")).unwrap();
        let table = layers.to_table();
        assert_eq!(table["serve"]["listen"].as_str(), Some("2.2.2.2:2"));
        assert_eq!(layers.origin_of("serve.listen"), Some(&SettingOrigin::Flag("--listen")));
        assert_eq!(layers.origin_of("serve.grace"), Some(&file));
        assert_eq!(layers.origin_of("serve.tick_rate"), Some(&SettingOrigin::Default));
        assert_ne!(layers.origin_of("serve"), Some(&SettingOrigin::Default), "somebody wrote a part of it");
    }

    #[test]
    fn a_list_is_written_with_commas_or_brackets() {
        let list = |text| from_text(ValueKind::List, text).unwrap().as_array().unwrap().len();
        assert_eq!((list("a, b"), list("[\"a\", \"b\", \"c\"]"), list("")), (2, 3, 0));
    }
}
