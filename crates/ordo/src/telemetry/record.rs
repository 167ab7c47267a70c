//! A span as it is gathered from its fields.

use ordo_engine::clock::{Stopwatch, micros_now};
use tracing::field::{Field, Visit};

#[derive(Debug)]
pub(super) struct SpanRecord {
    pub(super) trace_id: u128,
    pub(super) span_id: u64,
    pub(super) parent_span_id: Option<u64>,
    pub(super) name: String,
    pub(super) is_server: bool,
    pub(super) is_error: bool,
    pub(super) began_us: u64,
    pub(super) took_us: u64,
    pub(super) attributes: Vec<(&'static str, Attribute)>,
    watch: Stopwatch,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Attribute {
    Text(String),
    Number(i64),
    Flag(bool),
}

impl SpanRecord {
    pub(super) fn begin(name: &'static str) -> SpanRecord {
        SpanRecord {
            trace_id: 0,
            span_id: 0,
            parent_span_id: None,
            name: name.to_owned(),
            is_server: false,
            is_error: false,
            began_us: u64::try_from(micros_now()).unwrap_or(0),
            took_us: 0,
            attributes: Vec::new(),
            watch: Stopwatch::start(),
        }
    }

    /// A clock that is set meanwhile does not make a span longer or shorter.
    pub(super) fn end(mut self) -> SpanRecord {
        self.took_us = self.watch.elapsed_micros();
        self
    }

    /// Fields with a meaning of their own carry the names that others in this field use; the rest are attributes.
    fn text(&mut self, field: &Field, text: &str) {
        match field.name() {
            "otel.name" => self.name = text.to_owned(),
            "otel.kind" => self.is_server = text == "server",
            "otel.status_code" => self.is_error = text == "ERROR",
            name => self.attributes.push((name, Attribute::Text(text.to_owned()))),
        }
    }
}

impl Visit for SpanRecord {
    fn record_u128(&mut self, field: &Field, value: u128) {
        match field.name() {
            "trace_id" => self.trace_id = value,
            name => self.attributes.push((name, Attribute::Text(value.to_string()))),
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "span_id" => self.span_id = value,
            "parent_span_id" => self.parent_span_id = Some(value),
            name => self.attributes.push((name, Attribute::Number(i64::try_from(value).unwrap_or(i64::MAX)))),
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.attributes.push((field.name(), Attribute::Number(value)));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.attributes.push((field.name(), Attribute::Flag(value)));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.text(field, &format!("{value:?}"));
    }
}
