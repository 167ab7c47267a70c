//! Events as they arrive.

use std::collections::VecDeque;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::Error;
use crate::connection::Sender;
use crate::sse::{Parser, SseEvent};

/// Events of one followed stream. To go on after an interruption, follow again with the `id` of the last event seen.
#[derive(Debug)]
pub struct EventStream {
    body: Incoming,
    parser: Parser,
    ready: VecDeque<SseEvent>,
    /// The connection ends when its sender is dropped.
    _sender: Sender,
}

impl EventStream {
    pub(crate) fn new(body: Incoming, sender: Sender) -> EventStream {
        EventStream { body, parser: Parser::default(), ready: VecDeque::new(), _sender: sender }
    }

    /// The next event; nothing when the server has no more to say.
    pub async fn next(&mut self) -> Option<Result<SseEvent, Error>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            match self.body.frame().await? {
                Ok(frame) => self.take(&frame),
                Err(error) => return Some(Err(Error::protocol("the stream was cut off", error))),
            }
        }
    }

    fn take(&mut self, frame: &hyper::body::Frame<Bytes>) {
        if let Some(bytes) = frame.data_ref() {
            self.ready.extend(self.parser.push(bytes));
        }
    }
}
