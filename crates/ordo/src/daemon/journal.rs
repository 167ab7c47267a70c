//! A sender that needs nobody: it appends every message to a file, one line of JSON each.
//!
//! Invariant: a message counts as sent when its line is in the file as a whole; after a crash it may be there twice.

use std::io::Write;
use std::path::PathBuf;

use async_trait::async_trait;
use ordo_engine::{OutgoingMessage, SendError, Sender, Sent};
use ordo_model::notification::Message;
use serde_json::json;

use crate::private_file;

#[derive(Debug)]
pub(super) struct NotificationFile {
    pub(super) path: PathBuf,
}

#[async_trait]
impl Sender for NotificationFile {
    fn name(&self) -> &str {
        "file"
    }

    fn wants(&self, _: &Message) -> bool {
        true
    }

    async fn send(&self, outgoing: &OutgoingMessage<'_>) -> Result<Sent, SendError> {
        let mut line = json!(outgoing.message);
        line["key"] = outgoing.key.into();
        line["stream"] = outgoing.message.entity().to_string().into();
        let path = self.path.clone();
        let written = tokio::task::spawn_blocking(move || {
            let mut file = private_file::append_to(&path)?;
            // In one write: lines of notifications that go out at the same time are not mixed.
            file.write_all(format!("{line}\n").as_bytes())
        });
        match written.await {
            Ok(Ok(())) => Ok(Sent::default()),
            Ok(Err(error)) => Err(SendError::passing(format!("{}: {error}", self.path.display()))),
            Err(error) => Err(SendError::passing(error.to_string())),
        }
    }
}
