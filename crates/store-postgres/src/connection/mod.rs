//! From a URL to connections that can be used, and whether they still can.

pub(crate) mod connect;
pub(crate) mod probe;
pub(crate) mod session;
pub(crate) mod source;
pub(crate) mod tls;
pub(crate) mod url;
