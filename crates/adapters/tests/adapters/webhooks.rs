//! Subscriptions and those who subscribed.

use std::sync::Arc;

use ordo_adapters::webhook::directory::Directory;
use ordo_adapters::webhook::sender::{WebhookTransport, sender_name};
use ordo_adapters::webhook::signing::SigningKey;
use ordo_egress_guard::{Guard, Guarded};
use ordo_engine::EngineOptions;
use ordo_engine::clock::{SystemClock, new_id};
use ordo_engine::secrets::{SecretText, Vault};
use ordo_engine::sender::Senders;
use ordo_engine::testing::incidents::{anna, is_delivered};
use ordo_engine::testing::{World, eventually, options};
use ordo_model::incident::{IncidentCommand, Severity};
use ordo_model::notification::{Notification, NotificationState};
use ordo_model::subscription::{Subscription, SubscriptionCommand, SubscriptionStatus, SubscriptionTerms};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::double::Mischief;
use crate::double::receiver::{Receiver, Taken};

/// A world with a directory of subscriptions, that may reach this machine.
struct Office {
    world: World,
    senders: Senders,
    directory: Directory,
    transport: WebhookTransport,
}

impl Office {
    async fn open() -> Office {
        Office::allowing(&["127.0.0.1"]).await
    }

    async fn allowing(allow: &[&str]) -> Office {
        let senders = Senders::default();
        Office::of(World::with(EngineOptions { senders: senders.clone(), ..options() }).await, senders, allow)
    }

    fn of(world: World, senders: Senders, allow: &[&str]) -> Office {
        let (gone, removals) = mpsc::unbounded_channel();
        let allow = allow.iter().map(|entry| entry.parse().unwrap()).collect();
        let transport = WebhookTransport {
            guarded: Guarded::new(Guard::new("webhooks.allow", allow)),
            vault: Vault::new(world.engine.queries().clone(), world.engine.secrets().keyring().clone()),
            clock: Arc::new(SystemClock),
            gone,
        };
        let directory = Directory::new(senders.clone(), transport.clone());
        tokio::spawn(directory.clone().follow(world.engine.clone(), removals));
        Office { world, senders, directory, transport }
    }

    /// A subscription, and the secret it signs with.
    async fn subscribe(&self, url: &str, events: &[&str]) -> (Uuid, String) {
        let (id, secret) = (new_id(), SigningKey::random().unwrap().reveal());
        let name = format!("webhook.{id}.1");
        self.world.engine.secrets().put(&name, &SecretText::new(secret.clone())).await.unwrap();
        let events = events.iter().map(|text| text.parse().unwrap()).collect();
        let terms = SubscriptionTerms { url: url.to_owned(), description: None, events, label: None };
        self.order(id, SubscriptionCommand::Add { terms, secret: name }).await;
        (id, secret)
    }

    async fn order(&self, id: Uuid, command: SubscriptionCommand) {
        self.world.engine.command::<Subscription>(id, command).await.unwrap();
        self.directory.refresh(self.world.engine.queries(), id).await.unwrap();
    }

