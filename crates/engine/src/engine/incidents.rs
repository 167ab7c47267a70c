//! Incidents as callers use them: get or create by identifier, lists, and the timeline.
//!
//! Invariant: at most one incident of an identifier is being worked on. The id of each follows from the identifier and
//! its number, so whoever starts the next one meets everybody else who does in one stream.

use std::collections::BTreeSet;

use ordo_model::incident::{
    Incident, IncidentCommand, IncidentEvent, IncidentRefusal, IncidentStatus, Severity, StartIncident,
};
use ordo_model::job::Run;
use ordo_model::object::Object;
use ordo_model::{Actor, EntityId, JobId, Kind, RunId, Timestamp};
use ordo_store::{Direction, Fault, KeyRange, Row, Version, View};
use uuid::Uuid;

use crate::commit::command::SubmitError;
use crate::commit::encoding::actor::actor_of;
use crate::commit::entity_command::CommitExtras;
use crate::commit::entity_command::Committed;
use crate::commit::kinds::incident::{
    INCIDENTS, INCIDENTS_BY_IDENTIFIER, INCIDENTS_BY_SEVERITY, INCIDENTS_BY_STATUS, INCIDENTS_WORKED_ON,
    identifier_prefix,
};
use crate::commit::state::Versioned;
use crate::commit::state::decode_event;
use crate::engine::Engine;
use crate::read::object_queries::IndexRange;
use crate::read::page::{Cursor, ListEntry, ListPage};
use crate::read::queries::Queries;
use crate::time::clock::new_id;

/// How often the next number is tried because the one before ended meanwhile.
const GENERATIONS_TRIED: u32 = 8;
const EVENTS_PER_READ: usize = 1_000;
/// How many of the newest incidents are compared by their titles.
const SIMILAR_LOOKED_AT: usize = 200;
/// From here on titles count as alike.
const SIMILAR_FROM_PERCENT: usize = 50;

pub type IncidentError = SubmitError<IncidentRefusal>;

/// Which incidents a list shows.
#[derive(Debug, Clone, Default)]
pub struct IncidentFilter {
    pub status: Option<IncidentStatus>,
    pub severity: Option<Severity>,
    pub assignee: Option<String>,
    pub since: Option<Timestamp>,
    /// Its title, description or identifier contains this, in capitals or small letters.
    pub search: Option<String>,
}

impl IncidentFilter {
    fn shows(&self, incident: &Incident) -> bool {
        self.status.is_none_or(|status| incident.status == status)
            && self.severity.is_none_or(|severity| incident.severity == severity)
            && self.assignee.as_ref().is_none_or(|name| incident.assignee.as_ref() == Some(name))
            && self.search.as_ref().is_none_or(|text| contains(incident, &text.to_lowercase()))
    }
}

fn contains(incident: &Incident, text: &str) -> bool {
    let texts = [Some(&incident.title), Some(&incident.description), incident.identifier.as_ref()];
    texts.into_iter().flatten().any(|field| field.to_lowercase().contains(text))
}

/// The incidents that have not ended, the worst first and of those the newest.
#[derive(Debug, Clone, Default)]
pub struct WorkedOn {
    pub worst: Vec<Versioned<Incident>>,
    /// How many there are, counted up to [`WORKED_ON_COUNTED`] of each status.
    pub count: usize,
    pub is_cut: bool,
}

/// How far incidents that have not ended are counted.
pub const WORKED_ON_COUNTED: usize = 1_000;

/// One line of a timeline.
#[derive(Debug, Clone, PartialEq)]
pub struct Happened {
    pub version: Version,
    pub at: Timestamp,
    pub event: IncidentEvent,
    pub actor: Actor,
    /// Whether senders are to hear of it: not what follows the end, nor what happens by itself while it is snoozed.
    pub is_sent: bool,
    /// When it was handed on to the senders; None: not yet, or to nobody.
    pub published_at: Option<Timestamp>,
}

impl Engine {
    /// Starts an incident, or finds the one of the same identifier that has not ended: then there are no events.
    /// `extras` is given the id that the incident would have.
    pub async fn start_incident(
        &self,
        start: StartIncident,
        extras: impl Fn(Uuid) -> CommitExtras,
    ) -> Result<Committed<Incident>, IncidentError> {
        let Some(identifier) = start.identifier.clone() else {
            let id = new_id();
            return self.command_with(id, IncidentCommand::Start(Box::new(start)), extras(id)).await;
        };
        let newest = self.queries().newest_of(&identifier).await.map_err(store)?;
        let beside = u32::from(ordo_model::is_planted!(IncidentOpenedTwice));
        let mut generation = newest.map_or(1, |incident| incident.generation + beside);
        for _ in 0..GENERATIONS_TRIED {
            let id = Incident::id(&identifier, generation);
            let start = StartIncident { generation, ..start.clone() };
            match self.command_with(id, IncidentCommand::Start(Box::new(start)), extras(id)).await {
                Err(SubmitError::Refused(IncidentRefusal::Ended { .. })) => generation += 1,
                answer => return answer,
            }
        }
        Err(SubmitError::Contended)
    }
}

