//! One node among several on one store: which nodes are alive, which serves which partitions, what became of those that left.
//!
//! Invariant: nothing here is needed for correctness; the version guard of the commit is. Without it work would be late
//! or done in vain, never doubled or lost.

mod hints;
mod load;
mod member;
mod node;
mod review;
mod roster;

use ordo_model::Millis;

pub(crate) use hints::follow;
pub use load::{ExecutorLoad, NodeLoads};
pub(crate) use member::{ClusterMember, hand_over, join, leave};
pub use node::{NodeDetails, NodeView, Roles};
pub(crate) use review::Reviewer;
pub(crate) use roster::Roster;
pub use roster::{ElsewhereExecutor, NodeOffer};

/// How often a node says that it is there and looks at who else is.
pub(crate) const BEAT_EVERY: Millis = Millis::from_secs(1);
/// How long a node counts as alive, and its leases hold, without another word.
pub(crate) const GOOD_FOR: Millis = Millis::from_secs(5);
/// A node stops firing this long before its leases end, so that it never does so beside the next holder.
const LEASE_MARGIN: Millis = Millis::from_ms(500);
/// An alarm that is overdue by this much is anybody's.
const OVERDUE: Millis = Millis::from_secs(10);
/// How long whoever takes such an alarm has it for himself.
const CLAIM: Millis = Millis::from_secs(30);
const SWEEP_MAX: usize = 500;
/// Every so many beats a node looks for such alarms.
const SWEEP_EVERY: u64 = 3;
