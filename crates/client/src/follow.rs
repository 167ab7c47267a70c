//! Events as they arrive.

use std::collections::VecDeque;

use reqwest::Response;

use crate::Error;
use crate::sse::{Parser, SseEvent};

/// Events of one followed stream. To go on after an interruption, follow again with the `id` of the last event seen.
#[derive(Debug)]
pub struct EventStream {
    answer: Response,
    parser: Parser,
    ready: VecDeque<SseEvent>,
}

impl EventStream {
    pub(crate) fn new(answer: Response) -> EventStream {
        EventStream { answer, parser: Parser::default(), ready: VecDeque::new() }
    }

    /// The next event; nothing when the server has no more to say.
    pub async fn next(&mut self) -> Option<Result<SseEvent, Error>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            match self.answer.chunk().await {
                Ok(Some(bytes)) => self.ready.extend(self.parser.push(&bytes)),
                Ok(None) => return None,
                Err(error) => return Some(Err(Error::cut_off("the stream was cut off", &error))),
            }
        }
    }
}
