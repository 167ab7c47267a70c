//! Hints: after a commit the other nodes are notified in which partitions, on a connection of its own, a few times a second.
//!
//! Invariant: never needed. A hint that is lost costs the time to the next tick; a connection that was lost is reported
//! as [`Hint::Lost`], so that a listener looks everywhere once.

use std::collections::BTreeSet;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use ordo_store::{Fault, Hint, Hints, Partition};
use tokio::sync::{broadcast, mpsc};
use tokio_postgres::{AsyncMessage, Client, Config};
use uuid::Uuid;

use crate::connection::tls::MakeTls;
use crate::connection::url::ConnectTarget;
use crate::fault::Trouble;

/// What is committed within this time is announced together.
const GATHERING: Duration = Duration::from_millis(15);
/// How long a database that is away is left alone.
const AWAY_PAUSE: Duration = Duration::from_secs(1);
/// Hints a listener may be behind with before it looks everywhere instead.
const BEHIND_MAX: usize = 256;

/// Notifies other nodes and listens to them, once somebody listens here: a process alone notifies nobody.
pub(crate) struct HintChannel {
    name: Uuid,
    /// Where to listen; None: nobody is notified, and nobody listens.
    listening: Option<Listening>,
    changed: Mutex<BTreeSet<Partition>>,
    running: OnceLock<HintTasks>,
}

struct Listening {
    config: Config,
    tls: MakeTls,
    channel: String,
}

#[derive(Debug)]
struct HintTasks {
    hints: broadcast::Sender<Hint>,
    /// Something changed; what, is gathered beside it.
    wake: mpsc::Sender<()>,
}

impl fmt::Debug for HintChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HintChannel").field("name", &self.name).finish_non_exhaustive()
    }
}

impl HintChannel {
    pub(crate) fn new(name: Uuid, target: Option<&ConnectTarget>) -> Result<HintChannel, Fault> {
        let listening = |(target, config): (&ConnectTarget, &Config)| {
            let (config, channel) = (config.clone(), format!("ordo_{}", target.schema));
            Ok::<_, Fault>(Listening { config, tls: MakeTls::of(target)?, channel })
        };
        // Behind a pooler somebody must say where a session of one's own is to be had.
        let listening = target.and_then(|target| Some((target, target.listen.as_ref()?))).map(listening).transpose()?;
        Ok(HintChannel { name, listening, changed: Mutex::default(), running: OnceLock::new() })
    }

    /// What this store calls itself.
    pub(crate) fn name(&self) -> Uuid {
        self.name
    }

    pub(crate) fn committed(&self, partitions: &[Partition]) {
        let Some(running) = self.running.get() else { return };
        if !partitions.is_empty() {
            self.changed.lock().unwrap_or_else(PoisonError::into_inner).extend(partitions);
            // Full: it is about to look anyway.
            let _ = running.wake.try_send(());
        }
    }

