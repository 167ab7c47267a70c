//! Which executor gets a run: the ten strategies as one pure function over those who could take it.
//!
//! Invariant: the same candidates, run and draw give the same choice. A strategy that sticks to one executor waits for
//! it when it is full; the others choose among those with a free slot, and pass over whoever let its last offer pass
//! as long as there is somebody else.

mod shared;
mod sticky;

pub use shared::{SharedRequest, choose_shared};

use uuid::Uuid;

use crate::id::JobId;
use crate::job::Routing;
use crate::time::Timestamp;

/// An executor that is alive, belongs to the job's group and has its tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// The generation of the executor.
    pub id: Uuid,
    pub name: &'a str,
    /// How many attempts it could take now.
    pub free: usize,
    /// When it was last heard of.
    pub heard_at: Timestamp,
    /// How often it was chosen.
    pub chosen: u64,
    /// When it was chosen last, counted in choices: 0 is never.
    pub chosen_last: u64,
    /// When `round` last came to it, counted the same way: what others choose takes nobody's turn away.
    pub turn_last: u64,
    /// When that was; `Timestamp::MIN` is never.
    pub chosen_at: Timestamp,
    /// Offers it let pass since it last asked for work.
    pub missed: u32,
}

/// Whom the choice is for.
#[derive(Debug, Clone, Copy)]
pub struct RoutingRequest {
    pub job: JobId,
    /// Chance, drawn by the caller.
    pub draw: u64,
}

/// What was chosen: places in the list of candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    Take(usize),
    /// This one and no other, as soon as it has a free slot.
    WaitFor(usize),
    /// Every candidate gets its share of the run.
    All,
    /// Nobody has a free slot, or nobody is there.
    Nobody,
}

/// Chooses among the candidates, which come in the order of their names.
pub fn choose(routing: Routing, candidates: &[Candidate<'_>], asked: RoutingRequest) -> Choice {
    match routing {
        Routing::First => stick_to(candidates, (!candidates.is_empty()).then_some(0)),
        Routing::Last => stick_to(candidates, candidates.len().checked_sub(1)),
        Routing::ConsistentHash => stick_to(candidates, sticky::owner(asked.job, candidates)),
        Routing::Busyover => take(free(candidates).next()),
        Routing::Round => take(next_in_turn(candidates)),
        Routing::Random => take(drawn(candidates, asked.draw)),
        Routing::Lfu => take(free(candidates).min_by_key(|place| (candidates[*place].chosen, *place))),
        Routing::Lru => take(free(candidates).min_by_key(|place| (candidates[*place].chosen_last, *place))),
        Routing::Failover => take(newest(candidates)),
        Routing::ShardingBroadcast if candidates.is_empty() => Choice::Nobody,
        Routing::ShardingBroadcast => Choice::All,
    }
}

fn stick_to(candidates: &[Candidate<'_>], place: Option<usize>) -> Choice {
    match place {
        Some(place) if candidates[place].free > 0 => Choice::Take(place),
        Some(place) => Choice::WaitFor(place),
        None => Choice::Nobody,
    }
}

fn take(place: Option<usize>) -> Choice {
    place.map_or(Choice::Nobody, Choice::Take)
}

/// Those who could take a run now. Whoever let offers pass is among them only if nobody has let fewer pass: an executor
/// may be frozen with its connection still open.
fn free<'a>(candidates: &'a [Candidate<'_>]) -> impl Iterator<Item = usize> + 'a {
    let fewest = candidates.iter().filter(|candidate| candidate.free > 0).map(|candidate| candidate.missed).min();
    let is_free = move |candidate: &Candidate<'_>| candidate.free > 0 && Some(candidate.missed) == fewest;
    candidates.iter().enumerate().filter(move |(_, candidate)| is_free(candidate)).map(|(place, _)| place)
}

/// The first free one behind the one whose turn was last.
fn next_in_turn(candidates: &[Candidate<'_>]) -> Option<usize> {
    let last = candidates.iter().enumerate().filter(|(_, candidate)| candidate.turn_last > 0);
    let last = last.max_by_key(|(_, candidate)| candidate.turn_last).map(|(place, _)| place);
    let behind = last.and_then(|last| free(candidates).find(|place| *place > last));
    behind.or_else(|| free(candidates).next())
}

fn drawn(candidates: &[Candidate<'_>], draw: u64) -> Option<usize> {
    let count = free(candidates).count() as u64;
    let place = draw.checked_rem(count)?;
    free(candidates).nth(usize::try_from(place).ok()?)
}

/// The one that was heard of last.
fn newest(candidates: &[Candidate<'_>]) -> Option<usize> {
    free(candidates).min_by_key(|place| (std::cmp::Reverse(candidates[*place].heard_at), *place))
}
