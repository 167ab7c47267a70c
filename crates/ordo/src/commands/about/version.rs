//! `ordo version`: of this program, and of the daemon it would talk to.

use ordo_model::zones::Zones;
use serde_json::{Value, json};

use crate::commands::find::text;
use crate::commands::talk::CommandSession;
use crate::error::{Exit, Result};
use crate::output::table;

pub(crate) async fn run(talk: &CommandSession) -> Result<Exit> {
    let daemon = talk.client.get::<Value>("/v1/status").await.ok();
    let here = env!("CARGO_PKG_VERSION");
    let daemon_version = daemon.as_ref().map(|status| text(status, "version"));
    let data = json!({
        "version": here,
        "time_zones": Zones::bundled().to_string(),
        "kurrentdb": cfg!(feature = "kurrentdb"),
        "daemon": daemon_version.as_ref().map(|version| json!({ "version": version, "at": talk.client.target().to_string() })),
    });
    talk.value(&data, || {
        let daemon = match &daemon_version {
            Some(version) => format!("{version} at {}", talk.client.target()),
            None => format!("none at {}", talk.client.target()),
        };
        let pairs = [("ordo", here.to_owned()), ("time zones", Zones::bundled().to_string()), ("daemon", daemon)];
        table::fields(&pairs, talk.paint)
    })?;
    Ok(Exit::Done)
}
