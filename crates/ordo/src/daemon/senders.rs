//! The senders of the daemon: Slack, mail, a file, the URLs that subscribed, and the channels of the store.
//!
//! Invariant: all but the channels of the store, which are looked up, are there before the engine starts: a notification
//! whose sender is not there is given up.

use std::sync::Arc;

use ordo_adapters::channel::ChannelTransport;
use ordo_adapters::slack::api::Api;
use ordo_adapters::slack::signature::SigningSecret;
use ordo_adapters::webhook::directory::Directory;
use ordo_adapters::webhook::sender::WebhookTransport;
use ordo_egress_guard::{Guard, Guarded};
use ordo_engine::Engine;
use ordo_engine::clock::SystemClock;
use ordo_engine::queries::Queries;
use ordo_engine::secrets::{Keyring, Vault};
use ordo_engine::sender::Senders;
use ordo_server::Adapters;
use ordo_store::Store;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use super::journal::NotificationFile;
use crate::config::Settings;
use crate::error::{Error, Result};

pub(super) struct ConfiguredSenders {
    pub(super) senders: Senders,
    slack: Option<SigningSecret>,
    directory: Directory,
    /// Receivers that want no more.
    gone: UnboundedReceiver<(Uuid, String)>,
}

impl ConfiguredSenders {
    /// Adds them to the senders there are.
    pub(super) async fn open(
        settings: &Settings,
        senders: Senders,
        store: Arc<dyn Store>,
        keys: Arc<dyn Keyring>,
    ) -> Result<ConfiguredSenders> {
        let refused = |why: String| Error::misused("the configuration is refused").detail(why);
        if let Some(sender) = settings.slack.sender().map_err(|error| refused(error.to_string()))? {
            tracing::info!(channel = sender.channel, "incidents are posted to Slack");
            senders.register(Arc::new(sender));
        }
        if let Some(sender) = settings.smtp.sender().map_err(|error| refused(error.to_string()))? {
            tracing::info!(recipients = settings.smtp.to.len(), "mail is sent");
            senders.register(sender);
        }
        if let Some(path) = &settings.senders.file.path {
            senders.register(Arc::new(NotificationFile { path: path.clone() }));
        }
        let queries = Queries::new(store);
        let (removed, gone) = unbounded_channel();
        let transport = WebhookTransport {
            guarded: Guarded::new(Guard::new("webhooks.allow", settings.webhooks.allow.clone())),
            vault: Vault::new(queries.clone(), keys),
            clock: Arc::new(SystemClock),
            gone: removed,
        };
        let slack = Api::new(&settings.slack.api_url, "").map_err(|error| refused(error.to_string()))?;
        let (guarded, vault, clock) = (transport.guarded.clone(), transport.vault.clone(), transport.clock.clone());
        senders.open_channels_with(Arc::new(ChannelTransport { guarded, vault, clock, slack }));
        let directory = Directory::new(senders.clone(), transport);
        let subscriptions = directory.load(&queries).await?;
        tracing::debug!(subscriptions, "those who subscribed are known");
        Ok(ConfiguredSenders { senders, slack: settings.slack.signing_secret(), directory, gone })
    }

    pub(super) fn adapters(&self) -> Adapters {
        Adapters { slack: self.slack.clone(), directory: Some(self.directory.clone()), ..Adapters::default() }
    }

    /// Keeps up with changes of the subscriptions. Ends when dropped.
    pub(super) fn follow(self, engine: Engine) -> AbortOnDropHandle<()> {
        AbortOnDropHandle::new(tokio::spawn(self.directory.follow(engine, self.gone)))
    }
}
