//! The messages of OTLP that carry spans, as its protocol files number their fields.
//!
//! Invariant: a number here never changes; fields that are not used are left out, which the protocol allows.

use prost::Message;

use super::record::{Attribute, SpanRecord};

/// `ExportTraceServiceRequest`
#[derive(Clone, PartialEq, Message)]
struct Export {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<ScopeSpans>,
}

/// Who sends them.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    spans: Vec<Span>,
}

#[derive(Clone, PartialEq, Message)]
struct Scope {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    version: String,
}

#[derive(Clone, PartialEq, Message)]
struct Span {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    name: String,
    #[prost(int32, tag = "6")]
    kind: i32,
    #[prost(fixed64, tag = "7")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<KeyValue>,
    #[prost(message, optional, tag = "15")]
    status: Option<Status>,
    #[prost(fixed32, tag = "16")]
    flags: u32,
}

#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(int32, tag = "3")]
    code: i32,
}

#[derive(Clone, PartialEq, Message)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct AnyValue {
    #[prost(oneof = "AnyKind", tags = "1, 2, 3")]
    value: Option<AnyKind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum AnyKind {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(bool, tag = "2")]
    Flag(bool),
    #[prost(int64, tag = "3")]
    Number(i64),
}

const KIND_INTERNAL: i32 = 1;
const KIND_SERVER: i32 = 2;
const STATUS_ERROR: i32 = 2;
const FLAG_SAMPLED: u32 = 1;

pub(super) fn resource(service: &str, node: &str) -> Resource {
    let version = env!("CARGO_PKG_VERSION");
    let said = [("service.name", service), ("service.instance.id", node), ("service.version", version)];
    Resource { attributes: said.map(|(key, text)| key_value(key, Attribute::Text(text.to_owned()))).into() }
}

pub(super) fn encode(resource: &Resource, records: Vec<SpanRecord>) -> Vec<u8> {
    let scope = Scope { name: "ordo".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
    let spans = records.into_iter().map(span).collect();
    let scope_spans = vec![ScopeSpans { scope: Some(scope), spans }];
    let resource_spans = vec![ResourceSpans { resource: Some(resource.clone()), scope_spans }];
    Export { resource_spans }.encode_to_vec()
}

fn span(record: SpanRecord) -> Span {
    let nanos = |micros: u64| micros.saturating_mul(1_000);
    Span {
        trace_id: record.trace_id.to_be_bytes().into(),
        span_id: record.span_id.to_be_bytes().into(),
        parent_span_id: record.parent_span_id.map(|id| id.to_be_bytes().into()).unwrap_or_default(),
        name: record.name,
        kind: if record.is_server { KIND_SERVER } else { KIND_INTERNAL },
        start_time_unix_nano: nanos(record.began_us),
        end_time_unix_nano: nanos(record.began_us.saturating_add(record.took_us)),
        attributes: record.attributes.into_iter().map(|(key, value)| key_value(key, value)).collect(),
        status: record.is_error.then_some(Status { code: STATUS_ERROR }),
        flags: FLAG_SAMPLED,
    }
}

fn key_value(key: &str, value: Attribute) -> KeyValue {
    let kind = match value {
        Attribute::Text(text) => AnyKind::Text(text),
        Attribute::Number(number) => AnyKind::Number(number),
        Attribute::Flag(flag) => AnyKind::Flag(flag),
    };
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(kind) }) }
}