    fn take(&self) -> BTreeSet<Partition> {
        std::mem::take(&mut *self.changed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn listen(self: &std::sync::Arc<HintChannel>) -> Box<dyn Hints> {
        let running = self.running.get_or_init(|| {
            let (hints, _) = broadcast::channel(BEHIND_MAX);
            let (wake, woken) = mpsc::channel(1);
            if self.listening.is_none() {
                tracing::warn!("nodes hear of each other once a second only: nobody said where to listen for them");
            } else {
                tokio::spawn(run(std::sync::Arc::downgrade(self), hints.clone(), woken));
            }
            HintTasks { hints, wake }
        });
        Box::new(HintListener(running.hints.subscribe()))
    }
}

struct HintListener(broadcast::Receiver<Hint>);

#[async_trait]
impl Hints for HintListener {
    async fn next(&mut self) -> Option<Hint> {
        match self.0.recv().await {
            Ok(hint) => Some(hint),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(Hint::Lost),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

/// As long as the store is open.
async fn run(shared: std::sync::Weak<HintChannel>, hints: broadcast::Sender<Hint>, mut woken: mpsc::Receiver<()>) {
    while let Some(open) = shared.upgrade() {
        let Some(listening) = &open.listening else { return };
        let connected = connect(open.name, listening, hints.clone()).await;
        drop(open);
        match connected {
            Ok((client, ended)) => {
                // Nobody listened until now.
                let _ = hints.send(Hint::Lost);
                if notify(&shared, &client, ended, &mut woken).await == ListenEnd::Closed {
                    return;
                }
            }
            Err(trouble) => tracing::debug!(?trouble, "no hints for now"),
        }
        tokio::time::sleep(AWAY_PAUSE).await;
    }
}

type ConnectionEnd = tokio::task::JoinHandle<()>;

async fn connect(
    name: Uuid,
    listening: &Listening,
    hints: broadcast::Sender<Hint>,
) -> Result<(Client, ConnectionEnd), Trouble> {
    let (client, mut connection) = listening.config.connect(listening.tls.clone()).await?;
    let channel = listening.channel.clone();
    let ended = tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
            if let AsyncMessage::Notification(notification) = message
                && notification.channel() == channel
                && let Some(hint) = read(notification.payload(), name)
            {
                // Nobody listens: nobody misses it.
                let _ = hints.send(hint);
            }
        }
    });
    // A hint need not be durable: commits must not wait behind the disk for it.
    client.batch_execute(&format!("SET synchronous_commit = off; LISTEN {}", listening.channel)).await?;
    Ok((client, ended))
}

#[derive(PartialEq, Eq)]
enum ListenEnd {
    /// The connection is gone.
    Lost,
    /// The store is closed.
    Closed,
}

async fn notify(
    shared: &std::sync::Weak<HintChannel>,
    client: &Client,
    mut ended: ConnectionEnd,
    woken: &mut mpsc::Receiver<()>,
) -> ListenEnd {
    loop {
        tokio::select! {
            _ = &mut ended => return ListenEnd::Lost,
            changed = woken.recv() => if changed.is_none() { return ListenEnd::Closed },
        }
        tokio::time::sleep(GATHERING).await;
        let Some(open) = shared.upgrade() else { return ListenEnd::Closed };
        let Some(listening) = &open.listening else { return ListenEnd::Closed };
        let payload = write(open.name, &open.take());
        if client.query("SELECT pg_notify($1, $2)", &[&listening.channel, &payload]).await.is_err() {
            return ListenEnd::Lost;
        }
    }
}

/// Who says it, and a bit for each partition.
fn write(name: Uuid, partitions: &BTreeSet<Partition>) -> String {
    let mut bits = [0u8; 32];
    for Partition(partition) in partitions {
        bits[usize::from(partition / 8)] |= 1 << (partition % 8);
    }
    format!("{}:{}", name.simple(), hex::encode(bits))
}

/// What the database says when somebody has inserted submissions; nobody's name is in front of it.
const SUBMISSIONS: &str = "submissions";

/// Nothing, if it is our own word. What cannot be read was said by another version: look everywhere.
fn read(payload: &str, own: Uuid) -> Option<Hint> {
    if payload == SUBMISSIONS {
        return Some(Hint::Submissions);
    }
    let Some((name, digits)) = payload.split_once(':') else { return Some(Hint::Lost) };
    if name == own.simple().to_string() {
        return None;
    }
    let mut bits = [0u8; 32];
    if hex::decode_to_slice(digits, &mut bits).is_err() {
        return Some(Hint::Lost);
    }
    let is_set = |Partition(partition): &Partition| bits[usize::from(partition / 8)] & (1 << (partition % 8)) != 0;
    Some(Hint::Partitions(Partition::all().filter(is_set).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_reads_back_for_everybody_but_its_author() {
        let (author, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let partitions = [0, 7, 8, 255].map(Partition);
        let said = write(author, &BTreeSet::from(partitions));
        assert_eq!(read(&said, other), Some(Hint::Partitions(partitions.to_vec())));
        assert_eq!(read(&said, author), None);
        assert_eq!(read("submissions", author), Some(Hint::Submissions));
        assert_eq!(read("what?", other), Some(Hint::Lost));
        assert_eq!(read(&format!("{}:zz", author.simple()), other), Some(Hint::Lost));
    }
}
