//! The part of KurrentDB's protocol that a mirror speaks: packages `event_store.client.streams`, `.server_features` and
//! `.gossip`, with the names and numbers of their fields. Written by hand: no build needs a compiler for protocols.

use std::collections::HashMap;

use prost::{Message, Oneof};

#[derive(Clone, PartialEq, Message)]
pub struct WireEmpty {}

#[derive(Clone, PartialEq, Message)]
pub struct StreamIdentifier {
    #[prost(bytes = "vec", tag = "3")]
    pub stream_name: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Structured {
    #[prost(int64, tag = "1")]
    pub most_significant_bits: i64,
    #[prost(int64, tag = "2")]
    pub least_significant_bits: i64,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum UuidValue {
    #[prost(message, tag = "1")]
    Structured(Structured),
    #[prost(string, tag = "2")]
    Text(String),
}

#[derive(Clone, PartialEq, Message)]
pub struct WireUuid {
    #[prost(oneof = "UuidValue", tags = "1, 2")]
    pub value: Option<UuidValue>,
}

impl WireUuid {
    pub fn of(id: uuid::Uuid) -> WireUuid {
        WireUuid { value: Some(UuidValue::Text(id.to_string())) }
    }

    pub fn id(&self) -> uuid::Uuid {
        match self.value.as_ref().unwrap() {
            UuidValue::Text(text) => text.parse().unwrap(),
            UuidValue::Structured(parts) => {
                uuid::Uuid::from_u64_pair(parts.most_significant_bits as u64, parts.least_significant_bits as u64)
            }
        }
    }
}

#[derive(Clone, PartialEq, Oneof)]
pub enum ExpectedRevision {
    #[prost(uint64, tag = "2")]
    Revision(u64),
    #[prost(message, tag = "3")]
    NoStream(WireEmpty),
    #[prost(message, tag = "4")]
    Any(WireEmpty),
    #[prost(message, tag = "5")]
    StreamExists(WireEmpty),
}

#[derive(Clone, PartialEq, Message)]
pub struct AppendOptions {
    #[prost(message, optional, tag = "1")]
    pub stream_identifier: Option<StreamIdentifier>,
    #[prost(oneof = "ExpectedRevision", tags = "2, 3, 4, 5")]
    pub expected: Option<ExpectedRevision>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ProposedMessage {
    #[prost(message, optional, tag = "1")]
    pub id: Option<WireUuid>,
    #[prost(map = "string, string", tag = "2")]
    pub metadata: HashMap<String, String>,
    #[prost(bytes = "vec", tag = "3")]
    pub custom_metadata: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    pub data: Vec<u8>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum AppendContent {
    #[prost(message, tag = "1")]
    Options(AppendOptions),
    #[prost(message, tag = "2")]
    Proposed(ProposedMessage),
}

#[derive(Clone, PartialEq, Message)]
pub struct AppendReq {
    #[prost(oneof = "AppendContent", tags = "1, 2")]
    pub content: Option<AppendContent>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum CurrentRevision {
    #[prost(uint64, tag = "1")]
    Revision(u64),
    #[prost(message, tag = "2")]
    NoStream(WireEmpty),
}

#[derive(Clone, PartialEq, Message)]
pub struct LogPosition {
    #[prost(uint64, tag = "1")]
    pub commit_position: u64,
    #[prost(uint64, tag = "2")]
    pub prepare_position: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct Success {
    #[prost(oneof = "CurrentRevision", tags = "1, 2")]
    pub current: Option<CurrentRevision>,
    /// One of two in the protocol; a position is what a write is answered with.
    #[prost(message, optional, tag = "3")]
    pub position: Option<LogPosition>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum FoundRevision {
    #[prost(uint64, tag = "6")]
    Revision(u64),
    #[prost(message, tag = "7")]
    NoStream(WireEmpty),
}

#[derive(Clone, PartialEq, Oneof)]
pub enum WantedRevision {
    #[prost(uint64, tag = "8")]
    Revision(u64),
    #[prost(message, tag = "9")]
    Any(WireEmpty),
    #[prost(message, tag = "10")]
    StreamExists(WireEmpty),
    #[prost(message, tag = "11")]
    NoStream(WireEmpty),
}

#[derive(Clone, PartialEq, Message)]
pub struct WrongExpectedVersion {
    #[prost(oneof = "FoundRevision", tags = "6, 7")]
    pub current: Option<FoundRevision>,
    #[prost(oneof = "WantedRevision", tags = "8, 9, 10, 11")]
    pub expected: Option<WantedRevision>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum AppendResult {
    #[prost(message, tag = "1")]
    Success(Success),
    #[prost(message, tag = "2")]
    WrongExpectedVersion(WrongExpectedVersion),
}

#[derive(Clone, PartialEq, Message)]
pub struct AppendResp {
    #[prost(oneof = "AppendResult", tags = "1, 2")]
    pub result: Option<AppendResult>,
}

#[derive(Clone, PartialEq, Message)]
pub struct StreamOptions {
    #[prost(message, optional, tag = "1")]
    pub stream_identifier: Option<StreamIdentifier>,
    #[prost(message, optional, tag = "4")]
    pub end: Option<WireEmpty>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ReadOptions {
    #[prost(message, optional, tag = "1")]
    pub stream: Option<StreamOptions>,
    #[prost(int32, tag = "3")]
    pub read_direction: i32,
    #[prost(uint64, optional, tag = "5")]
    pub count: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ReadReq {
    #[prost(message, optional, tag = "1")]
    pub options: Option<ReadOptions>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RecordedEvent {
    #[prost(message, optional, tag = "1")]
    pub id: Option<WireUuid>,
    #[prost(message, optional, tag = "2")]
    pub stream_identifier: Option<StreamIdentifier>,
    #[prost(uint64, tag = "3")]
    pub stream_revision: u64,
    #[prost(map = "string, string", tag = "6")]
    pub metadata: HashMap<String, String>,
    #[prost(bytes = "vec", tag = "7")]
    pub custom_metadata: Vec<u8>,
    #[prost(bytes = "vec", tag = "8")]
    pub data: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ReadEvent {
    #[prost(message, optional, tag = "1")]
    pub event: Option<RecordedEvent>,
}

#[derive(Clone, PartialEq, Message)]
pub struct StreamNotFound {
    #[prost(message, optional, tag = "1")]
    pub stream_identifier: Option<StreamIdentifier>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum ReadContent {
    #[prost(message, tag = "1")]
    Event(ReadEvent),
    #[prost(message, tag = "4")]
    StreamNotFound(StreamNotFound),
}

#[derive(Clone, PartialEq, Message)]
pub struct ReadResp {
    #[prost(oneof = "ReadContent", tags = "1, 4")]
    pub content: Option<ReadContent>,
}

#[derive(Clone, PartialEq, Message)]
pub struct SupportedMethods {
    #[prost(string, tag = "2")]
    pub event_store_server_version: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct EndPoint {
    #[prost(string, tag = "1")]
    pub address: String,
    #[prost(uint32, tag = "2")]
    pub port: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct MemberInfo {
    /// 8 is the leader.
    #[prost(int32, tag = "3")]
    pub state: i32,
    #[prost(bool, tag = "4")]
    pub is_alive: bool,
    #[prost(message, optional, tag = "5")]
    pub http_end_point: Option<EndPoint>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ClusterInfo {
    #[prost(message, repeated, tag = "1")]
    pub members: Vec<MemberInfo>,
}
