//! Mail through a server that somebody wrote down while Ordo runs: looked up, checked, and only then connected to.

use lettre::message::Mailbox;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, Tokio1Executor};
use ordo_egress_guard::NotReached;
use ordo_engine::sender::{OutgoingMessage, SendError, Sender, Sent};
use ordo_model::channel::ChannelTarget;
use percent_encoding::percent_decode_str;
use reqwest::Url;

use super::ChannelSender;
use crate::email::mailbox;
use crate::email::sender::{EmailSender, TIMEOUT};

/// The ports that stand for TLS from the first byte, for STARTTLS, and for neither.
const SMTPS_PORT: u16 = 465;
const SUBMISSION_PORT: u16 = 587;
const SMTP_PORT: u16 = 25;

impl ChannelSender {
    pub(super) async fn mail(&self, outgoing: &OutgoingMessage<'_>) -> Result<Sent, SendError> {
        let ChannelTarget::Email { server, from, to, secret } = &self.channel.settings.target else {
            return Err(SendError::permanent("this channel sends no mail"));
        };
        let password = match secret {
            Some(name) => Some(self.secret(name).await?.expose().to_owned()),
            None => None,
        };
        let transport = self.transport_to(server, password).await?;
        let address = |text: &String| {
            mailbox(text).map_err(|why| SendError::permanent(format!("{text:?} is not an address: {why}")))
        };
        let sender = EmailSender {
            name: self.channel.name.clone(),
            transport,
            from: address(from)?,
            to: to.iter().map(address).collect::<Result<Vec<Mailbox>, SendError>>()?,
            events: Vec::new(),
        };
        sender.send(outgoing).await
    }

    /// Connects to an address that was checked, under the name that was written down.
    async fn transport_to(
        &self,
        server: &str,
        password: Option<String>,
    ) -> Result<AsyncSmtpTransport<Tokio1Executor>, SendError> {
        let unusable = |why: String| SendError::permanent(format!("server: {why}"));
        let url = Url::parse(server).map_err(|error| unusable(error.to_string()))?;
        let host = url.host_str().map(|host| host.trim_matches(['[', ']'])).unwrap_or_default();
        let address = self.transport.guarded.address(host).await.map_err(|error| match error {
            NotReached::Forbidden(forbidden) => unusable(forbidden.to_string()),
            NotReached::Unresolved(why) => SendError::passing(why),
        })?;
        let tls = || TlsParameters::new(host.to_owned()).map_err(|error| unusable(error.to_string()));
        let mode = url.query_pairs().find(|(name, _)| name == "tls").map(|(_, value)| value.into_owned());
        let (tls, port) = match (url.scheme(), mode.as_deref()) {
            ("smtps", None) => (Tls::Wrapper(tls()?), SMTPS_PORT),
            ("smtp", Some("required")) => (Tls::Required(tls()?), SUBMISSION_PORT),
            ("smtp", Some("opportunistic")) => (Tls::Opportunistic(tls()?), SUBMISSION_PORT),
            ("smtp", None) => (Tls::None, SMTP_PORT),
            (scheme, _) => return Err(unusable(format!("{scheme}:// with {mode:?} is no way to send mail"))),
        };
        let builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(address.to_string())
            .port(url.port().unwrap_or(port))
            .tls(tls)
            .timeout(Some(TIMEOUT));
        Ok(match password {
            Some(password) => builder.credentials(Credentials::new(user(&url), password)),
            None => builder,
        }
        .build())
    }
}

fn user(url: &Url) -> String {
    percent_decode_str(url.username()).decode_utf8_lossy().into_owned()
}
