//! Where the next events of a stream go, given what stands at the end of it in KurrentDB. Pure.
//!
//! Invariant: an event is left out only if it is there already, or a later one that replaced it is.

use ordo_store::Version;
use uuid::Uuid;

use crate::record::{Mirrored, Record};

/// The end of a stream in KurrentDB, read backwards as far as it matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tail {
    Empty,
    /// The last event, and those before it down to the version that was asked for, newest first. Versions fall from
    /// one to the next: where they rise again, an earlier stream of the same name ended, and the reading too.
    Ours {
        events: Vec<Mirrored>,
        /// Whether the last event is known to belong to the history of this store.
        is_known: bool,
    },
    /// The last event was written by somebody else.
    Foreign {
        revision: u64,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Placement {
    /// Those from this index on, behind this revision; behind nothing: the stream begins with them.
    Append {
        from: usize,
        behind: Option<u64>,
    },
    Conflict(Conflict),
}

/// Why a stream cannot be mirrored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Conflict {
    #[error("somebody else wrote to it in KurrentDB: revision {revision} is not from this mirror")]
    Foreign { revision: u64 },
    #[error("KurrentDB has another event as version {version}: it was mirrored from a store with another history")]
    Differs { version: Version },
    #[error("KurrentDB has its end from another store (version {version}, mirror {mirror})")]
    OtherStore { version: Version, mirror: Uuid },
}

/// How far back the end of a stream has to be read for these.
pub(crate) fn needed_from(records: &[Record]) -> Version {
    records.first().map_or(0, |record| record.version)
}

pub(crate) fn place(records: &[Record], tail: &Tail) -> Placement {
    let (events, is_known) = match tail {
        Tail::Empty => return Placement::Append { from: 0, behind: None },
        Tail::Foreign { revision } => return Placement::Conflict(Conflict::Foreign { revision: *revision }),
        Tail::Ours { events, is_known } => (events, *is_known),
    };
    let (Some(last), Some(first)) = (events.first(), records.first()) else {
        return Placement::Append { from: 0, behind: None };
    };
    let same = records.iter().any(|record| events.iter().any(|event| event.id == record.id));
    if !same && !is_known {
        return Placement::Conflict(Conflict::OtherStore { version: last.version, mirror: last.mirror });
    }
    // An entity that was deleted may be made again under its name: its stream begins anew behind the old one, and later.
    if first.version == 1 && !first.is_checkpoint() && !same && first.at >= last.at {
        return Placement::Append { from: 0, behind: Some(last.revision) };
    }
    let differs = records.iter().find(|record| events.iter().any(|event| contradicts(record, event)));
    if let Some(record) = differs {
        return Placement::Conflict(Conflict::Differs { version: record.version });
    }
    let from = records.iter().position(|record| record.version > last.version).unwrap_or(records.len());
    Placement::Append { from, behind: Some(last.revision) }
}

/// A checkpoint takes the version of the event that it replaces: it contradicts nothing.
fn contradicts(record: &Record, event: &Mirrored) -> bool {
    record.version == event.version && record.id != event.id && !record.is_checkpoint() && !event.is_checkpoint
}

#[cfg(test)]
mod tests {
    use ordo_engine::codec::CHECKPOINT;
    use ordo_model::{Kind, Timestamp};

    use super::*;
    use crate::record::tests::stored;

    /// Events of a stream; `life` makes those of another stream of the same name differ.
    fn records(versions: impl IntoIterator<Item = Version>, life: &str) -> Vec<Record> {
        let record =
            |version| Record::of(stored(Kind::Job, version, "JobTriggered", &format!("{{\"life\":\"{life}\"}}")));
        versions.into_iter().map(|version| record(version).unwrap()).collect()
    }

    fn checkpoint(version: Version) -> Record {
        Record::of(stored(Kind::Job, version, CHECKPOINT, "{}")).unwrap()
    }

    /// As they stand in KurrentDB, the first of them at this revision.
    fn mirrored(records: &[Record], first: u64) -> Tail {
        let mirrored = records.iter().zip(first..).map(|(record, revision)| Mirrored {
            revision,
            version: record.version,
            id: record.id,
            at: record.at,
            mirror: Uuid::from_u128(1),
            is_checkpoint: record.is_checkpoint(),
        });
        let mut events: Vec<Mirrored> = mirrored.collect();
        events.reverse();
        Tail::Ours { events, is_known: true }
    }

