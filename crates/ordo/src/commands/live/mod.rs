//! Looking at a daemon while it works.

pub(crate) mod open;
pub(crate) mod status;
pub(crate) mod top;
pub(crate) mod watch;
