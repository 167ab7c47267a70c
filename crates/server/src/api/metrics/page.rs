//! A page in the Prometheus text format: every family with its help and its type.

use std::fmt::{Display, Write};

use ordo_engine::metrics::Histogram;

#[derive(Debug, Default)]
pub(super) struct MetricsText(String);

/// A label, its value, and the number that stands there.
type Labelled<'a, V> = (&'static str, &'a str, V);

impl MetricsText {
    pub(super) fn into_text(self) -> String {
        self.0
    }

    pub(super) fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, "counter", help);
        self.sample(name, "", value);
    }

    pub(super) fn counters<'a>(&mut self, name: &str, help: &str, all: impl IntoIterator<Item = Labelled<'a, u64>>) {
        self.family(name, "counter", help);
        self.samples(name, all);
    }

    pub(super) fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, "gauge", help);
        self.sample(name, "", value);
    }

    pub(super) fn gauges<'a, V: Display>(
        &mut self,
        name: &str,
        help: &str,
        all: impl IntoIterator<Item = Labelled<'a, V>>,
    ) {
        self.family(name, "gauge", help);
        self.samples(name, all);
    }

    /// A gauge that is always 1: what it says is in its labels.
    pub(super) fn about(&mut self, name: &str, help: &str, labels: &[(&'static str, &str)]) {
        self.family(name, "gauge", help);
        let labels: Vec<String> = labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
        self.sample(name, &format!("{{{}}}", labels.join(",")), 1);
    }

    /// `per_unit`: how many of what was observed make one of the unit in the name.
    pub(super) fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram, per_unit: f64) {
        let reading = histogram.read();
        self.family(name, "histogram", help);
        let bucket = format!("{name}_bucket");
        for (bound, count) in reading.cumulative {
            self.sample(&bucket, &format!("{{le=\"{}\"}}", bound as f64 / per_unit), count);
        }
        self.sample(&bucket, "{le=\"+Inf\"}", reading.count);
        self.sample(&format!("{name}_sum"), "", reading.sum as f64 / per_unit);
        self.sample(&format!("{name}_count"), "", reading.count);
    }

    fn samples<'a, V: Display>(&mut self, name: &str, all: impl IntoIterator<Item = Labelled<'a, V>>) {
        for (label, at, value) in all {
            self.sample(name, &format!("{{{label}=\"{at}\"}}"), value);
        }
    }

    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}").unwrap_or(());
    }

    fn sample(&mut self, name: &str, labels: &str, value: impl Display) {
        writeln!(self.0, "{name}{labels} {value}").unwrap_or(());
    }
}
