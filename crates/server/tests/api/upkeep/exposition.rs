//! Reads the Prometheus text format as strictly as its specification, and keeps the conventions of names and units.

use std::collections::BTreeMap;

type Labels = Vec<(String, String)>;

/// A family of metrics with its samples.
#[derive(Debug, Default)]
pub(crate) struct Family {
    pub(crate) kind: String,
    /// (name, labels, value)
    pub(crate) samples: Vec<(String, Labels, f64)>,
}

impl Family {
    pub(crate) fn value(&self) -> f64 {
        let [(_, labels, value)] = self.samples.as_slice() else { panic!("not one sample: {self:?}") };
        assert!(labels.is_empty());
        *value
    }

    pub(crate) fn labelled(&self, value_of_label: &str) -> f64 {
        let found = self.samples.iter().find(|(_, labels, _)| labels.iter().any(|(_, value)| value == value_of_label));
        found.unwrap_or_else(|| panic!("no {value_of_label} in {self:?}")).2
    }

    pub(crate) fn count(&self) -> f64 {
        self.samples.iter().find(|(name, ..)| name.ends_with("_count")).unwrap().2
    }
}

/// The families of a page by name. Panics where Prometheus would refuse it.
pub(crate) fn read(page: &str) -> BTreeMap<String, Family> {
    assert!(page.ends_with('\n'), "the last line ends");
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut current = String::new();
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(is_name(name) && help.ends_with('.') && !help.contains('\\'), "{line}");
            assert!(families.insert(name.to_owned(), Family::default()).is_none(), "{name} stands there twice");
            current = name.to_owned();
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert_eq!(name, current, "the type follows the help");
            families.get_mut(name).unwrap().kind = kind.to_owned();
        } else {
            let sample = sample(line);
            let family = families.get_mut(&current).unwrap_or_else(|| panic!("no family: {line}"));
            assert!(belongs(&sample.0, &current, &family.kind), "{line} is not of {current}");
            family.samples.push(sample);
        }
    }
    families.iter().for_each(|(name, family)| check(name, family));
    families
}

fn belongs(sample: &str, family: &str, kind: &str) -> bool {
    match sample.strip_prefix(family) {
        Some("") => kind == "counter" || kind == "gauge",
        Some("_bucket" | "_sum" | "_count") => kind == "histogram",
        Some(_) | None => false,
    }
}

fn check(name: &str, family: &Family) {
    assert!(!family.samples.is_empty(), "{name} says nothing");
    assert_eq!(family.kind == "counter", name.ends_with("_total"), "{name} is a {}", family.kind);
    for unit in ["_ms", "_millis", "_micros", "_us", "_minutes", "_kb", "_mb", "_percent"] {
        assert!(!name.contains(unit), "{name} is not in a base unit");
    }
    if family.kind == "histogram" {
        check_histogram(name, family);
    }
}

fn check_histogram(name: &str, family: &Family) {
    let (ends, buckets): (Vec<_>, Vec<_>) = family.samples.iter().partition(|(_, labels, _)| labels.is_empty());
    let [(sum, ..), (count, _, counted)] = ends.as_slice() else { panic!("{name} has no sum and count") };
    assert_eq!((sum.as_str(), count.as_str()), (&*format!("{name}_sum"), &*format!("{name}_count")));
    let bounds: Vec<f64> = buckets.iter().map(|(_, labels, _)| number(&labels[0].1)).collect();
    assert!(bounds.is_sorted_by(|a, b| a < b) && bounds.last() == Some(&f64::INFINITY), "{name}: {bounds:?}");
    let counts: Vec<f64> = buckets.iter().map(|(.., value)| *value).collect();
    assert!(counts.is_sorted() && counts.last() == Some(counted), "{name}: {counts:?}");
}

fn sample(line: &str) -> (String, Labels, f64) {
    let (key, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
    let (name, labels) = match key.split_once('{') {
        Some((name, rest)) => (name, rest.strip_suffix('}').unwrap().split(',').map(label).collect()),
        None => (key, Vec::new()),
    };
    assert!(is_name(name), "{line}");
    (name.to_owned(), labels, number(value))
}

fn label(text: &str) -> (String, String) {
    let (name, value) = text.split_once('=').unwrap();
    let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap();
    assert!(is_name(name) && !value.contains(['"', '\\', '\n']), "{text}");
    (name.to_owned(), value.to_owned())
}

fn number(text: &str) -> f64 {
    if text == "+Inf" { f64::INFINITY } else { text.parse().unwrap_or_else(|_| panic!("not a number: {text}")) }
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}
