//! The oracle of whole worlds: keeps its own account of everything that happened and says which promise was broken.
//!
//! Invariant: it knows the promises, not the code. Expected times come from its own calendar; the model lends it only the
//! words in which definitions and events are written.

mod evidence;
mod jobs;
mod messages;
mod objects;
mod runs;
mod shared;
mod wishes;

use std::collections::{BTreeMap, BTreeSet};

use ordo_model::{EntityId, JobId};

use super::facts::{AnyEvent, Deed, WholeFact, WholeHistory};
use crate::oracle::{Ruling, Violation, require};
use evidence::Proofs;
use jobs::JobAccounts;
use messages::Messages;
use objects::Objects;
use shared::SharedAccounts;
use wishes::Wishes;

/// How long after the calm began, or the last node came back, an executor may be found lost for what happened before.
const CALM_ECHO_MS: i64 = 60_000;

/// All broken promises, in the order in which they show.
pub fn judge(history: &WholeHistory) -> Vec<Violation> {
    let mut account = WholeAccount::new(history);
    let mut violations = Vec::new();
    for fact in &history.facts {
        for text in account.take(fact) {
            violations.push(Violation { mono: fact.mono, text });
        }
    }
    violations.extend(account.close().into_iter().map(|text| Violation { mono: history.end.mono, text }));
    violations
}

struct WholeAccount<'h> {
    history: &'h WholeHistory,
    versions: BTreeMap<EntityId, u64>,
    purged: BTreeSet<EntityId>,
    jobs: JobAccounts<'h>,
    shared: SharedAccounts<'h>,
    proofs: Proofs,
    messages: Messages<'h>,
    objects: Objects,
    wishes: Wishes,
    trouble_until: i64,
    calm_since: Option<i64>,
}

/// An entry of the log, as the rules need it.
#[derive(Clone, Copy)]
struct WholeEntry {
    entity: EntityId,
    version: u64,
    /// What the clock showed whoever wrote it.
    at: i64,
    mono: i64,
}

