//! What trouble does to an incident: opens it, adds to it; what its end does: resolves it or leaves a note.
//!
//! Invariant: each piece of news touches the incident once, however often it is handed on: what opens an incident and
//! what adds to it carry the same key.

use ordo_model::Millis;
use ordo_model::incident::{By, Incident, IncidentCommand, IncidentStatus, StartIncident};
use ordo_model::limits::{INCIDENT_TEXT_MAX_BYTES, INCIDENT_TITLE_MAX_BYTES};
use ordo_model::text::{shortened, visible, visible_lines};
use ordo_store::{Dedup, Fault};
use uuid::Uuid;

use super::fault_of;
use crate::commit::command::SubmitError;
use crate::commit::entity_command::CommitExtras;
use crate::engine::Engine;

/// How long it is remembered that a piece of news was handed on.
const KEY_KEPT: Millis = Millis::from_days(1);
/// So many repetitions are noted one by one; then only every doubling.
const NOTED_ONE_BY_ONE: u32 = 10;

/// Whether the how manieth repetition is worth a line in the timeline.
pub(super) fn is_noted(repetition: u32) -> bool {
    repetition <= NOTED_ONE_BY_ONE || repetition.is_power_of_two()
}

/// How often something has happened, in words that stay true until the next repetition that is noted. `first` is the
/// count at which the incident was opened.
pub(super) fn times(count: u32, first: u32) -> String {
    match count {
        1 => "once".to_owned(),
        count if is_noted(count.saturating_sub(first) + 1) => format!("{count} times in a row"),
        count => format!("at least {count} times in a row"),
    }
}

/// Opens the incident, or adds the note to the one that is open; its title follows.
pub(super) async fn open(engine: &Engine, start: StartIncident, note: Option<String>, key: &str) -> Result<(), Fault> {
    let by = start.by.clone();
    let title = shortened(&visible(&start.title), INCIDENT_TITLE_MAX_BYTES).to_owned();
    let start = StartIncident {
        title: title.clone(),
        description: clean(&start.description, INCIDENT_TEXT_MAX_BYTES),
        ..start
    };
    match engine.start_incident(start, |_| extras(engine, key)).await {
        Ok(committed) if committed.events.is_empty() => match note {
            Some(text) => {
                let text = clean(&text, INCIDENT_TEXT_MAX_BYTES);
                change(engine, committed.state.id, IncidentCommand::Repeat { title, text, by }, key).await
            }
            None => Ok(()),
        },
        Ok(_) | Err(SubmitError::Duplicate(_)) => Ok(()),
        Err(SubmitError::Refused(refusal)) => {
            tracing::error!(%key, %refusal, "an incident could not be opened");
            Ok(())
        }
        Err(error) => Err(fault_of(error)),
    }
}

/// The trouble is over: the open incident of the identifier, if there is one, is resolved or gets a note.
pub(super) async fn end(
    engine: &Engine,
    identifier: &str,
    (text, by): (String, By),
    resolves: bool,
    key: &str,
) -> Result<(), Fault> {
    let newest = engine.queries().newest_of(identifier).await?;
    let Some(open) = newest.filter(|incident| !incident.status.is_ended()) else { return Ok(()) };
    let text = clean(&text, INCIDENT_TEXT_MAX_BYTES);
    let command = match resolves {
        true => IncidentCommand::UpdateStatus { status: IncidentStatus::Resolved, message: Some(text), by },
        false => IncidentCommand::AddNote { text, by },
    };
    change(engine, open.id, command, key).await
}

async fn change(engine: &Engine, id: Uuid, command: IncidentCommand, key: &str) -> Result<(), Fault> {
    match engine.command_with::<Incident>(id, command, extras(engine, key)).await {
        // Refused: somebody ended it meanwhile.
        Ok(_) | Err(SubmitError::Duplicate(_) | SubmitError::Refused(_)) => Ok(()),
        Err(error) => Err(fault_of(error)),
    }
}

/// What a program said may hold anything; what people read shows what cannot be seen, and has an end.
fn clean(text: &str, max_bytes: usize) -> String {
    shortened(&visible_lines(text), max_bytes).to_owned()
}

fn extras(engine: &Engine, key: &str) -> CommitExtras {
    let now = engine.clock().now();
    let key = format!("incident-of/{key}").into_bytes();
    CommitExtras {
        dedup: vec![Dedup { key, at: now, until: now.plus(KEY_KEPT), value: Vec::new() }],
        ..CommitExtras::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_program_said_can_be_written_down() {
        assert_eq!(clean("\u{1b}[31mno\r\nway\0", 100), "\\u{1b}[31mno\nway\\u{0}");
        assert_eq!(clean("üü", 3), "ü");
    }

    #[test]
    fn a_title_stays_true_until_the_next_repetition_that_is_noted() {
        let mut title = String::new();
        for count in 2..200 {
            if is_noted(count - 2) {
                title = times(count, 2);
            }
            let said: u32 = title.split(' ').find_map(|word| word.parse().ok()).unwrap();
            assert!(said == count || (title.starts_with("at least") && said < count), "{count}: {title}");
        }
        assert_eq!(
            [times(1, 1), times(11, 2), times(12, 2)],
            ["once", "11 times in a row", "at least 12 times in a row"]
        );
    }

    #[test]
    fn repetitions_are_noted_less_and_less_often() {
        let noted: Vec<u32> = (0..100).filter(|count| is_noted(*count)).collect();
        assert_eq!(noted, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 32, 64]);
    }
}
