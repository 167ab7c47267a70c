//! Webhooks in: a hook is an address others call, a delivery is one call of it.
//!
//! Invariant: who may call, what passes, and what becomes of a delivery is decided here, by pure functions.

mod delivery;
mod delivery_rules;
mod filter;
#[allow(clippy::module_inception, reason = "the hook itself")]
mod hook;
mod sender;
mod verify;

pub use delivery::{Bound, Delivery, DeliveryCommand, DeliveryEvent, DeliveryOutcome, DeliveryRefusal, Replay};
pub use filter::{Filter, Test};
pub use hook::{Hook, HookCommand, HookEvent, HookRefusal, HookTerms, TermsPatch, is_slug};
pub use sender::{Headers, delivery_id, replay_mark};
pub use verify::{Scheme, Unverified, Verify, sign_slack, verify, verify_slack};
