//! What the daemon says while it runs: on standard error, for people or for machines.

use std::io::IsTerminal;

use ordo_engine::trace::TARGET;
use tracing::Level;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{LogStyle, Settings};
use crate::error::{Error, Result};
use crate::telemetry::Spans;

/// Spans for a collector take another way than the log, whatever the log's filter says.
pub(crate) fn begin(settings: &Settings, spans: Option<Spans>) -> Result<()> {
    let level = &settings.log.level;
    let filter = level.parse::<Targets>().map_err(|error| {
        Error::misused(format!("log.level: {level:?} is not a filter"))
            .detail(error.to_string())
            .hint("use error, warn, info, debug, trace, or a filter like ordo_engine=debug")
    })?;
    let filter = filter.with_target(TARGET, LevelFilter::OFF);
    let log = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let log = match settings.log.format {
        LogStyle::Json => log.json().flatten_event(true).with_filter(filter).boxed(),
        LogStyle::Pretty => {
            let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
            log.with_target(false).with_ansi(colours).with_filter(filter).boxed()
        }
    };
    let spans = spans.map(|spans| spans.with_filter(Targets::new().with_target(TARGET, Level::INFO)));
    let begun = tracing_subscriber::registry().with(log).with(spans).try_init();
    begun.map_err(|error| Error::failed("cannot begin to log").detail(error.to_string()))
}
