//! Spans of requests and attempts for an OpenTelemetry collector, by OTLP over HTTP.
//!
//! Invariant: whatever the collector does, the daemon neither waits for it nor grows: what cannot be sent is dropped,
//! counted and reported.

mod export;
mod headers;
mod layer;
mod record;
mod wire;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tokio::sync::mpsc;

use crate::config::Settings;
use crate::error::{Error, Result};
use crate::store_location::without_credentials;

pub(crate) use export::Exporter;
pub(crate) use layer::Spans;

/// Spans on their way; more than these are dropped.
const QUEUE_MAX: usize = 4_096;
/// Where a collector takes traces, below its address.
const TRACES: &str = "v1/traces";

/// Both ends, if a collector was named.
pub(crate) fn prepare(settings: &Settings) -> Result<Option<(Spans, Exporter)>> {
    let Some(endpoint) = settings.telemetry.otlp_endpoint.as_deref().filter(|text| !text.trim().is_empty()) else {
        return Ok(None);
    };
    let url = traces_url(endpoint)?;
    let headers = headers::of_this_process()?;
    let (to, from) = mpsc::channel(QUEUE_MAX);
    let dropped = Arc::new(AtomicU64::new(0));
    let resource = wire::resource(&settings.telemetry.service_name, &settings.node);
    let exporter = Exporter::new(url, headers, resource, from, dropped.clone())?;
    Ok(Some((Spans::new(to, dropped), exporter)))
}

fn traces_url(endpoint: &str) -> Result<reqwest::Url> {
    let refuse = |why: String| {
        let shown = without_credentials(endpoint);
        Error::misused(format!("telemetry.otlp_endpoint: {shown:?} is no address of a collector"))
            .detail(why)
            .hint("write it as http://127.0.0.1:4318")
    };
    let mut url = reqwest::Url::parse(endpoint.trim()).map_err(|error| refuse(error.to_string()))?;
    match url.scheme() {
        "http" | "https" => url.set_path(&format!("{}/{TRACES}", url.path().trim_end_matches('/'))),
        other => return Err(refuse(format!("{other} is neither http nor https"))),
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_go_below_the_address_of_the_collector() {
        for (endpoint, url) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("https://otel.example.org/x/", "https://otel.example.org/x/v1/traces"),
        ] {
            assert_eq!(traces_url(endpoint).unwrap().as_str(), url);
        }
        for wrong in ["collector", "127.0.0.1:4318", "ftp://x", "http://", ""] {
            assert!(traces_url(wrong).is_err(), "{wrong}");
        }
    }
}
