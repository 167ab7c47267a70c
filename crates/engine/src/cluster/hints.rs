//! Word from other nodes that something was written.

use std::sync::Arc;

use ordo_model::Timestamp;
use ordo_store::{Hint, Store};
use tokio::sync::{Notify, mpsc, watch};

use crate::core::Input;
use crate::read::change_hint::{ChangeHint, ChangeHints};
use crate::time::partitions::{Ownership, PartitionSet};

use super::{Reviewer, Roster};

/// Passes hints to the core, to followers, and to the reviewer of what runs here. Ends with the store.
pub(crate) async fn follow(
    store: Arc<dyn Store>,
    ours: watch::Receiver<Ownership>,
    core: mpsc::UnboundedSender<Input>,
    live: ChangeHints,
    submitted: Arc<Notify>,
    reviewer: Reviewer,
    roster: Roster,
) {
    let Some(cluster) = store.cluster() else { return };
    let mut hints = cluster.hints();
    while let Some(hint) = hints.next().await {
        if matches!(hint, Hint::Submissions | Hint::Lost) {
            submitted.notify_one();
        }
        if hint == Hint::Submissions {
            continue;
        }
        let ours = is_ours(&hint, &ours.borrow());
        let partitions = match &hint {
            Hint::Partitions(partitions) => partitions.iter().copied().collect(),
            Hint::Submissions => PartitionSet::default(),
            Hint::Lost => PartitionSet::all(),
        };
        drop(core.send(Input::Hinted { ours, partitions }));
        live.send(ChangeHint::Elsewhere);
        reviewer.nudge();
        roster.nudge();
    }
}

fn is_ours(hint: &Hint, ours: &Ownership) -> bool {
    ours.until > Timestamp::MIN
        && match hint {
            Hint::Partitions(partitions) => partitions.iter().any(|partition| ours.partitions.contains(*partition)),
            Hint::Submissions => false,
            Hint::Lost => true,
        }
}
