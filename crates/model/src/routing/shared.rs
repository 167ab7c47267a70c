//! The choice among executors of several nodes, which every node makes for itself.
//!
//! Invariant: it follows from what all nodes know: the names, the number of the run, and what nodes said of their executors a
//! moment ago. What changes with every run (counts, moments) is compared coarsely, so that word from a second ago rarely
//! changes the choice. Nodes that differ all the same delay a run; the version guard of the commit lets it begin once.

use crate::id::{JobId, RunId, mix};
use crate::job::Routing;
use crate::limits::HEARTBEAT;
use crate::time::{Millis, Timestamp};

use super::{Candidate, Choice, RoutingRequest, choose, free};

/// Who was chosen within so long of each other were chosen at the same time.
const SAME_TIME: Millis = Millis::from_secs(2);

/// Whoever was heard of within so long of each other is as good as the other: a heartbeat, and what word of it takes.
const HEARD_TOGETHER: Millis = Millis::from_ms(HEARTBEAT.ms() + SAME_TIME.ms());

/// Whom the choice is for.
#[derive(Debug, Clone, Copy)]
pub struct SharedRequest {
    pub job: JobId,
    pub run: RunId,
    /// Counts the attempts of the job: who follows is one higher.
    pub number: u64,
}

/// Chooses among the candidates of all nodes, which come in an order that is the same on each of them. Of the strategies that
/// take turns each begins at the place that the number of the run gives it and takes the next that will do: nobody has to know who
/// was chosen before.
pub fn choose_shared(routing: Routing, candidates: &[Candidate<'_>], asked: SharedRequest) -> Choice {
    let in_turn = seed(asked.job.0).wrapping_add(asked.number);
    let places: Vec<usize> = free(candidates).collect();
    let (begin, will_do) = match routing {
        Routing::Round => (in_turn, places),
        Routing::Lfu => (in_turn, least_often(candidates, places)),
        Routing::Lru => (in_turn, longest_ago(candidates, places)),
        Routing::Random => (seed(asked.run.0), places),
        Routing::Failover => (0, newest(candidates, places)),
        Routing::Busyover => (0, places),
        Routing::First | Routing::Last | Routing::ConsistentHash | Routing::ShardingBroadcast => {
            return choose(routing, candidates, RoutingRequest { job: asked.job, draw: 0 });
        }
    };
    let begin = begin.checked_rem(candidates.len() as u64).and_then(|begin| usize::try_from(begin).ok()).unwrap_or(0);
    let next = will_do.iter().find(|place| **place >= begin).or(will_do.first());
    next.map_or(Choice::Nobody, |place| Choice::Take(*place))
}

fn seed(id: uuid::Uuid) -> u64 {
    let (high, low) = id.as_u64_pair();
    mix(high ^ mix(low))
}

/// Those who were chosen less than one turn more often than the least often chosen.
fn least_often(candidates: &[Candidate<'_>], mut places: Vec<usize>) -> Vec<usize> {
    let least = places.iter().map(|place| candidates[*place].chosen).min().unwrap_or(0);
    let turn = candidates.len() as u64;
    places.retain(|place| candidates[*place].chosen - least < turn);
    places
}

/// Those who were not chosen for longest.
fn longest_ago(candidates: &[Candidate<'_>], mut places: Vec<usize>) -> Vec<usize> {
    let oldest = places.iter().map(|place| candidates[*place].chosen_at).min().unwrap_or(Timestamp::MIN);
    places.retain(|place| candidates[*place].chosen_at <= oldest.plus(SAME_TIME));
    places
}

/// Those who were heard of about as lately as the one that was heard of last.
fn newest(candidates: &[Candidate<'_>], mut places: Vec<usize>) -> Vec<usize> {
    let newest = places.iter().map(|place| candidates[*place].heard_at).max().unwrap_or(Timestamp::MIN);
    places.retain(|place| newest.since(candidates[*place].heard_at) <= HEARD_TOGETHER);
    places
}