    async fn subscription(&self, id: Uuid) -> Subscription {
        self.world.engine.queries().object::<Subscription>(id).await.unwrap().unwrap().value
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_subscribed_gets_signed_messages_of_what_they_asked_for() {
    let office = Office::open().await;
    let (receiver, url) = Receiver::start().await;
    let (_, secret) = office.subscribe(&format!("{url}/hook"), &["incident.started", "incident.severity_set"]).await;
    receiver.trusts(&[&secret]);
    let id = office.world.incident("Checkout is down", Some("checkout")).await;
    office.world.change(id, IncidentCommand::Acknowledge { by: anna() }).await;
    office.world.change(id, IncidentCommand::SetSeverity { severity: Severity::Sev1, by: anna() }).await;
    let notifications = office.world.settled(2).await;
    assert!(
        notifications
            .iter()
            .all(|notification| matches!(&notification.state, NotificationState::Delivered { note: Some(note), .. } if note == "204"))
    );
    let taken = receiver.taken();
    assert!(taken.iter().all(|taken| taken.signed_by == [true] && taken.id.starts_with("msg_")));
    let shown = |taken: Taken| {
        let mut body = taken.body;
        assert_eq!(body["data"]["stream"], format!("ordo-incident-{id}"));
        body["timestamp"] = "[time]".into();
        body["data"]["version"] = "[version]".into();
        body["data"]["stream"] = "[stream]".into();
        body["data"]["incident"]["id"] = "[id]".into();
        body["data"]["incident"]["created_at"] = "[time]".into();
        body
    };
    insta::assert_json_snapshot!("webhook", taken.into_iter().map(shown).collect::<Vec<_>>());
}

/// As another node sees it, which is not asked to look at this one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_that_was_removed_elsewhere_is_no_sender_any_more() {
    let office = Office::open().await;
    let (kept, _) = office.subscribe("http://127.0.0.1:1/kept", &["*"]).await;
    let (removed, _) = office.subscribe("http://127.0.0.1:1/removed", &["*"]).await;
    let senders = Senders::default();
    let elsewhere = Directory::new(senders.clone(), office.transport.clone());
    assert_eq!(elsewhere.load(office.world.engine.queries()).await.unwrap(), 2);
    office.order(removed, SubscriptionCommand::Remove).await;
    assert_eq!(elsewhere.load(office.world.engine.queries()).await.unwrap(), 1);
    assert_eq!(senders.names(), [sender_name(kept)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_who_is_down_delays_nobody_and_gets_the_same_message_again() {
    let senders = Senders::default();
    let world = World::standing(EngineOptions { senders: senders.clone(), ..options() }).await;
    let office = Office::of(world, senders, &["127.0.0.1"]);
    let ((bad, bad_url), (good, good_url)) = (Receiver::start().await, Receiver::start().await);
    bad.plan(&[Mischief::Status(500)]);
    let (bad_id, _) = office.subscribe(&format!("{bad_url}/hook"), &["*"]).await;
    let (good_id, _) = office.subscribe(&format!("{good_url}/hook"), &["*"]).await;
    office.world.incident("Checkout is down", None).await;
    let of = async |id: Uuid| {
        let all = office.world.notifications().await;
        all.into_iter().find(|notification| notification.sender == sender_name(id))
    };
    office.world.until("the good one has it", async || of(good_id).await.filter(is_delivered)).await;
    let has_failed = async || of(bad_id).await.filter(|notification| notification.attempts == 1);
    office.world.until("the bad one was tried once", has_failed).await;
    office.world.advance("4999ms".parse().unwrap()).await;
    assert!((good.taken().len(), bad.taken().len()) == (1, 0), "the first wait is five seconds and a jitter");
    office.world.advance("5s".parse().unwrap()).await;
    let notifications = office.world.settled(2).await;
    let of = |id: Uuid| notifications.iter().find(|notification| notification.sender == sender_name(id)).unwrap();
    assert!(is_delivered(of(bad_id)) && of(bad_id).attempts == 2);
    assert_eq!(of(bad_id).last_error.as_deref().unwrap(), format!("status 500 from {bad_url}/***: as asked for"));
    assert!(is_delivered(of(good_id)) && of(good_id).attempts == 1);
    assert_eq!(
        bad.taken()[0].id,
        format!("msg_{}", Notification::id(&of(bad_id).message, &of(bad_id).sender).simple())
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_who_wants_no_more_is_disabled() {
    let office = Office::open().await;
    let (receiver, url) = Receiver::start().await;
    receiver.answers(410);
    let (id, _) = office.subscribe(&format!("{url}/hook"), &["*"]).await;
    office.world.incident("Checkout is down", None).await;
    let notification = office.world.settled(1).await.remove(0);
    assert_eq!((is_delivered(&notification), notification.attempts), (false, 1));
    let disabled = async || match office.subscription(id).await.state {
        SubscriptionStatus::Disabled { reason } => Some(reason),
        SubscriptionStatus::Enabled | SubscriptionStatus::Removed => None,
    };
    let reason = office.world.until("it is disabled", disabled).await;
    assert!(reason.contains("410"), "{reason}");
    eventually("its sender is gone", async || office.senders.names().is_empty().then_some(())).await;
    let search = office.world.incident("Search is down", None).await;
    office.world.published(search).await;
    assert_eq!((office.world.notifications().await.len(), receiver.taken().len()), (1, 1));

    receiver.answers(200);
    office.order(id, SubscriptionCommand::Enable).await;
    eventually("its sender is back", async || (!office.senders.names().is_empty()).then_some(())).await;
    office.world.incident("Mail is down", None).await;
    office.world.settled(2).await;
    assert_eq!(receiver.taken().len(), 2, "it hears again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_a_secret_is_replaced_receivers_with_either_are_content() {
    let office = Office::open().await;
    let (receiver, url) = Receiver::start().await;
    let (id, old) = office.subscribe(&format!("{url}/hook"), &["*"]).await;
    let new = SigningKey::random().unwrap().reveal();
    let name = format!("webhook.{id}.2");
    office.world.engine.secrets().put(&name, &SecretText::new(new.clone())).await.unwrap();
    office.order(id, SubscriptionCommand::ReplaceSecret { secret: format!("webhook.{id}.2") }).await;
    receiver.trusts(&[&old, &new, &SigningKey::random().unwrap().reveal()]);
    office.world.incident("Checkout is down", None).await;
    office.world.settled(1).await;
    assert_eq!(receiver.taken()[0].signed_by, [true, true, false]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_tries_the_way_says_how_it_went() {
    let office = Office::open().await;
    let (receiver, url) = Receiver::start().await;
    let test = async |path: &str| {
        let (id, secret) = office.subscribe(&format!("{url}{path}"), &["none"]).await;
        receiver.trusts(&[&secret]);
        let sender = office.directory.sender(id, office.subscription(id).await);
        sender.test(new_id()).await.map_err(|error| error.text)
    };
    assert_eq!(test("/hook").await, Ok(204));
    assert_eq!(receiver.taken()[0].body["type"], "test");
    assert_eq!(receiver.taken()[0].signed_by, [true]);
    let moved = test("/moved").await.unwrap_err();
    assert!(moved.contains("status 307") && moved.contains("not followed"), "{moved}");
    assert_eq!(receiver.taken().len(), 1);
    assert!(test("/nothing").await.unwrap_err().contains("status 404"));
    receiver.plan(&[Mischief::Cut]);
    assert!(test("/hook").await.unwrap_err().starts_with("no answer from"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_message_goes_into_a_private_network_unless_the_configuration_says_so() {
    let office = Office::allowing(&[]).await;
    let (receiver, url) = Receiver::start().await;
    let (id, _) = office.subscribe(&format!("{url}/hook"), &["*"]).await;
    office.world.incident("Checkout is down", None).await;
    let notification = office.world.settled(1).await.remove(0);
    assert_eq!((is_delivered(&notification), notification.attempts), (false, 1));
    assert!(notification.last_error.unwrap().contains("webhooks.allow in the configuration can allow it"));
    let port = url.rsplit(':').next().unwrap();
    let named =
        SubscriptionTerms { url: format!("http://localhost:{port}/hook"), ..office.subscription(id).await.terms };
    office.order(id, SubscriptionCommand::Change { terms: named }).await;
    let sender = office.directory.sender(id, office.subscription(id).await);
    assert!(sender.test(new_id()).await.unwrap_err().text.contains("loopback"));
    assert!(receiver.taken().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removed_subscription_is_forgotten_by_its_sender() {
    let office = Office::open().await;
    let (receiver, url) = Receiver::start().await;
    let (id, _) = office.subscribe(&format!("{url}/hook"), &["*"]).await;
    assert_eq!(office.senders.names(), [sender_name(id)]);
    office.order(id, SubscriptionCommand::Remove).await;
    assert!(office.senders.names().is_empty());
    office.world.incident("Checkout is down", None).await;
    assert!(receiver.taken().is_empty());
}
