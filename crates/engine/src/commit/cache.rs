//! Jobs that were written lately, so that the next order on them need not read and decode them again.
//!
//! Invariant: a cache. An entry may be old (another node wrote since): the version guard of the commit finds out,
//! and the entry is forgotten. It holds at most two generations.

use std::collections::HashMap;
use std::sync::Arc;

use ordo_model::JobId;
use ordo_model::job::Job;

/// How many jobs one generation holds.
const GENERATION: usize = 4_096;

#[derive(Debug, Default)]
pub(crate) struct Cache {
    young: HashMap<JobId, Arc<Job>>,
    old: HashMap<JobId, Arc<Job>>,
}

impl Cache {
    pub(crate) fn get(&self, id: JobId) -> Option<Arc<Job>> {
        self.young.get(&id).or_else(|| self.old.get(&id)).cloned()
    }

    pub(crate) fn keep(&mut self, id: JobId, job: Arc<Job>) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(id, job);
    }

    pub(crate) fn forget(&mut self, id: JobId) {
        self.young.remove(&id);
        self.old.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_model::Timestamp;
    use ordo_model::job::{Command, Definition, Order, decide};
    use uuid::Uuid;

    fn job(number: u128) -> Arc<Job> {
        let form = serde_json::json!({ "label": "l", "tool_name": "noop", "trigger": { "type": "manual" } });
        let definition: Definition = serde_json::from_value(form).unwrap();
        let command = Command::Schedule { definition: Box::new(definition), held: false };
        let id = JobId(Uuid::from_u128(number));
        Arc::new(decide(id, None, Order { command, reservation: None }, Timestamp::MIN).unwrap().job)
    }

    #[test]
    fn the_newest_jobs_are_kept_and_the_cache_stays_bounded() {
        let mut cache = Cache::default();
        let one = job(1);
        for number in 0..3 * GENERATION as u128 {
            cache.keep(JobId(Uuid::from_u128(number)), one.clone());
        }
        assert!(cache.young.len() + cache.old.len() <= 2 * GENERATION);
        assert!(cache.get(JobId(Uuid::from_u128(0))).is_none());
        let last = JobId(Uuid::from_u128(3 * GENERATION as u128 - 1));
        assert!(cache.get(last).is_some());
        cache.forget(last);
        assert!(cache.get(last).is_none());
    }
}
