//! Unit files: sections of `Key=value` lines, drop-ins laid over them, several in one text.
//!
//! Invariant: a directive is read as systemd reads it: a later one joins the earlier ones, and an empty one forgets them.

use std::collections::BTreeMap;
use std::fmt;

use super::UnitText;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct UnitName {
    /// What stands before the type: `backup`.
    pub(super) stem: String,
    pub(super) kind: String,
}

impl fmt::Display for UnitName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.stem, self.kind)
    }
}

impl UnitName {
    pub(super) fn parse(name: &str) -> Option<UnitName> {
        let (stem, kind) = name.rsplit_once('.')?;
        let is_known = ["timer", "service"].contains(&kind) && !stem.is_empty();
        is_known.then(|| UnitName { stem: stem.to_owned(), kind: kind.to_owned() })
    }

    /// `backup@.timer` stands for any number of units.
    pub(super) fn is_template(&self) -> bool {
        self.stem.ends_with('@')
    }
}

/// One `Key=value`.
#[derive(Debug, Clone)]
pub(super) struct Directive {
    pub(super) section: String,
    pub(super) key: String,
    pub(super) value: String,
}

#[derive(Debug, Default)]
pub(super) struct Units {
    units: BTreeMap<UnitName, Vec<Directive>>,
    /// Files that are no timer and no service.
    others: Vec<String>,
}

impl Units {
    /// A text without a heading is the unit of its file's name; a heading of `systemctl cat` begins another unit.
    pub(super) fn add(&mut self, file: &UnitText) {
        let mut name = UnitName::parse(&file.name);
        let (mut section, mut is_told_apart) = (String::new(), name.is_some());
        for line in logical_lines(&file.text) {
            if let Some(unit) = heading(&line) {
                (name, section, is_told_apart) = (Some(unit), String::new(), true);
                continue;
            }
            if line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(begun) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                section = begun.to_owned();
                if !is_told_apart {
                    name = by_section(&file.name, &section).or(name);
                }
                continue;
            }
            let (Some(name), Some((key, value))) = (&name, line.split_once('=')) else { continue };
            let directive =
                Directive { section: section.clone(), key: key.trim().to_owned(), value: value.trim().to_owned() };
            self.units.entry(name.clone()).or_default().push(directive);
        }
        if name.is_none() {
            self.others.push(file.name.clone());
        }
    }

    pub(super) fn timers(&self) -> impl Iterator<Item = &UnitName> {
        self.units.keys().filter(|name| name.kind == "timer")
    }

    pub(super) fn has(&self, name: &UnitName) -> bool {
        self.units.contains_key(name)
    }

    pub(super) fn directives(&self, name: &UnitName) -> &[Directive] {
        self.units.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// All values of a directive that is a list.
    pub(super) fn values(&self, name: &UnitName, section: &str, key: &str) -> Vec<&str> {
        let mut values = Vec::new();
        for directive in self.directives(name).iter().filter(|found| found.section == section && found.key == key) {
            match directive.value.as_str() {
                "" => values.clear(),
                value => values.push(value),
            }
        }
        values
    }

    /// The value of a directive that has one: the last.
    pub(super) fn value(&self, name: &UnitName, section: &str, key: &str) -> Option<&str> {
        self.values(name, section, key).pop()
    }

    pub(super) fn is_true(&self, name: &UnitName, section: &str, key: &str) -> bool {
        let text = self.value(name, section, key).unwrap_or_default().to_ascii_lowercase();
        ["1", "yes", "y", "true", "t", "on"].contains(&text.as_str())
    }

    /// What was given and leads to no job.
    pub(super) fn unused(&self) -> Vec<String> {
        let started: Vec<UnitName> =
            self.timers().filter_map(|timer| super::timer::service_of(self, timer).ok()).collect();
        let services = self.units.keys().filter(|name| name.kind == "service" && !started.contains(name));
        let services = services.map(|name| format!("{name} is left out: no timer among the files starts it"));
        let others = self.others.iter().map(|name| format!("{name} is left out: it is no timer and no service"));
        services.chain(others).collect()
    }
}

/// Without blank lines; a backslash at the end continues a line, and a comment in between does not end it.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines() {
        let line = line.trim();
        if open.is_some() && line.starts_with(['#', ';']) {
            continue;
        }
        let whole = match open.take() {
            Some(begun) => format!("{begun} {line}"),
            None => line.to_owned(),
        };
        match whole.strip_suffix('\\') {
            Some(begun) if !whole.starts_with(['#', ';']) => open = Some(begun.trim_end().to_owned()),
            Some(_) | None if whole.is_empty() => {}
            Some(_) | None => lines.push(whole),
        }
    }
    lines.extend(open);
    lines
}

/// `# /etc/systemd/system/backup.timer.d/override.conf` belongs to backup.timer.
fn heading(line: &str) -> Option<UnitName> {
    let path = line.strip_prefix("# /")?;
    if path.contains(char::is_whitespace) {
        return None;
    }
    let mut parts = path.rsplit('/');
    let file = parts.next()?;
    match UnitName::parse(file) {
        Some(name) => Some(name),
        None if file.ends_with(".conf") => UnitName::parse(parts.next()?.strip_suffix(".d")?),
        None => None,
    }
}

/// In a text whose units have no names, the sections tell the timer from the service.
fn by_section(file: &str, section: &str) -> Option<UnitName> {
    let kind = match section {
        "Timer" => "timer",
        "Service" => "service",
        _ => return None,
    };
    let stem = file.trim_matches(['-', '.']);
    let stem = if stem.is_empty() { "timer" } else { stem };
    Some(UnitName { stem: stem.to_owned(), kind: kind.to_owned() })
}
