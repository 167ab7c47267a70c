//! Where the notifications of the demo go: nowhere. They count as sent, so that people see what would have been sent.

use async_trait::async_trait;
use ordo_engine::{OutgoingMessage, SendError, Sender, Sent};
use ordo_model::notification::{Message, Subject};

#[derive(Debug)]
pub(super) struct PretendedChannel;

#[async_trait]
impl Sender for PretendedChannel {
    fn name(&self) -> &str {
        "slack"
    }

    fn wants(&self, message: &Message) -> bool {
        matches!(message.subject, Subject::Incident { .. })
    }

    async fn send(&self, _: &OutgoingMessage<'_>) -> Result<Sent, SendError> {
        Ok(Sent { note: Some("the demo only pretends to send".to_owned()), ..Sent::default() })
    }
}
