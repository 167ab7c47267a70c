//! What the daemon says while it runs: on standard error, for people or for machines.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::{LogStyle, Settings};
use crate::error::{Error, Result};

pub(crate) fn begin(settings: &Settings) -> Result<()> {
    let level = &settings.log.level;
    let filter = EnvFilter::try_new(level).map_err(|error| {
        Error::failed(format!("log.level: {level:?} is not a filter"))
            .detail(error.to_string())
            .hint("use error, warn, info, debug, trace, or a filter like ordo_engine=debug")
    })?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let begun = match settings.log.format {
        LogStyle::Json => builder.json().flatten_event(true).try_init(),
        LogStyle::Pretty => {
            let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
            builder.with_target(false).with_ansi(colours).try_init()
        }
    };
    begun.map_err(|error| Error::failed("cannot begin to log").detail(error.to_string()))
}
