//! The configuration as the daemon uses it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ordo_engine::dispatch::{PoolSize, PoolSizes};
use ordo_model::Millis;
use ordo_tools::{HttpOptions, NamedDefinition, ShellOptions, ToolOptions};
use serde::{Deserialize, Deserializer};

use crate::cli::values::seconds_or_duration;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) node: String,
    pub(crate) group: String,
    pub(crate) serve: Serve,
    pub(crate) orchestrate: Orchestrate,
    pub(crate) store: Store,
    pub(crate) pools: Pools,
    pub(crate) tools: Tools,
    pub(crate) log: Log,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Serve {
    pub(crate) listen: String,
    #[serde(deserialize_with = "tick_rate")]
    pub(crate) tick_rate: Millis,
    #[serde(deserialize_with = "length")]
    pub(crate) grace: Millis,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Orchestrate {
    #[serde(deserialize_with = "tick_rate")]
    pub(crate) tick_rate: Millis,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Store {
    pub(crate) path: PathBuf,
    pub(crate) cache_bytes: usize,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pools {
    pub(crate) fast: Pool,
    pub(crate) slow: Pool,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pool {
    #[serde(deserialize_with = "at_least_one")]
    pub(crate) slots: usize,
    #[serde(deserialize_with = "at_least_one")]
    pub(crate) queue: usize,
}

/// Built-in tools under their own names, every other name is a tool of one's own.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Tools {
    pub(crate) shell: ShellOptions,
    pub(crate) http: HttpOptions,
    #[serde(flatten)]
    pub(crate) named: BTreeMap<String, NamedDefinition>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Log {
    pub(crate) level: String,
    pub(crate) format: LogStyle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LogStyle {
    Pretty,
    Json,
}

impl Pools {
    pub(crate) fn sizes(&self) -> PoolSizes {
        let size = |pool: Pool| PoolSize { slots: pool.slots, queue: pool.queue };
        PoolSizes { fast: size(self.fast), slow: size(self.slow) }
    }
}

impl From<Tools> for ToolOptions {
    fn from(tools: Tools) -> ToolOptions {
        ToolOptions { shell: tools.shell, http: tools.http, named: tools.named }
    }
}

/// A tick longer than this would leave work of a dead daemon unsettled for too long.
const TICK_MAX: Millis = Millis::from_hours(1);
const TICK_MIN: Millis = Millis::from_ms(10);

#[derive(Deserialize)]
#[serde(untagged, expecting = "a duration is written as 500ms, 10s or 1h30m")]
enum Length {
    Seconds(u32),
    Text(String),
}

fn length<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Millis, D::Error> {
    match Length::deserialize(deserializer)? {
        Length::Seconds(seconds) => Ok(Millis::from_secs(seconds.into())),
        Length::Text(text) => seconds_or_duration(&text).map_err(serde::de::Error::custom),
    }
}

fn tick_rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Millis, D::Error> {
    let rate = length(deserializer)?;
    if (TICK_MIN..=TICK_MAX).contains(&rate) {
        return Ok(rate);
    }
    Err(serde::de::Error::custom(format!("a tick rate is between {TICK_MIN} and {TICK_MAX}")))
}

fn at_least_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    match usize::deserialize(deserializer)? {
        0 => Err(serde::de::Error::custom("must be at least 1")),
        size => Ok(size),
    }
}
