//! The store of a running daemon.

use std::path::Path;

use ordo_api::upkeep::BackupStore;
use ordo_client::Error as ClientError;
use serde_json::Value;

use crate::commands::talk::CommandSession;
use crate::error::{Error, Result};
use crate::output::progress::Progress;

#[derive(Debug)]
pub(super) struct OnlineStore {
    client: ordo_client::Client,
}

impl OnlineStore {
    /// Nothing when none answers, unless somebody named it.
    pub(super) async fn find(talk: &CommandSession) -> Result<Option<OnlineStore>> {
        match talk.client.get::<Value>("/healthz").await {
            Err(ClientError::Unreachable { .. }) if !talk.named => Ok(None),
            Err(
                error @ (ClientError::Unreachable { .. }
                | ClientError::Unusable(_)
                | ClientError::Untrusted { .. }
                | ClientError::Redirected { .. }),
            ) => Err(error.into()),
            // It answers, whatever it says.
            Ok(_) | Err(ClientError::Problem { .. } | ClientError::Protocol(_)) => {
                Ok(Some(OnlineStore { client: talk.client.clone() }))
            }
        }
    }

    pub(super) fn in_the_way(&self, verb: &str) -> Error {
        Error::failed(format!("a daemon has the store open (at {})", self.client.target()))
            .hint(format!("stop it first, then: ordo store {verb}"))
    }

    pub(super) async fn stats(&self) -> Result<Value> {
        Ok(self.client.get::<Value>("/v1/store/stats").await?)
    }

    pub(super) async fn check(&self) -> Result<Value> {
        let _progress = Progress::silent("the daemon checks a copy of its store");
        Ok(self.client.post_empty("/v1/store/check").await?)
    }

    pub(super) async fn backup(&self, to: &Path) -> Result<()> {
        let _progress = Progress::silent("the daemon copies its store");
        self.client.post::<Value, _>("/v1/store/backup", &BackupStore { to: to.to_owned() }).await?;
        Ok(())
    }
}