impl<'h> WholeAccount<'h> {
    fn new(history: &'h WholeHistory) -> WholeAccount<'h> {
        WholeAccount {
            history,
            versions: BTreeMap::new(),
            purged: BTreeSet::new(),
            jobs: JobAccounts::new(history),
            shared: SharedAccounts::new(history),
            proofs: Proofs::default(),
            messages: Messages::new(history),
            objects: Objects::default(),
            wishes: Wishes::default(),
            trouble_until: 0,
            calm_since: None,
        }
    }

    fn take(&mut self, fact: &WholeFact) -> Vec<String> {
        let verdict = match &fact.what {
            Deed::Asked { op, wish } => {
                self.wishes.asked(*op, wish);
                Ok(())
            }
            Deed::Answered { op, answer } => self.wishes.answered(*op, answer),
            Deed::Logged { entity, version, at, event } => {
                let entry = WholeEntry { entity: *entity, version: *version, at: *at, mono: fact.mono };
                return self.logged(entry, event, fact.wall);
            }
            Deed::Purged { entity } => {
                self.purged.insert(*entity);
                self.shared.purged(*entity);
                self.jobs.purged(*entity)
            }
            Deed::Executing { by, run, token } => self.proofs.executing(*by, *run, *token),
            Deed::Heartbeat { sent, attempts, .. } => {
                self.proofs.named(*sent, attempts);
                Ok(())
            }
            Deed::Executed { run, token, end } => self.proofs.executed(*run, *token, end),
            Deed::Sent { .. } => self.messages.sent(&fact.what),
            Deed::NodeUp { found, .. } => return self.survived(found),
            Deed::NodeDown { .. } | Deed::ClockSet { .. } => Ok(()),
            Deed::Trouble { until } => {
                self.trouble_until = self.trouble_until.max(*until);
                Ok(())
            }
            Deed::Calm => {
                self.calm_since = Some(fact.mono);
                Ok(())
            }
            Deed::Quiet => {
                return [self.jobs.nothing_overdue(fact.wall), self.objects.nothing_overdue(fact.wall)].concat();
            }
        };
        verdict.err().into_iter().collect()
    }

    fn logged(&mut self, entry: WholeEntry, event: &AnyEvent, wall: i64) -> Vec<String> {
        self.wishes.logged(entry, event);
        let mut verdicts = vec![self.in_sequence(entry), self.not_from_the_future(entry, wall)];
        match event {
            AnyEvent::Job(event) => {
                verdicts.push(self.jobs.logged(entry, event, &mut self.proofs, self.trouble_until));
                verdicts.push(self.shared.logged(entry, event));
                verdicts.push(self.messages.job(entry, event));
                verdicts.push(self.objects.job(JobId(entry.entity.id), event));
                verdicts.push(self.well_in_the_calm(entry, jobs::is_loss(event)));
            }
            AnyEvent::Incident(event) => {
                verdicts.push(self.messages.incident(entry, event));
                verdicts.push(self.objects.incident(entry, event));
            }
            AnyEvent::Monitor(event) => verdicts.push(self.objects.monitor(entry, event)),
            AnyEvent::Notification(event) => {
                verdicts.push(self.messages.notification(entry, event, self.trouble_until));
            }
            AnyEvent::Delivery(event) => verdicts.push(self.jobs.delivery(entry, event)),
            AnyEvent::Other(name) => verdicts.push(self.well_in_the_calm(entry, name == "ExecutorLost")),
        }
        let of = entry.entity;
        verdicts
            .into_iter()
            .filter_map(Ruling::err)
            .map(|text| format!("{of} version {}: {text}", entry.version))
            .collect()
    }

    fn in_sequence(&mut self, entry: WholeEntry) -> Ruling {
        // What was purged may come to be again, from its beginning.
        let before = if self.purged.remove(&entry.entity) { None } else { self.versions.get(&entry.entity).copied() };
        self.versions.insert(entry.entity, entry.version);
        let next = before.unwrap_or(0) + 1;
        require(entry.version == next, || format!("version {} follows, not {next}", entry.version))
    }

    fn not_from_the_future(&self, entry: WholeEntry, wall: i64) -> Ruling {
        // Clocks drift by less than a second in the longest world, and the store's is asked with some delay.
        let slack = 2_000;
        require(entry.at <= wall + slack || self.history.is_set_back, || {
            format!("it bears a time that has not come: {} at {wall}", entry.at)
        })
    }

    fn well_in_the_calm(&self, entry: WholeEntry, is_loss: bool) -> Ruling {
        let troubled = self.calm_since.is_none_or(|since| entry.mono <= since.max(self.trouble_until) + CALM_ECHO_MS);
        require(!is_loss || troubled, || "an executor was lost though all is well".into())
    }

    /// Nothing that was in the log is missing, nothing came by itself.
    fn survived(&self, found: &BTreeMap<EntityId, u64>) -> Vec<String> {
        let mut wrong = Vec::new();
        for (entity, version) in self.versions.iter().filter(|(entity, _)| !self.purged.contains(entity)) {
            if found.get(entity) != Some(version) {
                wrong.push(format!("{entity} was at version {version}, now {:?} is found", found.get(entity)));
            }
        }
        let unknown = found.keys().filter(|entity| !self.versions.contains_key(entity) || self.purged.contains(entity));
        wrong.extend(unknown.map(|entity| format!("{entity} is in the store but not in the log")));
        wrong
    }

    fn close(self) -> Vec<String> {
        let end = &self.history.end;
        let mut wrong = self.survived(&end.found);
        wrong.extend(end.unsettled.iter().map(|text| format!("never came to its end: {text}")));
        wrong.extend(end.differences.iter().map(|text| format!("the store: {text}")));
        let unended = self.proofs.unended();
        if end.slots_taken > unended {
            wrong.push(format!("{} places are taken by {unended} attempts", end.slots_taken));
        }
        wrong.extend(self.jobs.close());
        wrong.extend(self.shared.close());
        wrong.extend(self.messages.close());
        wrong.extend(self.objects.close());
        wrong.extend(self.wishes.close());
        wrong
    }
}
