//! Policies of a job: what to do when it is late, when it overlaps itself, when it fails, when it grows old.

use serde::{Deserialize, Serialize};

use super::Invalid;
use crate::limits::{
    ATTEMPTS_MAX, BACKOFF_DEFAULT, BACKOFF_MAX, CATCH_UP_MAX, CATCH_UP_WINDOW_DEFAULT, CONCURRENT_DEFAULT,
    CONCURRENT_MAX, RETENTION_AGE_DEFAULT, RETENTION_RUNS_DEFAULT, RETENTION_RUNS_MAX,
};
use crate::strict::TextOr;
use crate::time::Millis;

/// What becomes of occurrences that are later than MISFIRE_AFTER.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Misfire {
    /// One run for all of them, now.
    #[default]
    FireOnceNow,
    DoNothing,
    /// The newest `cap` of those inside `window`, each its own run.
    FireAll {
        #[serde(default = "cap_default")]
        cap: u32,
        #[serde(default = "window_default")]
        window: Millis,
    },
}

impl Misfire {
    /// Its word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Misfire::FireOnceNow => "fire_once_now",
            Misfire::DoNothing => "do_nothing",
            Misfire::FireAll { .. } => "fire_all",
        }
    }
}

fn cap_default() -> u32 {
    CATCH_UP_MAX as u32
}

fn window_default() -> Millis {
    CATCH_UP_WINDOW_DEFAULT
}

/// What becomes of a trigger that comes while an earlier run of the job is not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "TextOr<ConcurrentForm>", into = "TextOr<ConcurrentForm>")]
pub enum Block {
    /// It waits its turn.
    #[default]
    Serial,
    /// It is skipped.
    Discard,
    /// The earlier run is cancelled and this one takes its place.
    Cover,
    /// They run side by side, at most `max`.
    Concurrent { max: u32 },
}

/// On the wire `concurrent` may stand alone or with its maximum.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConcurrentForm {
    concurrent: WidthForm,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WidthForm {
    max: u32,
}

impl TryFrom<TextOr<ConcurrentForm>> for Block {
    type Error = String;

    fn try_from(form: TextOr<ConcurrentForm>) -> Result<Block, String> {
        match form {
            TextOr::Object(ConcurrentForm { concurrent }) => Ok(Block::Concurrent { max: concurrent.max }),
            TextOr::Text(name) => match name.as_str() {
                "serial" => Ok(Block::Serial),
                "discard" => Ok(Block::Discard),
                "cover" => Ok(Block::Cover),
                "concurrent" => Ok(Block::Concurrent { max: CONCURRENT_DEFAULT }),
                _ => Err(format!(
                    "unknown block strategy {name:?}: use serial, discard, cover, concurrent or {{\"concurrent\": {{\"max\": 4}}}}"
                )),
            },
        }
    }
}

impl From<Block> for TextOr<ConcurrentForm> {
    fn from(block: Block) -> TextOr<ConcurrentForm> {
        match block {
            Block::Serial => TextOr::Text("serial".into()),
            Block::Discard => TextOr::Text("discard".into()),
            Block::Cover => TextOr::Text("cover".into()),
            Block::Concurrent { max } => TextOr::Object(ConcurrentForm { concurrent: WidthForm { max } }),
        }
    }
}

/// Which executor gets a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Routing {
    First,
    Last,
    #[default]
    Round,
    Random,
    Lfu,
    Lru,
    ConsistentHash,
    Failover,
    Busyover,
    ShardingBroadcast,
}

impl Routing {
    /// Whether another executor may have the run when the one that was chosen does not take it.
    pub fn may_choose(self) -> bool {
        match self {
            Routing::Round | Routing::Random | Routing::Lfu | Routing::Lru | Routing::Failover | Routing::Busyover => {
                true
            }
            Routing::First | Routing::Last | Routing::ConsistentHash | Routing::ShardingBroadcast => false,
        }
    }

    /// Whether whoever is chosen makes room for others the next time; otherwise an order decides.
    pub fn takes_turns(self) -> bool {
        match self {
            Routing::Round | Routing::Random | Routing::Lfu | Routing::Lru => true,
            Routing::First
            | Routing::Last
            | Routing::ConsistentHash
            | Routing::Failover
            | Routing::Busyover
            | Routing::ShardingBroadcast => false,
        }
    }

    /// Whether one executor is as good as another: work that comes to be on many nodes is spread already.
    pub fn is_indifferent(self) -> bool {
        match self {
            Routing::Round | Routing::Random => true,
            Routing::First
            | Routing::Last
            | Routing::Lfu
            | Routing::Lru
            | Routing::ConsistentHash
            | Routing::Failover
            | Routing::Busyover
            | Routing::ShardingBroadcast => false,
        }
    }
}

/// How often a run is tried and how long it waits in between: `backoff`, doubled after each failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Retry {
    #[serde(default = "one")]
    pub max_attempts: u32,
    #[serde(default = "backoff_default")]
    pub backoff: Millis,
    #[serde(default = "max_backoff_default")]
    pub max_backoff: Millis,
}