fn store(fault: Fault) -> IncidentError {
    SubmitError::Store(std::sync::Arc::new(fault))
}

impl Queries {
    /// The latest incident of an identifier.
    pub async fn newest_of(&self, identifier: &str) -> Result<Option<Versioned<Incident>>, Fault> {
        let prefix = identifier_prefix(identifier);
        let section = IndexRange {
            index: INCIDENTS_BY_IDENTIFIER,
            prefix: &prefix,
            after: None,
            order: Direction::Descending,
            limit: 1,
        };
        Ok(self.objects::<Incident>(&section).await?.items.pop())
    }

    /// All incidents of an identifier, newest first.
    pub async fn incidents_of(&self, identifier: &str, limit: usize) -> Result<Vec<Versioned<Incident>>, Fault> {
        let prefix = identifier_prefix(identifier);
        let (index, after, order) = (INCIDENTS_BY_IDENTIFIER, None, Direction::Descending);
        Ok(self.objects::<Incident>(&IndexRange { index, prefix: &prefix, after, order, limit }).await?.items)
    }

    /// Incidents, newest first. One filter has an index, the others are checked on what it names.
    pub async fn incidents(
        &self,
        filter: &IncidentFilter,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<ListPage<Versioned<Incident>>, Fault> {
        let (index, prefix) = match (filter.status, filter.severity) {
            (Some(status), _) => (INCIDENTS_BY_STATUS, vec![status.code()]),
            (None, Some(severity)) => (INCIDENTS_BY_SEVERITY, vec![severity.code()]),
            (None, None) => (INCIDENTS, Vec::new()),
        };
        let section = IndexRange { index, prefix: &prefix, after, order: Direction::Descending, limit };
        let judge = |incident: Versioned<Incident>| match filter.since {
            Some(since) if incident.created_at < since => ListEntry::End,
            Some(_) | None if filter.shows(&incident) => ListEntry::Shown(incident),
            Some(_) | None => ListEntry::Passed,
        };
        self.objects_judged(&section, judge).await
    }

    /// What people should be working on: at most `limit` of them, and how many there are.
    pub async fn worked_on(&self, limit: usize) -> Result<WorkedOn, Fault> {
        let (mut count, mut is_cut) = (0, false);
        for status in IncidentStatus::ALL.into_iter().filter(|status| !status.is_ended()) {
            let prefix = [status.code()];
            let section = IndexRange { prefix: &prefix, ..IndexRange::all(INCIDENTS_BY_STATUS, WORKED_ON_COUNTED + 1) };
            let found = self.object_ids::<Incident>(&section).await?.len();
            is_cut |= found > WORKED_ON_COUNTED;
            count += found.min(WORKED_ON_COUNTED);
        }
        let prefixes = Severity::ALL.map(|severity| vec![severity.code()]);
        let lists = self.objects_below(INCIDENTS_WORKED_ON, &prefixes, Direction::Descending, limit).await?;
        let mut worst: Vec<Versioned<Incident>> = lists.into_iter().flatten().take(limit).collect();
        // A store of an older version has these rows only for incidents that changed since, until it is reindexed.
        if worst.len() < limit.min(count) {
            worst = self.worst_by_status(limit).await?;
        }
        Ok(WorkedOn { worst, count, is_cut })
    }

    /// The incidents that have not ended, page by page: the worst first, and of those the oldest.
    pub async fn unresolved(
        &self,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<ListPage<Versioned<Incident>>, Fault> {
        self.objects::<Incident>(&IndexRange { after, ..IndexRange::all(INCIDENTS_WORKED_ON, limit) }).await
    }

    async fn worst_by_status(&self, limit: usize) -> Result<Vec<Versioned<Incident>>, Fault> {
        let open = IncidentStatus::ALL.into_iter().filter(|status| !status.is_ended());
        let prefixes: Vec<Vec<u8>> = open.map(|status| vec![status.code()]).collect();
        let lists =
            self.objects_below(INCIDENTS_BY_STATUS, &prefixes, Direction::Descending, WORKED_ON_COUNTED).await?;
        let mut all: Vec<Versioned<Incident>> = lists.into_iter().flatten().collect();
        all.sort_by_key(|incident| (incident.severity, std::cmp::Reverse(incident.created_at)));
        all.truncate(limit);
        Ok(all)
    }

    /// What happened to an incident, oldest first, without the bookkeeping.
    pub async fn timeline(&self, id: Uuid) -> Result<Vec<Happened>, Fault> {
        let entity = EntityId { kind: Kind::Incident, id };
        let (mut timeline, mut incident, mut from): (Vec<Happened>, Option<Incident>, _) = (Vec::new(), None, 0);
        loop {
            let (events, _) = self.history(entity, from, EVENTS_PER_READ).await?;
            for stored in &events {
                from = stored.version + 1;
                let event: IncidentEvent = decode_event(stored)?;
                let after = Incident::apply(id, incident.take(), &event, stored.at).map_err(|misplaced| {
                    Fault::damaged(format!("event {} of {entity}: {misplaced}", stored.version))
                })?;
                let is_sent = after.outbox.last_version() == Some(stored.version);
                incident = Some(after);
                if let IncidentEvent::Published { through } = event {
                    let open = |happened: &&mut Happened| happened.is_sent && happened.published_at.is_none();
                    let newest = timeline
                        .iter_mut()
                        .rev()
                        .take_while(|happened| happened.published_at.is_none() || !happened.is_sent);
                    newest
                        .filter(|happened| happened.version <= through)
                        .filter(open)
                        .for_each(|happened| happened.published_at = Some(stored.at));
                } else if event.by().is_some() {
                    let (version, at, actor) = (stored.version, stored.at, actor_of(stored)?);
                    timeline.push(Happened { version, at, event, actor, is_sent, published_at: None });
                }
            }
            if events.len() < EVENTS_PER_READ {
                return Ok(timeline);
            }
        }
    }

    /// The runs of a job that fired in a window, at most `limit`: the newest first, or the oldest first. Two reads.
    pub async fn runs_between(
        &self,
        job: JobId,
        from: Timestamp,
        to: Timestamp,
        limit: usize,
        newest_first: bool,
    ) -> Result<Vec<Run>, Fault> {
        let key = |at: Timestamp| [&job.0.as_bytes()[..], &at.ms().max(0).to_be_bytes()[2..]].concat();
        let range = KeyRange { from: key(from), to: Some(key(to)) };
        let order = if newest_first { Direction::Descending } else { Direction::Ascending };
        let rows = self.store().rows(View::RunsByJob, &range, order, limit).await?;
        let id = |row: &Row| row.key.last_chunk::<16>().map(|id| RunId(Uuid::from_bytes(*id)));
        let ids: Vec<RunId> = rows.iter().filter_map(id).collect();
        Ok(self.runs_by_id(&ids).await?.into_iter().flatten().collect())
    }

    /// The written part of the postmortem of an incident; empty as long as there is none.
    pub async fn postmortem(&self, incident: &Versioned<Incident>) -> Result<String, Fault> {
        let Some(edit) = &incident.postmortem else { return Ok(String::new()) };
        let (events, _) = self.history(incident.entity(), edit.version, 1).await?;
        match events.first().filter(|stored| stored.version == edit.version).map(decode_event).transpose()? {
            Some(IncidentEvent::PostmortemWritten { text, .. }) => Ok(text),
            Some(_) | None => {
                Err(Fault::damaged(format!("{} has no text in event {}", incident.entity(), edit.version)))
            }
        }
    }

    /// Incidents that were like this one, the most alike first: those of the same identifier, then those of the newest
    /// whose titles share most of their words.
    pub async fn similar(
        &self,
        incident: &Versioned<Incident>,
        limit: usize,
    ) -> Result<Vec<Versioned<Incident>>, Fault> {
        let mut found = Vec::new();
        if let Some(identifier) = &incident.identifier {
            found = self.incidents_of(identifier, limit + 1).await?;
            found.retain(|other| other.id != incident.id);
        }
        if found.len() < limit {
            let newest = self.incidents(&IncidentFilter::default(), None, SIMILAR_LOOKED_AT).await?.items;
            let words = title_words(&incident.title);
            // Those of the same identifier are found already; most that people start have none.
            let is_known = |other: &Incident| other.identifier.is_some() && other.identifier == incident.identifier;
            let others = newest.into_iter().filter(|other| other.id != incident.id && !is_known(other));
            let mut alike: Vec<(usize, Versioned<Incident>)> = others
                .map(|other| (likeness_percent(&words, &title_words(&other.title)), other))
                .filter(|(percent, _)| *percent >= SIMILAR_FROM_PERCENT)
                .collect();
            alike.sort_by_key(|(percent, other)| (std::cmp::Reverse(*percent), std::cmp::Reverse(other.created_at)));
            found.extend(alike.into_iter().map(|(_, other)| other));
        }
        found.truncate(limit);
        Ok(found)
    }
}

/// The words of a title that say what it is about: no numbers, and nothing as short as "is".
fn title_words(title: &str) -> BTreeSet<String> {
    let words = title.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 2);
    words.filter(|word| !word.chars().all(char::is_numeric)).map(str::to_lowercase).collect()
}

/// How many of all words of both are in both.
fn likeness_percent(one: &BTreeSet<String>, other: &BTreeSet<String>) -> usize {
    (one.intersection(other).count() * 100).checked_div(one.union(other).count()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_alike_by_their_words_and_not_by_their_numbers() {
        let alike = |one: &str, other: &str| likeness_percent(&title_words(one), &title_words(other));
        assert_eq!(alike("Payments are slow", "payments are SLOW again 14"), 75);
        assert_eq!(alike("nightly failed 3 times in a row", "nightly failed 12 times in a row"), 100);
        assert_eq!(alike("checkout is down", "the backup is late"), 0);
        assert_eq!(alike("??", "12"), 0, "nothing to go by");
    }
}
