//! Executors that dial in: what they are handed, what they report, and when they count as lost.
//!
//! Invariant: an attempt is handed out once, after its start is durable, and taken back only while nobody has it.

mod held;
pub(crate) mod lease;
mod logs;
mod protocol;
pub(crate) mod registry;
mod reports;
pub(crate) mod restore;
mod run_lease;
mod transfer;

pub use held::HeldAttempt;
pub(crate) use lease::{reconcile, watch};
pub use logs::{RemoteLine, RemoteLogChunk};
pub use protocol::{Handed, HeartbeatReply, HostError, Leaving, ListedExecutor, NotThere, Polled, WorkRequest};
pub use reports::{RemoteReport, RemoteStatus, ReportError};
