//! What the stub keeps: streams of events with revisions, and the rules by which an append is taken, known, or refused.

use std::collections::{BTreeMap, BTreeSet};

use super::wire::{
    AppendContent, AppendOptions, AppendReq, AppendResp, AppendResult, CurrentRevision, ExpectedRevision,
    FoundRevision, LogPosition, ProposedMessage, ReadContent, ReadEvent, ReadReq, ReadResp, RecordedEvent,
    StreamIdentifier, StreamNotFound, Success, WantedRevision, WireEmpty, WireUuid, WrongExpectedVersion,
};

/// What a server takes by default.
const APPEND_MAX_BYTES: usize = 1024 * 1024;

#[derive(Debug, Clone, PartialEq)]
pub struct StubEvent {
    pub id: uuid::Uuid,
    pub kind: String,
    pub data: serde_json::Value,
    pub metadata: serde_json::Value,
    message: ProposedMessage,
}

impl StubEvent {
    pub fn version(&self) -> u64 {
        self.metadata["ordo"]["version"].as_u64().unwrap()
    }
}

#[derive(Debug, Default)]
pub struct Streams {
    pub kept: BTreeMap<String, Vec<StubEvent>>,
    /// Deleted for good.
    pub tombs: BTreeSet<String>,
    /// How many appends were asked for, and how many of them were known already.
    pub appends: u64,
    pub repeats: u64,
}

/// A status of gRPC, with what KurrentDB calls the exception.
#[derive(Debug)]
pub struct StubRefusal {
    pub code: u32,
    pub message: String,
    pub exception: &'static str,
}

impl Streams {
    pub fn events(&self) -> u64 {
        self.kept.values().map(|events| events.len() as u64).sum()
    }

    /// Somebody else writes to a stream.
    pub fn intrude(&mut self, stream: &str) {
        let message = ProposedMessage {
            id: Some(WireUuid::of(uuid::Uuid::from_u128(99))),
            metadata: [("type", "Intruded"), ("content-type", "application/json")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            custom_metadata: Vec::new(),
            data: b"{}".to_vec(),
        };
        self.kept.entry(stream.to_owned()).or_default().push(keep(message));
    }

    pub fn append(&mut self, requests: Vec<AppendReq>) -> Result<AppendResp, StubRefusal> {
        self.appends += 1;
        let mut options: Option<AppendOptions> = None;
        let mut proposed = Vec::new();
        for request in requests {
            match request.content.unwrap() {
                AppendContent::Options(given) => options = Some(given),
                AppendContent::Proposed(message) => proposed.push(keep(message)),
            }
        }
        let options = options.unwrap();
        let stream = String::from_utf8(options.stream_identifier.unwrap().stream_name).unwrap();
        self.check(&stream, &proposed)?;
        let kept = self.kept.entry(stream).or_default();
        let next = match options.expected.unwrap() {
            ExpectedRevision::Revision(revision) => usize::try_from(revision).unwrap() + 1,
            ExpectedRevision::NoStream(WireEmpty {}) => 0,
            other => panic!("a mirror never expects {other:?}"),
        };
        let known = kept.iter().skip(next).zip(&proposed).filter(|(kept, new)| kept.id == new.id).count();
        if known == proposed.len() {
            self.repeats += 1;
            return Ok(taken(next + proposed.len() - 1));
        }
        if kept.len() != next {
            return Ok(wrong(kept.len(), next));
        }
        kept.extend(proposed);
        Ok(taken(kept.len() - 1))
    }

    fn check(&self, stream: &str, proposed: &[StubEvent]) -> Result<(), StubRefusal> {
        if self.tombs.contains(stream) {
            let message = format!("Event stream '{stream}' is deleted.");
            return Err(StubRefusal { code: 9, message, exception: "stream-deleted" });
        }
        if proposed.iter().map(|event| event.message.data.len()).sum::<usize>() > APPEND_MAX_BYTES {
            let message = format!("Maximum Append Size of {APPEND_MAX_BYTES} Exceeded.");
            return Err(StubRefusal { code: 3, message, exception: "maximum-append-size-exceeded" });
        }
        Ok(())
    }

    /// Backwards from the end, as a mirror reads.
    pub fn read(&self, request: ReadReq) -> Result<Vec<ReadResp>, StubRefusal> {
        let options = request.options.unwrap();
        let stream = options.stream.unwrap();
        assert!(stream.end.is_some() && options.read_direction == 1, "a mirror reads backwards from the end");
        let identifier = stream.stream_identifier.unwrap();
        let name = String::from_utf8(identifier.stream_name.clone()).unwrap();
        self.check(&name, &[])?;
        let resp = |content| ReadResp { content: Some(content) };
        let Some(kept) = self.kept.get(&name).filter(|kept| !kept.is_empty()) else {
            let missing = StreamNotFound { stream_identifier: Some(identifier) };
            return Ok(vec![resp(ReadContent::StreamNotFound(missing))]);
        };
        let count = usize::try_from(options.count.unwrap()).unwrap_or(usize::MAX);
        let events = kept.iter().enumerate().rev().take(count).map(|(revision, event)| {
            let event = RecordedEvent {
                id: Some(WireUuid::of(event.id)),
                stream_identifier: Some(StreamIdentifier { stream_name: name.clone().into_bytes() }),
                stream_revision: revision as u64,
                metadata: event.message.metadata.clone(),
                custom_metadata: event.message.custom_metadata.clone(),
                data: event.message.data.clone(),
            };
            resp(ReadContent::Event(ReadEvent { event: Some(event) }))
        });
        Ok(events.collect())
    }
}

fn keep(message: ProposedMessage) -> StubEvent {
    assert_eq!(message.metadata["content-type"], "application/json");
    StubEvent {
        id: message.id.as_ref().unwrap().id(),
        kind: message.metadata["type"].clone(),
        data: serde_json::from_slice(&message.data).unwrap(),
        metadata: serde_json::from_slice(&message.custom_metadata).unwrap_or_default(),
        message,
    }
}

fn taken(last: usize) -> AppendResp {
    let current = Some(CurrentRevision::Revision(last as u64));
    let position = Some(LogPosition { commit_position: 1, prepare_position: 1 });
    AppendResp { result: Some(AppendResult::Success(Success { current, position })) }
}

fn wrong(length: usize, next: usize) -> AppendResp {
    let current = match length.checked_sub(1) {
        Some(last) => FoundRevision::Revision(last as u64),
        None => FoundRevision::NoStream(WireEmpty {}),
    };
    let expected = match next.checked_sub(1) {
        Some(last) => WantedRevision::Revision(last as u64),
        None => WantedRevision::NoStream(WireEmpty {}),
    };
    let wrong = WrongExpectedVersion { current: Some(current), expected: Some(expected) };
    AppendResp { result: Some(AppendResult::WrongExpectedVersion(wrong)) }
}
