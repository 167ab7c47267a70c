//! A build without traces: whoever names a collector is told so.

use crate::config::Settings;
use crate::error::{Error, Result};

/// Never made: what `prepare` answers is known.
pub(crate) use NeverExported as Exporter;
pub(crate) use tracing_subscriber::layer::Identity as Spans;

pub(crate) enum NeverExported {}

impl NeverExported {
    pub(crate) fn start(self) -> NeverExported {
        self
    }

    pub(crate) async fn end(self) {
        match self {}
    }
}

pub(crate) fn prepare(settings: &Settings) -> Result<Option<(Spans, Exporter)>> {
    match settings.telemetry.otlp_endpoint.as_deref().filter(|text| !text.trim().is_empty()) {
        None => Ok(None),
        Some(_) => Err(Error::misused("telemetry.otlp_endpoint: this Ordo was built without traces")
            .hint("leave it out, or build Ordo with the feature otlp")),
    }
}
