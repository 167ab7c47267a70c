//! What every command that talks to a server needs: the server, the clock, and how to print.

use jiff::tz::TimeZone;
use ordo_client::Client;
use ordo_engine::clock::{Clock, SystemClock};
use ordo_model::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cli::{Common, Format};
use crate::error::Result;
use crate::locate;
use crate::output::style::Paint;
use crate::{output, zone};

/// A request or an answer as it stands on the wire.
pub(crate) fn wire(data: &impl Serialize) -> Value {
    serde_json::to_value(data).expect("what goes over the wire is plain data")
}

#[derive(Debug)]
pub(crate) struct CommandSession {
    pub(crate) client: Client,
    /// Somebody named the server: then nothing else will do.
    pub(crate) named: bool,
    pub(crate) format: Format,
    pub(crate) paint: Paint,
    /// In which times are shown where nothing else says a zone.
    pub(crate) zone: TimeZone,
}

impl CommandSession {
    pub(crate) fn new(common: &Common) -> Result<CommandSession> {
        let server = locate::server(common)?;
        Ok(CommandSession {
            client: server.client,
            named: server.named,
            format: common.output,
            paint: Paint::for_stdout(),
            zone: zone::local(),
        })
    }

    pub(crate) fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value> {
        Ok(self.client.get(path).await?)
    }

    /// The same, read as what it is.
    pub(crate) async fn read<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        Ok(self.client.get(path).await?)
    }

    pub(crate) async fn post(&self, path: &str, body: &impl Serialize) -> Result<Value> {
        Ok(self.client.post(path, body).await?)
    }

    pub(crate) async fn post_empty(&self, path: &str) -> Result<Value> {
        Ok(self.client.post_empty(path).await?)
    }

    /// Prints one piece of data.
    pub(crate) fn value(&self, data: &Value, human: impl FnOnce() -> String) -> Result<()> {
        output::value(self.format, data, human)
    }

    pub(crate) fn list(&self, items: &[Value], human: impl FnOnce() -> String) -> Result<()> {
        output::list(self.format, items, human)
    }
}
