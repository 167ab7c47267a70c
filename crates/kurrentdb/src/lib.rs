//! A mirror of all events in KurrentDB, with its official client.
//!
//! Invariant: an event is appended behind the one before it in its stream, guarded by the revision that is expected
//! there, under an id that follows from what it says. So a repeat is recognised by the server or by us, and whatever
//! stands in the way is reported, never overwritten and never skipped in silence.

mod appending;
mod backoff;
mod connection;
mod ends;
mod mirror;
mod position;
mod progress;
mod record;

pub use connection::{BadConnection, MirrorTarget};
pub use mirror::{Feed, Mirror};
