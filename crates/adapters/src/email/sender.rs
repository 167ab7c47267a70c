//! Sends mail, one for each message. All mail about one incident or job stands in one thread of the reader's program.

use std::time::Duration;

use async_trait::async_trait;
use lettre::message::{Mailbox, MultiPart};
use lettre::transport::smtp;
use lettre::{AsyncSmtpTransport, AsyncTransport, Message as Mail, Tokio1Executor};
use ordo_engine::sender::{OutgoingMessage, SendError, Sender, Sent};
use ordo_model::Millis;
use ordo_model::notification::{Message, Notification};
use ordo_model::subscription::EventPattern;

use super::html;
use crate::message::{event_type, words};

pub const NAME: &str = "email";
/// How long the server may take for each of its answers.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(15);
const SUBJECT_MAX_CHARS: usize = 200;

#[derive(Debug)]
pub struct EmailSender {
    pub name: String,
    pub transport: AsyncSmtpTransport<Tokio1Executor>,
    pub from: Mailbox,
    pub to: Vec<Mailbox>,
    /// Which events are sent.
    pub events: Vec<EventPattern>,
}

#[async_trait]
impl Sender for EmailSender {
    fn name(&self) -> &str {
        &self.name
    }

    fn wants(&self, message: &Message) -> bool {
        let name = event_type(message);
        self.events.iter().any(|pattern| pattern.fits(name)) || self.called(message).is_some()
    }

    async fn send(&self, outgoing: &OutgoingMessage<'_>) -> Result<Sent, SendError> {
        let mail = self.mail(outgoing.message).map_err(|error| SendError::permanent(error.to_string()))?;
        match self.transport.send(mail).await {
            Ok(answer) => Ok(Sent { note: Some(answer.code().to_string()), remember: None }),
            Err(error) => Err(failure(&error)),
        }
    }

    fn timeout(&self) -> Millis {
        Millis::from_secs(60)
    }

    fn concurrency(&self) -> usize {
        4
    }
}

impl EmailSender {
    fn mail(&self, message: &Message) -> Result<Mail, lettre::error::Error> {
        let words = words(message);
        let subject: String = format!("[ordo] {}", words.line()).chars().take(SUBJECT_MAX_CHARS).collect();
        let host = self.from.email.domain();
        let mut mail = Mail::builder()
            .from(self.from.clone())
            // The same for every try: a server or a program that gets it twice sees that it is one.
            .message_id(Some(format!("<{}@{host}>", Notification::id(message, &self.name))))
            .references(format!("<{}@{host}>", message.entity()))
            .in_reply_to(format!("<{}@{host}>", message.entity()))
            .subject(subject);
        for to in self.called(message).map_or_else(|| self.to.clone(), |called| vec![called]) {
            mail = mail.to(to);
        }
        mail.multipart(MultiPart::alternative_plain_html(words.text(), html::page(&words)))
    }

    /// The address that a step of an escalation calls, if it is one.
    fn called(&self, message: &Message) -> Option<Mailbox> {
        message.notify(&self.name)?.parse().ok()
    }
}

fn failure(error: &smtp::Error) -> SendError {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    let text = causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
    if error.is_permanent() { SendError::permanent(text) } else { SendError::passing(text) }
}
