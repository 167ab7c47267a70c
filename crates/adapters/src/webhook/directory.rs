//! Which subscriptions there are, as senders of the engine.
//!
//! Invariant: the senders follow the store: what another node changed is noticed by a hint, what a hint missed by
//! reading all of them again. A receiver that answered 410 is disabled.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ordo_engine::change_hint::ChangeHint;
use ordo_engine::object_queries::IndexRange;
use ordo_engine::queries::Queries;
use ordo_engine::sender::Senders;
use ordo_engine::{Engine, SubmitError};
use ordo_model::Kind;
use ordo_model::limits::SUBSCRIPTIONS_MAX;
use ordo_model::subscription::{Subscription, SubscriptionCommand};
use ordo_store::Fault;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc::UnboundedReceiver;
use uuid::Uuid;

use super::sender::{WebhookSender, WebhookTransport, is_sender_name, sender_name};

/// Other nodes write often, and seldom a subscription: all of them are read again once in so long.
const RELOAD_AFTER: Duration = Duration::from_secs(1);

/// Keeps the senders of one engine in step with its subscriptions. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Directory {
    senders: Senders,
    transport: WebhookTransport,
}

impl Directory {
    pub fn new(senders: Senders, transport: WebhookTransport) -> Directory {
        Directory { senders, transport }
    }

    /// Registers all there are, and none besides. Before the engine starts: a notification whose sender is not there is
    /// dead-lettered.
    pub async fn load(&self, queries: &Queries) -> Result<usize, Fault> {
        let found = queries.objects::<Subscription>(&IndexRange::all(0, SUBSCRIPTIONS_MAX)).await?;
        let known: BTreeSet<String> = found.items.iter().map(|kept| sender_name(kept.id)).collect();
        for name in self.senders.names().iter().filter(|name| is_sender_name(name) && !known.contains(*name)) {
            self.senders.remove(name);
        }
        for kept in found.items {
            self.put(kept.id, Some(kept.value));
        }
        Ok(known.len())
    }

    /// Looks at one again.
    pub async fn refresh(&self, queries: &Queries, id: Uuid) -> Result<(), Fault> {
        let subscription = queries.object::<Subscription>(id).await?;
        self.put(id, subscription.map(|kept| kept.value));
        Ok(())
    }

    fn put(&self, id: Uuid, subscription: Option<Subscription>) {
        match subscription.filter(Subscription::is_enabled) {
            Some(subscription) => {
                self.senders.register(Arc::new(WebhookSender::new(id, subscription, self.transport.clone())));
            }
            None => self.senders.remove(&sender_name(id)),
        }
    }

    /// The subscription as a sender, enabled or not: for a message that tries the way.
    pub fn sender(&self, id: Uuid, subscription: Subscription) -> WebhookSender {
        WebhookSender::new(id, subscription, self.transport.clone())
    }

    /// Follows changes until the engine is gone.
    pub async fn follow(self, engine: Engine, mut gone: UnboundedReceiver<(Uuid, String)>) {
        let mut hints = engine.watch_objects();
        loop {
            let outcome = tokio::select! {
                hint = hints.recv() => match hint {
                    Ok(ChangeHint::Object(entity)) if entity.kind == Kind::Subscription => {
                        self.refresh(engine.queries(), entity.id).await
                    }
                    Ok(ChangeHint::Elsewhere) | Err(RecvError::Lagged(_)) => {
                        tokio::time::sleep(RELOAD_AFTER).await;
                        // What was said meanwhile is answered by one look, and nothing falls between the two.
                        hints = hints.resubscribe();
                        self.load(engine.queries()).await.map(drop)
                    }
                    Ok(ChangeHint::Object(_) | ChangeHint::Job(_) | ChangeHint::Run(_) | ChangeHint::Log(_)) => Ok(()),
                    Err(RecvError::Closed) => return,
                },
                Some((id, said)) = gone.recv() => self.disable(&engine, id, &said).await,
            };
            if let Err(error) = outcome {
                tracing::warn!(%error, "the subscriptions could not be looked at");
            }
        }
    }

    async fn disable(&self, engine: &Engine, id: Uuid, said: &str) -> Result<(), Fault> {
        let reason = format!("the receiver wants no more messages: {said}");
        match engine.command::<Subscription>(id, SubscriptionCommand::Disable { reason }).await {
            Ok(_) => tracing::warn!(subscription = %id, "disabled: its receiver answered 410"),
            // It was removed meanwhile.
            Err(SubmitError::Refused(_)) => {}
            Err(error) => tracing::warn!(subscription = %id, %error, "a subscription could not be disabled"),
        }
        self.refresh(engine.queries(), id).await
    }
}
