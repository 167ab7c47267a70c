//! Somebody who follows all events and comes back with the last id that was heard, whatever happens in between.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::lab::clock::pause;
use crate::lab::random::SeededRandom;
use crate::lab::socket::SocketClient;

#[derive(Debug, Default)]
pub(super) struct FollowedEvents {
    /// The latest version heard of each stream.
    pub(super) versions: BTreeMap<String, u64>,
    pub(super) heard: u64,
    pub(super) connections: u64,
    /// What was left out, or came twice.
    pub(super) oddities: Vec<String>,
    last_id: Option<String>,
}

impl FollowedEvents {
    pub(super) fn follow(
        mut self,
        clients: &[SocketClient],
        mut chance: SeededRandom,
        stop: &Arc<AtomicBool>,
    ) -> FollowedEvents {
        while !stop.load(Ordering::Relaxed) {
            let client = &clients[chance.index(clients.len())];
            if let Ok(reader) = client.events(self.last_id.as_deref()) {
                self.connections += 1;
                self.listen(reader, stop);
            }
            pause(100);
        }
        self
    }

    /// To the end of the connection.
    fn listen(&mut self, mut reader: impl BufRead, stop: &Arc<AtomicBool>) {
        let (mut line, mut id) = (String::new(), None);
        while !stop.load(Ordering::Relaxed) {
            line.clear();
            match reader.read_line(&mut line) {
                Ok(read) if read > 0 && line.ends_with('\n') => {}
                _ => return,
            }
            if let Some(text) = line.strip_prefix("id:") {
                id = Some(text.trim().to_owned());
            } else if let Some(text) = line.strip_prefix("data:") {
                self.hear(text);
            } else if line.trim().is_empty() && id.is_some() {
                self.last_id = id.take();
            }
        }
    }

    fn hear(&mut self, text: &str) {
        let Ok(event) = serde_json::from_str::<Value>(text) else {
            return self.oddities.push(format!("not JSON: {text}"));
        };
        let (Some(stream), Some(version)) = (event["stream"].as_str(), event["version"].as_u64()) else { return };
        self.heard += 1;
        let before = self.versions.insert(stream.to_owned(), version).unwrap_or(0);
        if version != before + 1 {
            self.oddities.push(format!("{stream}: version {version} came after {before}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_left_out_and_one_that_comes_twice_are_noticed() {
        let event = |version: u64| format!("id: {version}\ndata: {{\"stream\":\"s\",\"version\":{version}}}\n\n");
        let stop = Arc::new(AtomicBool::new(false));
        let mut followed = FollowedEvents::default();
        followed.listen([event(1), event(2)].concat().as_bytes(), &stop);
        assert_eq!((followed.heard, followed.last_id.as_deref(), followed.oddities.len()), (2, Some("2"), 0));
        followed.listen([event(2), event(4)].concat().as_bytes(), &stop);
        assert_eq!(followed.oddities, ["s: version 2 came after 2", "s: version 4 came after 2"]);
        // What a cut left half is heard again.
        followed.listen("id: 5\ndata: {\"stream\":\"s\",\"vers".as_bytes(), &stop);
        assert_eq!(followed.last_id.as_deref(), Some("4"));
    }
}
