//! How a job is set up, in words.

use ordo_model::job::{Block, Definition, Misfire};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Policy {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    /// What it means, where the value does not say so.
    pub(crate) meaning: &'static str,
}

pub(crate) fn of(definition: &Definition) -> Vec<Policy> {
    let policy = |name, value: String, meaning| Policy { name, value, meaning };
    let (misfire, misfire_means) = misfire(&definition.misfire);
    let (block, block_means) = block(&definition.block);
    let (retry, retry_means) = retry(definition);
    let retention = definition.retention;
    let routing = serde_json::to_value(definition.routing).ok().and_then(|name| name.as_str().map(str::to_owned));
    vec![
        policy("Misfire", misfire, misfire_means),
        policy("Overlap", block, block_means),
        policy("Attempts", retry, retry_means),
        policy("Timeout", definition.timeout.to_string(), "then the attempt is ended and counts as failed"),
        policy("Priority", definition.priority.to_string(), "0 to 9, higher goes first"),
        policy("Group", definition.group.clone(), "which executors may run it"),
        policy("Routing", routing.unwrap_or_default(), "which of them gets a run"),
        policy("Idempotent", yes(definition.idempotent), "whether an attempt of unknown effect is tried again"),
        policy("History", format!("{} runs, {}", retention.runs, retention.age), "what is older is forgotten"),
    ]
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
