//! Where the W3C trace context of an attempt goes: into the environment of a command, into the header of a request.

/// `TRACEPARENT` of a command.
pub(crate) const VARIABLE: &str = "TRACEPARENT";
/// `traceparent` of a request.
pub(crate) const HEADER: &str = "traceparent";
