//! Channels of the store as senders.
//!
//! Invariant: a channel is looked up whenever a message is written for it or sent through it, so a change counts at once
//! on every node. The sender that was made of it is kept as long as the channel stands as it was.

use std::sync::Arc;

use futures_util::future::join_all;
use ordo_model::channel::Channel;
use ordo_model::limits::CHANNELS_MAX;
use ordo_model::notification::{Message, Notification, NotificationCommand};
use ordo_store::{Direction, Fault};
use uuid::Uuid;

use crate::commit::command::SubmitError;
use crate::commit::kinds::notification::QUEUES;
use crate::commit::state::Versioned;
use crate::engine::Engine;
use crate::notify::sender::Sender;
use crate::notify::workflow::fault_of;
use crate::read::object_queries::IndexRange;
use crate::read::queries::Queries;

/// Makes senders of channels: an adapter, which knows Slack, mail and the rest.
pub trait ChannelOpener: Send + Sync + 'static {
    fn open(&self, channel: &Channel) -> Arc<dyn Sender>;
}

/// Why a notification cannot be sent whose sender is not there.
pub fn gone(sender: &str) -> String {
    match Channel::is_name(sender) {
        true => format!("there is no channel {sender:?} any more: add one of this name, then replay this"),
        false => format!("there is no sender {sender:?}"),
    }
}

/// How many notifications are given up at a time.
const GIVEN_UP_AT_ONCE: usize = 100;

impl Engine {
    /// The sender of this name: one that the program registered, or a channel of the store as it stands now.
    pub async fn sender(&self, name: &str) -> Result<Option<Arc<dyn Sender>>, Fault> {
        let senders = self.senders();
        if let Some(sender) = senders.get(name) {
            return Ok(Some(sender));
        }
        if !senders.opens_channels() || !Channel::is_name(name) {
            return Ok(None);
        }
        let Some(channel) = self.queries().object::<Channel>(Channel::id(name)).await? else {
            senders.forget_channel(name);
            return Ok(None);
        };
        Ok(senders.of_channel(&channel))
    }

    /// Whether anybody could want to hear of anything.
    pub(crate) async fn has_senders(&self) -> Result<bool, Fault> {
        let senders = self.senders();
        Ok(!senders.is_empty() || (senders.opens_channels() && !self.queries().channels().await?.is_empty()))
    }

    /// The names of those that want this message.
    pub(crate) async fn interested(&self, message: &Message) -> Result<Vec<String>, Fault> {
        let senders = self.senders();
        let mut names = senders.interested(message);
        if senders.opens_channels() {
            let channels = self.queries().channels().await?;
            // A sender that the program registered stands before a channel of the same name.
            let free = channels.iter().filter(|channel| senders.get(&channel.name).is_none());
            let wanting =
                free.filter(|channel| senders.of_channel(channel).is_some_and(|sender| sender.wants(message)));
            names.extend(wanting.map(|channel| channel.name.clone()));
        }
        Ok(names)
    }

    /// Gives up what waits for a sender that is no more. What is missed here, because it is being written or replayed at
    /// this moment, is given up at its next try.
    pub async fn give_up_waiting(&self, sender: &str, why: &str) -> Result<usize, Fault> {
        let (prefix, mut count) = ([sender.as_bytes(), &[0]].concat(), 0);
        loop {
            let section = IndexRange {
                index: QUEUES,
                prefix: &prefix,
                after: None,
                order: Direction::Ascending,
                limit: GIVEN_UP_AT_ONCE,
            };
            let ids = self.queries().object_ids::<Notification>(&section).await?;
            if ids.is_empty() {
                return Ok(count);
            }
            for result in join_all(ids.iter().map(|id| self.give_up(*id, why))).await {
                result?;
            }
            count += ids.len();
        }
    }

    async fn give_up(&self, id: Uuid, why: &str) -> Result<(), Fault> {
        let command = NotificationCommand::Failed { error: why.to_owned(), retry_at: None };
        match self.command::<Notification>(id, command).await {
            // Forgotten meanwhile.
            Ok(_) | Err(SubmitError::Refused(_)) => Ok(()),
            Err(error) => Err(fault_of(error)),
        }
    }
}

impl Queries {
    /// The channels of the store, by name.
    pub async fn channels(&self) -> Result<Vec<Versioned<Channel>>, Fault> {
        Ok(self.objects::<Channel>(&IndexRange::all(0, CHANNELS_MAX)).await?.items)
    }
}
