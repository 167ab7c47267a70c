//! How a job is set up, in words.

use ordo_model::Timestamp;
use ordo_model::job::{Block, Definition, Job, KeySource, Misfire, Routing};

use ordo_api::jobs::pool_reason;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Policy {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    /// What it means, where the value does not say so.
    pub(crate) meaning: String,
}

fn policy(name: &'static str, value: impl Into<String>, meaning: impl Into<String>) -> Policy {
    Policy { name, value: value.into(), meaning: meaning.into() }
}

pub(crate) fn of(job: &Job, now: Timestamp) -> Vec<Policy> {
    let definition = &job.definition;
    let (misfire, misfire_means) = misfire(&definition.misfire);
    let (block, block_means) = block(&definition.block);
    let (retry, retry_means) = retry(definition);
    let retention = definition.retention;
    let routing = serde_json::to_value(definition.routing).ok().and_then(|name| name.as_str().map(str::to_owned));
    let mut all = vec![
        policy("Misfire", misfire, misfire_means),
        policy("Overlap", block, block_means),
        policy("Attempts", retry, retry_means),
        policy("Timeout", definition.timeout.to_string(), "then the attempt is ended and counts as failed"),
        policy("Priority", definition.priority.to_string(), "0 to 9, higher goes first"),
        policy("Group", definition.group.clone(), "which executors may run it"),
        policy("Routing", routing.unwrap_or_default(), routing_means(definition.routing)),
        policy("Pool", job.pace.seen_at(now.max(job.updated_at)).pool().name(), pool_reason(job, now)),
        policy("Idempotent", yes(definition.idempotent), "whether an attempt of unknown effect is tried again"),
        policy("History", format!("{} runs, {}", retention.runs, retention.age), "what is older is forgotten"),
    ];
    all.extend(limits(definition));
    all
}

/// What only some jobs have.
fn limits(definition: &Definition) -> Vec<Policy> {
    let concurrency = definition.concurrency_key.as_ref().map(|limit| {
        let meaning = "shared with all jobs that have the same value of the key";
        policy("Concurrency key", format!("{}, at most {} at once", source(&limit.key), limit.max), meaning)
    });
    let rate = definition.rate_limit.as_ref().map(|rate| {
        let value = format!("{}, at most {} each {}", source(&rate.key), rate.limit, rate.per);
        policy("Rate limit", value, "starts of all jobs that have the same value of the key are counted")
    });
    let unique = definition.unique_key.as_ref().map(|unique| {
        let value = serde_json::to_string(unique).unwrap_or_default();
        policy("Unique key", value, "the same key comes only once in its window")
    });
    let expire = definition
        .expire_after
        .map(|length| policy("Expires", format!("after {length}"), "a run that found no executor by then is skipped"));
    [concurrency, rate, unique, expire].into_iter().flatten().collect()
}

fn source(key: &KeySource) -> String {
    match key {
        KeySource::Label => "the label".to_owned(),
        KeySource::Input(pointer) => format!("{pointer} of the input"),
    }
}

fn routing_means(routing: Routing) -> &'static str {
    match routing {
        Routing::First => "the first executor by name; it is waited for when it is full",
        Routing::Last => "the last executor by name; it is waited for when it is full",
        Routing::Round => "each executor in its turn",
        Routing::Random => "any executor that has room",
        Routing::Lfu => "the executor that was chosen least often",
        Routing::Lru => "the executor that was chosen longest ago",
        Routing::ConsistentHash => "always the same executor while it is there",
        Routing::Failover => "the executor heard of last; the next if it does not take the run in time",
        Routing::Busyover => "the first executor with a free slot",
        Routing::ShardingBroadcast => "every executor gets its share",
    }
}

fn misfire(misfire: &Misfire) -> (String, &'static str) {
    match misfire {
        Misfire::FireOnceNow => ("fire once now".into(), "missed occurrences become one run"),
        Misfire::DoNothing => ("do nothing".into(), "missed occurrences are skipped"),
        Misfire::FireAll { cap, window } => {
            (format!("fire all, at most {cap} within {window}"), "missed occurrences are caught up")
        }
    }
}

fn block(block: &Block) -> (String, &'static str) {
    match block {
        Block::Serial => ("serial".into(), "a run waits until the one before is over"),
        Block::Discard => ("discard".into(), "a run is skipped while another goes on"),
        Block::Cover => ("cover".into(), "a new run cancels the one that goes on"),
        Block::Concurrent { max } => (format!("concurrent, at most {max}"), "runs go on side by side"),
    }
}

fn retry(definition: &Definition) -> (String, &'static str) {
    match definition.retry.max_attempts {
        1 => ("1".into(), "a failure is final"),
        attempts => (format!("{attempts}, after {}", definition.retry.backoff), "the wait doubles each time"),
    }
}

fn yes(it_is: bool) -> String {
    if it_is { "yes" } else { "no" }.to_owned()
}
