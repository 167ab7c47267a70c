//! What a waiting run needs of whoever executes it.
//!
//! Invariant: follows from the job and the run alone, and is part of the queue's row: a waiting run is dispatched
//! without reading its job.

use ordo_model::Millis;
use ordo_model::job::{ActiveRun, Definition, Job, Pool, Routing};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::commit::change::RateKey;

/// Runs of one queue can be executed by the same executors.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueName {
    pub group: String,
    pub pool: Pool,
    pub tool: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirements {
    pub queue: QueueName,
    pub terms: RunTerms,
}

/// What a run asks for besides its queue.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunTerms {
    #[serde(default)]
    pub routing: Routing,
    /// The executor that a shard is meant for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meant_for: Option<Uuid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<ConcurrencyLimit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Counts the attempts of the job, where executors of several nodes take turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
}

/// At most `max` attempts with this key at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConcurrencyLimit {
    pub key: String,
    pub max: u32,
}

/// At most `limit` attempts with this key and this `per` begin within `per`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    pub key: String,
    pub limit: u32,
    pub per: Millis,
}

impl Rate {
    pub(crate) fn counted_by(&self) -> RateKey {
        RateKey { key: self.key.clone(), per: self.per }
    }
}

impl Requirements {
    pub fn of(job: &Job, run: &ActiveRun) -> Requirements {
        let definition = &job.definition;
        let queue = QueueName { group: definition.group.clone(), pool: job.pool(), tool: definition.tool_name.clone() };
        let concurrency = definition.concurrency_key.as_ref().zip(job.concurrency_key_of(run));
        let rate = definition.rate_limit.as_ref().zip(job.rate_key_of(run));
        let terms = RunTerms {
            routing: if run.shard.is_some() { Routing::Round } else { definition.routing },
            meant_for: run.shard.map(|shard| shard.executor),
            concurrency: concurrency.map(|(limit, key)| ConcurrencyLimit { key, max: limit.max }),
            rate: rate.map(|(rate, key)| Rate { key, limit: rate.limit, per: rate.per }),
            number: number(job, run),
        };
        Requirements { queue, terms }
    }
}

/// None where it does not matter, so that the rows of most runs stay small: the executors inside nodes begin what falls due there.
fn number(job: &Job, run: &ActiveRun) -> Option<u64> {
    let routing = job.definition.routing;
    let is_inside = job.definition.group == Definition::DEFAULT_GROUP && routing.is_indifferent();
    let takes_turns = routing.may_choose() && routing != Routing::Random && run.shard.is_none();
    let number = if takes_turns && !is_inside { job.number_of(run.id) } else { None };
    number.map(|number| number + u64::from(run.attempts))
}
