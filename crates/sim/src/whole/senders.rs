//! Senders to people outside: they take their time, refuse, or say nothing though the message arrived.

use std::sync::Arc;

use async_trait::async_trait;
use ordo_engine::{OutgoingMessage, Retries, SendError, Sender, Sent};
use ordo_model::Millis;
use ordo_model::notification::{Message, Subject};

use super::facts::{Deed, SenderReply};
use super::generation::NodeGeneration;
use super::plan::FaultKind;
use super::scene::Scene;

/// The two senders there are: one for everything, one for incidents only.
pub(crate) const SENDERS: [&str; 2] = ["chat", "pager"];
const TIMEOUT_MS: u64 = 5_000;

pub(crate) fn retries() -> Retries {
    Retries::doubling(Millis::from_secs(1), Millis::from_secs(8), 6)
}

pub(crate) struct SimSender {
    pub(crate) name: &'static str,
    pub(crate) scene: Arc<Scene>,
    pub(crate) generation: Arc<NodeGeneration>,
}

impl SimSender {
    fn draw(&self) -> (i64, bool, SenderReply) {
        if self.scene.strikes(FaultKind::SlowSender, 150) {
            let late = i64::try_from(TIMEOUT_MS).unwrap_or(0) + 1_000;
            return (late, self.scene.chance(500), SenderReply::Nothing);
        }
        if self.scene.strikes(FaultKind::FailingSender, 300) {
            let arrived = self.scene.chance(200);
            return match self.scene.between(0, 9) {
                0 => (10, false, SenderReply::Permanent),
                1 | 2 => (10, arrived, SenderReply::Passing { retry_after_ms: self.scene.between(1, 20) * 1_000 }),
                _ => (10, arrived, SenderReply::Passing { retry_after_ms: 0 }),
            };
        }
        (self.scene.between(0, 80), true, SenderReply::Done)
    }
}

#[async_trait]
impl Sender for SimSender {
    fn name(&self) -> &str {
        self.name
    }

    fn wants(&self, message: &Message) -> bool {
        self.name == SENDERS[0] || matches!(message.subject, Subject::Incident { .. })
    }

    async fn send(&self, outgoing: &OutgoingMessage<'_>) -> Result<Sent, SendError> {
        self.generation.alive(&self.scene).await;
        let (takes_ms, arrived, reply) = self.draw();
        self.scene.sleep(takes_ms.min(20)).await;
        self.generation.alive(&self.scene).await;
        let message = outgoing.message;
        self.scene.fact(Deed::Sent {
            sender: self.name.to_owned(),
            key: outgoing.key.to_owned(),
            entity: message.entity(),
            version: message.version,
            attempt: outgoing.attempt,
            arrived,
            reply: reply.clone(),
        });
        self.scene.sleep(takes_ms - 20).await;
        self.generation.alive(&self.scene).await;
        match reply {
            SenderReply::Done => Ok(Sent::default()),
            SenderReply::Permanent => {
                Err(SendError { text: "unknown receiver".into(), retry_after: None, permanent: true })
            }
            SenderReply::Passing { retry_after_ms } => {
                let retry_after = (retry_after_ms > 0).then(|| Millis::from_ms(retry_after_ms.unsigned_abs()));
                Err(SendError { text: "try again".into(), retry_after, permanent: false })
            }
            SenderReply::Nothing => std::future::pending().await,
        }
    }

    fn retries(&self) -> Retries {
        retries()
    }

    fn timeout(&self) -> Millis {
        Millis::from_ms(TIMEOUT_MS)
    }

    fn concurrency(&self) -> usize {
        2
    }
}
