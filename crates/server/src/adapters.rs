//! Who stands between the server and other systems, as far as its routes need them.

use ordo_adapters::slack::signature::SigningSecret;
use ordo_adapters::webhook::directory::Directory;
use ordo_engine::mirror::MirrorStatus;
use ordo_xxl::Bridge;
use tokio::sync::watch;

/// None of them has to be there.
#[derive(Debug, Clone, Default)]
pub struct Adapters {
    /// What Slack's requests are checked with; None: Slack is not configured.
    pub slack: Option<SigningSecret>,
    /// Keeps the senders in step with the subscriptions; None: nothing is sent from here.
    pub directory: Option<Directory>,
    /// Serves executors of XXL-JOB; None: the configuration names no group of them.
    pub xxl: Option<Bridge>,
    /// How the mirror of all events is doing; None: there is none.
    pub mirror: Option<watch::Receiver<MirrorStatus>>,
}