fn one() -> u32 {
    1
}
fn backoff_default() -> Millis {
    BACKOFF_DEFAULT
}
fn max_backoff_default() -> Millis {
    BACKOFF_MAX
}

impl Default for Retry {
    fn default() -> Retry {
        Retry { max_attempts: 1, backoff: BACKOFF_DEFAULT, max_backoff: BACKOFF_MAX }
    }
}

impl Retry {
    /// How long to wait after attempt `attempt` (the first is 1) failed.
    pub fn backoff_after(&self, attempt: u32) -> Millis {
        let doublings = attempt.saturating_sub(1).min(62);
        self.backoff.saturating_mul(1 << doublings).min(self.max_backoff)
    }

    pub fn allows_another_after(&self, attempt: u32) -> bool {
        attempt < self.max_attempts
    }
}

/// How much history a job keeps: at most `runs`, none older than `age`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Retention {
    #[serde(default = "runs_default")]
    pub runs: u32,
    #[serde(default = "age_default")]
    pub age: Millis,
}

fn runs_default() -> u32 {
    RETENTION_RUNS_DEFAULT
}
fn age_default() -> Millis {
    RETENTION_AGE_DEFAULT
}

impl Default for Retention {
    fn default() -> Retention {
        Retention { runs: RETENTION_RUNS_DEFAULT, age: RETENTION_AGE_DEFAULT }
    }
}

impl Misfire {
    pub(super) fn validate(&self) -> Result<(), Invalid> {
        match self {
            Misfire::FireOnceNow | Misfire::DoNothing => Ok(()),
            Misfire::FireAll { cap, .. } if (1..=CATCH_UP_MAX as u32).contains(cap) => Ok(()),
            Misfire::FireAll { .. } => {
                Err(Invalid::new("misfire", format!("fire_all needs a cap between 1 and {CATCH_UP_MAX}")))
            }
        }
    }
}

impl Block {
    pub(super) fn validate(&self) -> Result<(), Invalid> {
        match self {
            Block::Serial | Block::Discard | Block::Cover => Ok(()),
            Block::Concurrent { max } if (1..=CONCURRENT_MAX).contains(max) => Ok(()),
            Block::Concurrent { .. } => {
                Err(Invalid::new("block", format!("concurrent needs a max between 1 and {CONCURRENT_MAX}")))
            }
        }
    }

    /// How many runs of the job may execute at once.
    pub fn width(&self) -> usize {
        match self {
            Block::Serial | Block::Discard | Block::Cover => 1,
            Block::Concurrent { max } => *max as usize,
        }
    }
}

impl Retry {
    pub(super) fn validate(&self) -> Result<(), Invalid> {
        if !(1..=ATTEMPTS_MAX).contains(&self.max_attempts) {
            return Err(Invalid::new("retry.max_attempts", format!("must be between 1 and {ATTEMPTS_MAX}")));
        }
        if self.backoff > self.max_backoff || self.max_backoff > BACKOFF_MAX {
            return Err(Invalid::new(
                "retry.backoff",
                format!("must be at most max_backoff, and that at most {BACKOFF_MAX}"),
            ));
        }
        Ok(())
    }
}

impl Retention {
    pub(super) fn validate(&self) -> Result<(), Invalid> {
        if !(1..=RETENTION_RUNS_MAX).contains(&self.runs) {
            return Err(Invalid::new("retention.runs", format!("must be between 1 and {RETENTION_RUNS_MAX}")));
        }
        if self.age < Millis::from_secs(1) {
            return Err(Invalid::new("retention.age", "must be at least 1s"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_and_stops_at_its_maximum() {
        let retry = Retry { max_attempts: 10, backoff: Millis::from_secs(2), max_backoff: Millis::from_secs(10) };
        let waits: Vec<u64> = (1..=5).map(|n| retry.backoff_after(n).ms() / 1_000).collect();
        assert_eq!(waits, [2, 4, 8, 10, 10]);
        assert_eq!(retry.backoff_after(1_000).ms(), 10_000);
    }

    #[test]
    fn a_block_strategy_reads_as_a_name_or_with_its_maximum() {
        let read = |text: &str| serde_json::from_str::<Block>(text);
        assert_eq!(read("\"serial\"").unwrap(), Block::Serial);
        assert_eq!(read("\"concurrent\"").unwrap(), Block::Concurrent { max: CONCURRENT_DEFAULT });
        assert_eq!(read("{\"concurrent\":{\"max\":4}}").unwrap(), Block::Concurrent { max: 4 });
        assert!(read("\"parallel\"").is_err());
        for block in [Block::Serial, Block::Cover, Block::Discard, Block::Concurrent { max: 3 }] {
            assert_eq!(read(&serde_json::to_string(&block).unwrap()).unwrap(), block);
        }
    }
}
