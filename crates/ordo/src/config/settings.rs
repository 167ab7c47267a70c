//! The configuration as the daemon uses it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ordo_adapters::email::SmtpOptions;
use ordo_adapters::slack::SlackOptions;
use ordo_egress_guard::Allowed;
use ordo_engine::{PoolSize, PoolSizes};
use ordo_model::Millis;
use ordo_model::incident::Escalation;
use ordo_model::limits::{OUTBOX_BEAT, OUTBOX_FLUSH_DELAY_MAX};
use ordo_tools::{HttpOptions, NamedDefinition, ShellOptions, ToolOptions};
use ordo_xxl::XxlOptions;
use serde::{Deserialize, Deserializer};

use crate::cli::values::seconds_or_duration;
use crate::zone_data::ZonesFrom;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) node: String,
    pub(crate) group: String,
    pub(crate) serve: Serve,
    pub(crate) orchestrate: Orchestrate,
    pub(crate) secrets: SecretSettings,
    pub(crate) store: StoreSettings,
    pub(crate) telemetry: Telemetry,
    pub(crate) time: Time,
    pub(crate) outbox: OutboxSettings,
    pub(crate) pools: Pools,
    pub(crate) tools: ToolSettings,
    pub(crate) slack: SlackOptions,
    pub(crate) smtp: SmtpOptions,
    pub(crate) webhooks: Webhooks,
    pub(crate) limits: LimitSettings,
    pub(crate) log: LogSettings,
    #[serde(default)]
    pub(crate) senders: SenderSettings,
    #[serde(default)]
    pub(crate) sinks: SinkSettings,
    /// Executors of XXL-JOB, by group.
    #[serde(default)]
    pub(crate) xxl: XxlOptions,
    /// Escalation chains by name.
    #[serde(default)]
    pub(crate) escalation: BTreeMap<String, Escalation>,
}

/// What has happened and has not been sent yet.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OutboxSettings {
    #[serde(deserialize_with = "flush_delay")]
    pub(crate) flush_delay_ms: Millis,
}

fn flush_delay<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Millis, D::Error> {
    let delay = Millis::from_ms(u64::deserialize(deserializer)?);
    match (OUTBOX_BEAT..=OUTBOX_FLUSH_DELAY_MAX).contains(&delay) {
        true => Ok(delay),
        false => Err(serde::de::Error::custom(format!(
            "must be from {} to {} milliseconds",
            OUTBOX_BEAT.ms(),
            OUTBOX_FLUSH_DELAY_MAX.ms()
        ))),
    }
}

/// The senders of notifications.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SenderSettings {
    pub(crate) file: FileSender,
}

/// Where all events go besides the store.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SinkSettings {
    pub(crate) kurrentdb: KurrentDbSink,
}

#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct KurrentDbSink {
    pub(crate) connection: Option<String>,
}

impl std::fmt::Debug for KurrentDbSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KurrentDbSink").field("is_set", &self.connection.is_some()).finish()
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FileSender {
    pub(crate) path: Option<PathBuf>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Webhooks {
    /// Networks, addresses and host names that messages may go to although they are not public.
    pub(crate) allow: Vec<Allowed>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Serve {
    pub(crate) listen: String,
    #[serde(deserialize_with = "base_path")]
    pub(crate) base_path: String,
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
pub(crate) struct SecretSettings {
    pub(crate) key_file: PathBuf,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoreSettings {
    pub(crate) path: PathBuf,
    pub(crate) cache_bytes: usize,
    /// A standby of the database, for whoever only looks.
    pub(crate) standby: Option<String>,
}

/// Spans for a collector of traces.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Telemetry {
    /// Where it takes OTLP over HTTP; without it nothing is sent.
    pub(crate) otlp_endpoint: Option<String>,
    #[cfg_attr(not(feature = "otlp"), allow(dead_code, reason = "only spans carry it"))]
    pub(crate) service_name: String,
    /// The part of traces that is sent, from 0 to 1, where the caller has not decided.
    #[serde(deserialize_with = "part")]
    pub(crate) sample: f64,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Time {
    /// Where the rules of time zones come from.
    pub(crate) zones: ZonesFrom,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pools {
    pub(crate) fast: PoolSettings,
    pub(crate) slow: PoolSettings,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PoolSettings {
    #[serde(deserialize_with = "at_least_one")]
    pub(crate) slots: usize,
    #[serde(deserialize_with = "at_least_one")]
    pub(crate) queue: usize,
}

/// Built-in tools under their own names, every other name is a tool of one's own.
#[derive(Debug, Clone)]
pub(crate) struct ToolSettings {
    pub(crate) shell: ShellOptions,
    pub(crate) http: HttpOptions,
    pub(crate) named: BTreeMap<String, NamedDefinition>,
}

/// Read name by name: `flatten` would forget under which key something is wrong.
impl<'de> Deserialize<'de> for ToolSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ToolSettings, D::Error> {
        struct ByName;

        impl<'de> serde::de::Visitor<'de> for ByName {
            type Value = ToolSettings;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("tools by their names")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut tools: A) -> Result<ToolSettings, A::Error> {
                let (mut shell, mut http, mut named) = (None, None, BTreeMap::new());
                while let Some(name) = tools.next_key::<String>()? {
                    match name.as_str() {
                        "shell" => shell = Some(tools.next_value()?),
                        "http" => http = Some(tools.next_value()?),
                        _ => drop(named.insert(name, tools.next_value()?)),
                    }
                }
                let missing = serde::de::Error::missing_field;
                Ok(ToolSettings {
                    shell: shell.ok_or_else(|| missing("shell"))?,
                    http: http.ok_or_else(|| missing("http"))?,
                    named,
                })
            }
        }

        deserializer.deserialize_map(ByName)
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitSettings {
    pub(crate) requests_per_minute: u32,
    pub(crate) hook_requests_per_minute: u32,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogSettings {
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
        let size = |pool: PoolSettings| PoolSize { slots: pool.slots, queue: pool.queue };
        PoolSizes { fast: size(self.fast), slow: size(self.slow) }
    }
}

impl From<LimitSettings> for ordo_server::RateLimits {
    fn from(limits: LimitSettings) -> ordo_server::RateLimits {
        let LimitSettings { requests_per_minute, hook_requests_per_minute } = limits;
        ordo_server::RateLimits { requests_per_minute, hook_requests_per_minute }
    }
}

impl From<ToolSettings> for ToolOptions {
    fn from(tools: ToolSettings) -> ToolOptions {
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

#[derive(Deserialize)]
#[serde(untagged, expecting = "a part is a number from 0 to 1")]
enum NumberOrText {
    Number(f64),
    Text(String),
}

fn part<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let part = match NumberOrText::deserialize(deserializer)? {
        NumberOrText::Number(part) => Some(part),
        NumberOrText::Text(text) => text.trim().parse().ok(),
    };
    let wrong = || serde::de::Error::custom("a part is a number from 0 to 1");
    part.filter(|part| (0.0..=1.0).contains(part)).ok_or_else(wrong)
}

/// Written by the server into addresses: plain notifications only.
fn base_path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let path = String::deserialize(deserializer)?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    match path.bytes().all(is_plain) && !path.contains("//") {
        true => Ok(path),
        false => Err(serde::de::Error::custom("a base path is written as /ordo: letters, digits and -_.~ only")),
    }
}

fn at_least_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    match usize::deserialize(deserializer)? {
        0 => Err(serde::de::Error::custom("must be at least 1")),
        size => Ok(size),
    }
}