    fn append(from: usize, behind: u64) -> Placement {
        Placement::Append { from, behind: Some(behind) }
    }

    #[test]
    fn a_stream_that_is_not_there_begins_with_what_is_known_of_it() {
        assert_eq!(place(&records(1..=2, "a"), &Tail::Empty), Placement::Append { from: 0, behind: None });
        assert_eq!(place(&[checkpoint(40)], &Tail::Empty), Placement::Append { from: 0, behind: None });
    }

    #[test]
    fn what_is_there_is_not_appended_again() {
        let there = records(1..=3, "a");
        assert_eq!(place(&records(1..=3, "a"), &mirrored(&there, 0)), append(3, 2));
        assert_eq!(place(&records(2..=5, "a"), &mirrored(&there[1..], 1)), append(2, 2));
        assert_eq!(place(&records(4..=5, "a"), &mirrored(&there[2..], 2)), append(0, 2));
    }

    #[test]
    fn behind_a_gap_it_goes_on_at_the_end() {
        let there = records(1..=3, "a");
        let mut news = vec![checkpoint(9)];
        news.extend(records(10..=11, "a"));
        assert_eq!(place(&news, &mirrored(&there[2..], 2)), append(0, 2));
        // And later, when revisions are fewer than versions.
        let mut there = there;
        there.extend(news);
        assert_eq!(place(&records(11..=12, "a"), &mirrored(&there[5..], 5)), append(1, 5));
    }

    #[test]
    fn a_checkpoint_of_what_is_there_is_left_out() {
        let there = records(1..=5, "a");
        let mut again = vec![checkpoint(3)];
        again.extend(records(4..=6, "a"));
        assert_eq!(place(&again, &mirrored(&there[2..], 2)), append(3, 4));
        assert_eq!(place(&[checkpoint(5)], &mirrored(&there[4..], 4)), append(1, 4));
    }

    #[test]
    fn a_stream_that_begins_anew_goes_on_behind_the_old_one() {
        let old = records(1..=3, "a");
        assert_eq!(place(&records(1..=2, "b"), &mirrored(&old, 0)), append(0, 2));
        let new = records(1..=2, "b");
        assert_eq!(place(&records(1..=3, "b"), &mirrored(&new, 3)), append(2, 4), "and is recognised afterwards");
        let gap = [records(1..=1, "a"), vec![checkpoint(9)]].concat();
        assert_eq!(place(&records(1..=1, "b"), &mirrored(&gap, 0)), append(0, 1));
    }

    #[test]
    fn a_stream_that_was_cut_in_kurrentdb_is_not_taken_for_an_old_one() {
        let there = records(1..=10, "a");
        let Tail::Ours { mut events, .. } = mirrored(&there[7..], 7) else { panic!("they are ours") };
        events.iter_mut().for_each(|event| event.at = Timestamp::from_ms(event.at.ms() + 1).unwrap());
        assert_eq!(place(&records(1..=5, "a"), &Tail::Ours { events, is_known: true }), append(5, 9));
    }

    #[test]
    fn another_history_is_a_conflict() {
        let there = records(1..=3, "a");
        let conflict = place(&records(3..=4, "b"), &mirrored(&there[2..], 2));
        assert_eq!(conflict, Placement::Conflict(Conflict::Differs { version: 3 }));
        let Tail::Ours { events, .. } = mirrored(&there, 0) else { panic!("they are ours") };
        let other = Tail::Ours { events, is_known: false };
        assert_eq!(
            place(&records(4..=4, "b"), &other),
            Placement::Conflict(Conflict::OtherStore { version: 3, mirror: Uuid::from_u128(1) })
        );
        assert_eq!(
            place(&records(1..=1, "b"), &other),
            Placement::Conflict(Conflict::OtherStore { version: 3, mirror: Uuid::from_u128(1) }),
            "two stores that have something of the same name do not write to one stream"
        );
        assert_eq!(place(&records(2..=4, "a"), &other), append(2, 2), "the same events are the same history");
    }

    #[test]
    fn a_foreign_event_at_the_end_is_a_conflict() {
        let conflict = place(&records(1..=1, "a"), &Tail::Foreign { revision: 7 });
        assert_eq!(conflict, Placement::Conflict(Conflict::Foreign { revision: 7 }));
    }
}
