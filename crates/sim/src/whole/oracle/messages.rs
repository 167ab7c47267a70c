//! Messages in account: whatever people should hear of is sent to everybody who wants it, in order, at least once, and
//! given up only after as many tries as were promised.

use std::collections::{BTreeMap, BTreeSet};

use ordo_model::EntityId;
use ordo_model::incident::IncidentEvent;
use ordo_model::job::Event;
use ordo_model::notification::NotificationEvent;

use super::WholeEntry;
use crate::oracle::{Ruling, require};
use crate::whole::facts::{Deed, SenderReply, WholeHistory};
use crate::whole::senders::SENDERS;

/// The longest wait that a receiver asks for here.
const RETRY_AFTER_MAX_MS: i64 = 20_000;

/// How long it may take to write down what came of a try.
const WRITTEN_WITHIN_MS: i64 = 2_500;

/// What is announced: the event of an entity, to one sender. One event of a job may be worth two words.
type Announcement = (String, EntityId, u64, String);

pub(super) struct Messages<'h> {
    history: &'h WholeHistory,
    expected: BTreeSet<Announcement>,
    queued: BTreeMap<Announcement, QueuedNotification>,
    names: BTreeMap<EntityId, Announcement>,
    ended_incidents: BTreeSet<EntityId>,
    shards: BTreeSet<ordo_model::RunId>,
    sent_ok: BTreeSet<Announcement>,
    /// What the receiver of a notification said last.
    last_reply: BTreeMap<Announcement, SenderReply>,
}

#[derive(Debug, Default)]
struct QueuedNotification {
    failures: usize,
    is_settled: bool,
}

impl<'h> Messages<'h> {
    pub(super) fn new(history: &'h WholeHistory) -> Messages<'h> {
        Messages {
            history,
            expected: BTreeSet::new(),
            queued: BTreeMap::new(),
            names: BTreeMap::new(),
            ended_incidents: BTreeSet::new(),
            shards: BTreeSet::new(),
            sent_ok: BTreeSet::new(),
            last_reply: BTreeMap::new(),
        }
    }

    // --- what people should hear of ---------------------------------------------------------------

    pub(super) fn incident(&mut self, entry: WholeEntry, event: &IncidentEvent) -> Ruling {
        let was_ended = self.ended_incidents.contains(&entry.entity);
        if let IncidentEvent::StatusUpdated { status, .. } = event {
            match status.is_ended() {
                true => drop(self.ended_incidents.insert(entry.entity)),
                false => drop(self.ended_incidents.remove(&entry.entity)),
            }
        }
        let is_ended = self.ended_incidents.contains(&entry.entity);
        if event.by().is_some() && !(was_ended && is_ended) {
            let announce = |sender: &&str| ((*sender).to_owned(), entry.entity, entry.version, event.name().to_owned());
            self.expected.extend(SENDERS.iter().map(announce));
        }
        Ok(())
    }

    /// That a run failed for good is always worth a word.
    pub(super) fn job(&mut self, entry: WholeEntry, event: &Event) -> Ruling {
        match event {
            Event::ShardTriggered { run_id, .. } => drop(self.shards.insert(*run_id)),
            Event::JobFailed { run_id, retry_at: None, .. } if !self.shards.contains(run_id) => {
                self.expected.insert((SENDERS[0].to_owned(), entry.entity, entry.version, event.name().to_owned()));
            }
            _ => {}
        }
        Ok(())
    }

    // --- what becomes of it -------------------------------------------------------------------------

    pub(super) fn notification(&mut self, entry: WholeEntry, event: &NotificationEvent, trouble_until: i64) -> Ruling {
        if let NotificationEvent::NotificationQueued { sender, message } = event {
            let name: Announcement = (sender.clone(), message.entity(), message.version, message.event().to_owned());
            self.names.insert(entry.entity, name.clone());
            let before = self.queued.insert(name, QueuedNotification::default());
            return require(before.is_none(), || "it was queued twice".into());
        }
        let name = self.names.get(&entry.entity).cloned().ok_or("a notification that was never queued")?;
        let waits = self.history.senders.get(&name.0).ok_or("a sender that is not there")?;
        let queued = self.queued.get_mut(&name).ok_or("a notification that was never queued")?;
        match event {
            NotificationEvent::NotificationDelivered { .. } => {
                let settled = std::mem::replace(&mut queued.is_settled, true);
                let is_sent = self.sent_ok.contains(&name);
                require(is_sent && !settled, || format!("{name:?} is recorded as delivered, and nobody got it"))
            }
            NotificationEvent::NotificationFailed { retry_at, .. } => {
                queued.failures += 1;
                queued.is_settled = retry_at.is_none();
                let wait = waits.get(queued.failures - 1).copied();
                if self.history.is_shared {
                    // Two nodes may try at the same time when one takes over, and each counts its own try.
                    return Ok(());
                }
                let permanent = self.last_reply.get(&name) == Some(&SenderReply::Permanent);
                match (retry_at, wait) {
                    (Some(at), Some(wait)) => {
                        let waits = at.ms() - entry.at;
                        // It counts from when the answer came; a slow store writes it down later, and a process that stood
                        // still when it goes on.
                        let stood_still = entry.mono <= trouble_until + WRITTEN_WITHIN_MS;
                        let least = if stood_still { i64::MIN } else { wait - WRITTEN_WITHIN_MS };
                        require((least..=wait.max(RETRY_AFTER_MAX_MS)).contains(&waits), || {
                            format!("{name:?} is tried again after {waits} ms, not {wait}")
                        })
                    }
                    (Some(_), None) => Err(format!("{name:?} is tried more often than was promised")),
                    (None, Some(_)) => {
                        require(permanent, || format!("{name:?} was given up after {} tries", queued.failures))
                    }
                    (None, None) => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    pub(super) fn sent(&mut self, deed: &Deed) -> Ruling {
        let Deed::Sent { sender, key, entity, version, reply, .. } = deed else { return Ok(()) };
        let event = key.rsplit('/').next().unwrap_or_default().to_owned();
        let name: Announcement = (sender.clone(), *entity, *version, event);
        self.last_reply.insert(name.clone(), reply.clone());
        if *reply == SenderReply::Done {
            self.sent_ok.insert(name.clone());
        }
        let queued = self.queued.get(&name).ok_or_else(|| format!("{name:?} was sent, and is not in the log"))?;
        // Nodes that share a store may send at the same time, when one takes over from the other.
        require(!queued.is_settled || self.history.is_shared, || format!("{name:?} was sent after it was settled"))?;
        let queue = (sender.clone(), *entity, 0, String::new())..(sender.clone(), *entity, *version, String::new());
        let open = self.queued.range(queue).find(|(_, queued)| !queued.is_settled);
        require(open.is_none(), || format!("{name:?} was sent before {:?}", open.map(|(name, _)| name)))
    }

    pub(super) fn close(&self) -> Vec<String> {
        let lost = self.expected.iter().filter(|name| !self.queued.contains_key(name));
        let lost = lost.map(|name| format!("nobody was notified: {name:?}"));
        let open = self.queued.iter().filter(|(_, queued)| !queued.is_settled);
        lost.chain(open.map(|(name, _)| format!("never delivered and never given up: {name:?}"))).collect()
    }
}
