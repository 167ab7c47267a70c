//! E-mail: the same words as everywhere, as plain text and as simple HTML.

#[cfg(feature = "mail")]
mod html;
#[cfg(feature = "mail")]
pub mod sender;

use std::sync::Arc;

#[cfg(feature = "mail")]
use lettre::message::Mailbox;
#[cfg(feature = "mail")]
use lettre::{AsyncSmtpTransport, Tokio1Executor};
use ordo_engine::Sender;
use ordo_model::subscription::EventPattern;
use serde::Deserialize;

#[cfg(feature = "mail")]
use sender::{EmailSender, TIMEOUT};

/// `[smtp]` of the configuration. Mail is sent when a URL is given.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmtpOptions {
    /// `smtps://user:password@mail.example.com`, or `smtp://…?tls=required` for STARTTLS.
    #[serde(default)]
    pub url: String,
    #[serde(default)]
    pub from: String,
    #[serde(default)]
    pub to: Vec<String>,
    pub events: Vec<EventPattern>,
}

impl std::fmt::Debug for SmtpOptions {
    /// Without the URL: it holds the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SmtpOptions").field("from", &self.from).field("to", &self.to).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SmtpUnusable {
    #[error("smtp.url: {0}; write it as smtps://user:password@mail.example.com")]
    Url(String),
    #[error("smtp.from: {given:?} is not an address: {why}")]
    From { given: String, why: String },
    #[error("smtp.to: {given:?} is not an address: {why}")]
    To { given: String, why: String },
    #[error("smtp.url is given, but smtp.to is not: who gets the mail?")]
    Nobody,
    #[error("smtp.url: this Ordo was built without mail (the feature \"mail\")")]
    NotBuilt,
}

impl SmtpOptions {
    /// Who sends mail, if there is a server to send it through.
    pub fn sender(&self) -> Result<Option<Arc<dyn Sender>>, SmtpUnusable> {
        if self.url.is_empty() { Ok(None) } else { self.open().map(Some) }
    }

    #[cfg(not(feature = "mail"))]
    fn open(&self) -> Result<Arc<dyn Sender>, SmtpUnusable> {
        Err(SmtpUnusable::NotBuilt)
    }

    #[cfg(feature = "mail")]
    fn open(&self) -> Result<Arc<dyn Sender>, SmtpUnusable> {
        Ok(Arc::new(self.email_sender()?))
    }

    /// The same where there must be one.
    #[cfg(feature = "mail")]
    pub fn email_sender(&self) -> Result<EmailSender, SmtpUnusable> {
        if self.to.is_empty() {
            return Err(SmtpUnusable::Nobody);
        }
        let transport = AsyncSmtpTransport::<Tokio1Executor>::from_url(&self.url);
        let transport = transport.map_err(|error| SmtpUnusable::Url(error.to_string()))?.timeout(Some(TIMEOUT)).build();
        let from = mailbox(&self.from).map_err(|why| SmtpUnusable::From { given: self.from.clone(), why })?;
        let to =
            self.to.iter().map(|given| mailbox(given).map_err(|why| SmtpUnusable::To { given: given.clone(), why }));
        let to = to.collect::<Result<Vec<Mailbox>, SmtpUnusable>>()?;
        Ok(EmailSender { name: sender::NAME.to_owned(), transport, from, to, events: self.events.clone() })
    }
}

#[cfg(feature = "mail")]
pub(crate) fn mailbox(text: &str) -> Result<Mailbox, String> {
    text.parse().map_err(|error: lettre::address::AddressError| error.to_string())
}

#[cfg(all(test, feature = "mail"))]
mod tests {
    use super::*;

    fn options(url: &str, from: &str, to: &[&str]) -> SmtpOptions {
        let to = to.iter().map(|&to| to.to_owned()).collect();
        SmtpOptions { url: url.into(), from: from.into(), to, events: Vec::new() }
    }

    #[tokio::test]
    async fn what_is_missing_or_wrong_is_named_by_its_key() {
        assert!(options("", "", &[]).sender().unwrap().is_none());
        let refused = |options: SmtpOptions| options.sender().err().unwrap().to_string();
        assert!(refused(options("smtp://localhost", "ordo@example.com", &[])).contains("smtp.to"));
        assert!(refused(options("smtp://localhost", "nobody", &["a@example.com"])).starts_with("smtp.from"));
        assert!(
            refused(options("smtp://localhost", "ordo@example.com", &["a@example.com", "b"])).starts_with("smtp.to")
        );
        assert!(refused(options("http://localhost", "ordo@example.com", &["a@example.com"])).starts_with("smtp.url"));
        let good = options("smtp://user:s3cret@localhost", "Ordo <ordo@example.com>", &["a@example.com"]);
        assert!(good.sender().unwrap().is_some());
        assert!(!format!("{good:?}").contains("s3cret"));
    }
}
