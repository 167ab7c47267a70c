//! A whole commit in one statement: it locks, guards and writes, in one trip to the server, and is its own transaction.
//!
//! Invariant: it writes everything or nothing. What the guards of the contract ask for is assumed to hold and checked by the
//! statement itself; where it does not hold, the statement fails, nothing has happened, and the commit goes the careful way
//! (`commit.rs`), which finds out for each item what is wrong with it. The order of locks is the same there and here: the row
//! of the writer, the rows of the partitions, the rest.

use std::collections::BTreeMap;

use ordo_store::{Batch, CommitOutcome, Partition};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::codes;
use crate::connection::session::DatabaseSession;
use crate::fault::Trouble;
use crate::read::position::Vector;
use crate::write::commit::{Tried, UnconfirmedCommit};
use crate::write::plan::{CommitPlan, KnownState, Writes};
use crate::write::statement::{STATEMENT, TABLES, params_of};

type Outcomes = Vec<Vec<CommitOutcome>>;

/// None: it is to go the careful way; nothing was written.
pub(crate) async fn try_at_once(client: &DatabaseSession, writer: Uuid, batches: &[Batch]) -> Option<Tried> {
    let CommitPlan { mut outcomes, writes, .. } = assumed(batches)?;
    let counts = counts(&writes);
    let partitions = writes.partitions();
    let name = Uuid::new_v4();
    let prepared = match client.prepare(&STATEMENT).await {
        Ok(prepared) => prepared,
        // The database does not know such statements.
        Err(Trouble::Lasting(_)) => return None,
        Err(trouble) => return Some(Tried::Broken { trouble, signed: None }),
    };
    let params = params_of(&writes, &counts, writer, name);
    let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(|param| &**param as &(dyn ToSql + Sync)).collect();
    match client.run_alone(&prepared, &params).await {
        Ok(rows) => {
            let lasts: Option<Vec<i64>> = rows.first().and_then(|row| row.get(0));
            let before = counts.iter().zip(lasts.unwrap_or_default());
            let before: BTreeMap<Partition, u64> = before
                .map(|((partition, count), last)| (*partition, u64::try_from(last).unwrap_or(0).saturating_sub(*count)))
                .collect();
            renumber(&mut outcomes, |_, partition, number| before.get(&partition).map(|before| before + number));
            Some(Tried::Done { outcomes, partitions })
        }
        Err(error) if is_refusal(&error) => None,
        Err(error) => {
            let signed = UnconfirmedCommit { name, outcomes, partitions, is_numbered: false };
            Some(Tried::Broken { trouble: error.into(), signed: Some(signed) })
        }
    }
}

/// What the batches come to if all their guards hold, with the numbers of events counted from one. None where they cannot
/// all hold, or something is wanted that is seldom.
fn assumed(batches: &[Batch]) -> Option<CommitPlan<'_>> {
    let mut known = KnownState::default();
    for item in batches.iter().flat_map(|batch| &batch.items) {
        if !item.quotas.is_empty() || item.trim.is_some() || !item.forget_chunks.is_empty() {
            return None;
        }
        if item.expected > 0 {
            known.versions.entry(item.entity).or_insert(item.expected);
        }
    }
    let plan = CommitPlan::of(batches, known);
    let is_committed = |outcome: &CommitOutcome| matches!(outcome, CommitOutcome::Committed { .. });
    let writes = &plan.writes;
    let is_plain = plan.outcomes.iter().flatten().all(is_committed)
        && writes.purged.is_empty()
        && writes.tables.iter().all(|((table, _), (_, row))| TABLES.contains(table) && row.is_some());
    is_plain.then_some(plan)
}

/// How many events each partition gets that is to be locked.
fn counts(writes: &Writes<'_>) -> BTreeMap<Partition, u64> {
    let entities = writes.entities.keys().map(|entity| Partition::of(*entity));
    let keys = writes.dedup.keys().map(|key| Partition::of_key(key));
    let mut counts: BTreeMap<Partition, u64> = entities.chain(keys).map(|partition| (partition, 0)).collect();
    counts.extend(&writes.last);
    counts
}

/// Gives the last event of each outcome its number in the log.
fn renumber(outcomes: &mut Outcomes, number_of: impl Fn((usize, usize), Partition, u64) -> Option<u64>) {
    for (batch, outcomes) in outcomes.iter_mut().enumerate() {
        for (item, outcome) in outcomes.iter_mut().enumerate() {
            let CommitOutcome::Committed { last, .. } = outcome else { continue };
            let single = last.as_ref().and_then(|last| Vector::read(last).ok()?.only());
            let number =
                single.and_then(|(partition, number)| Some((partition, number_of((batch, item), partition, number)?)));
            *last = number.map(|(partition, number)| Vector::single(partition, number).write());
        }
    }
}

const NUMBERS: &str = "SELECT k.place, e.number FROM unnest($1::smallint[], $2::uuid[], $3::bigint[]) \
     WITH ORDINALITY AS k (kind, id, version, place) JOIN events e ON e.kind = k.kind AND e.id = k.id AND e.version = k.version";

/// The outcomes of a commit that was durable although nothing was heard of it: the numbers of its events are looked up.
pub(crate) async fn found_again(
    client: &DatabaseSession,
    batches: &[Batch],
    earlier: &UnconfirmedCommit,
) -> Result<Outcomes, Trouble> {
    let mut outcomes = earlier.outcomes.clone();
    if earlier.is_numbered {
        return Ok(outcomes);
    }
    let (mut places, mut kinds, mut ids, mut versions) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (batch, (of_batch, outcomes)) in batches.iter().zip(&outcomes).enumerate() {
        for (item, (asked, outcome)) in of_batch.items.iter().zip(outcomes).enumerate() {
            let CommitOutcome::Committed { version, last: Some(_) } = outcome else { continue };
            places.push((batch, item));
            kinds.push(codes::kind(asked.entity.kind));
            ids.push(asked.entity.id);
            versions.push(codes::version(*version));
        }
    }
    let mut numbers = BTreeMap::new();
    for row in client.query(NUMBERS, &[&kinds, &ids, &versions]).await? {
        let place = usize::try_from(row.get::<_, i64>(0)).ok().and_then(|place| places.get(place.wrapping_sub(1)));
        if let Some(place) = place {
            numbers.insert(*place, codes::version_of(row.get(1))?);
        }
    }
    renumber(&mut outcomes, |place, _, _| numbers.get(&place).copied());
    Ok(outcomes)
}

/// A guard did not hold, something is there already, or the database does not know such statements.
fn is_refusal(error: &tokio_postgres::Error) -> bool {
    let refusals = [
        SqlState::DIVISION_BY_ZERO,
        SqlState::UNIQUE_VIOLATION,
        SqlState::CARDINALITY_VIOLATION,
        SqlState::FEATURE_NOT_SUPPORTED,
    ];
    error.code().is_some_and(|state| refusals.contains(state))
}
