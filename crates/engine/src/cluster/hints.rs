//! Word from other nodes that something was written.

use std::sync::Arc;

use ordo_model::Timestamp;
use ordo_store::{Hint, Store};
use tokio::sync::{mpsc, watch};

use crate::core::Input;
use crate::read::change_hint::{ChangeHint, ChangeHints};
use crate::time::partitions::Ownership;

use super::{Reviewer, Roster};

/// Passes hints to the core, to followers, and to the reviewer of what runs here. Ends with the store.
pub(crate) async fn follow(
    store: Arc<dyn Store>,
    ours: watch::Receiver<Ownership>,
    core: mpsc::UnboundedSender<Input>,
    live: ChangeHints,
    reviewer: Reviewer,
    roster: Roster,
) {
    let Some(cluster) = store.cluster() else { return };
    let mut hints = cluster.hints();
    while let Some(hint) = hints.next().await {
        let ours = is_ours(&hint, &ours.borrow());
        drop(core.send(Input::Hinted { ours }));
        live.send(ChangeHint::Elsewhere);
        reviewer.nudge();
        roster.nudge();
    }
}

fn is_ours(hint: &Hint, ours: &Ownership) -> bool {
    ours.until > Timestamp::MIN
        && match hint {
            Hint::Partitions(partitions) => partitions.iter().any(|partition| ours.partitions.contains(*partition)),
            Hint::Lost => true,
        }
}
