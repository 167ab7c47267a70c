//! What can go wrong for a program that has Ordo inside it.

use ordo_engine::SubmitError;
use ordo_store::Fault;

/// Why something was not done.
#[derive(Debug)]
pub enum Error {
    /// The job can never work as it is written; says what to do.
    Invalid(String),
    /// The run did not complete; says why.
    Failed(String),
    /// The command was refused, or could not be carried out.
    Refused(SubmitError),
    /// The store failed.
    Store(Fault),
    /// Only an Ordo whose clock can be set can be moved in time.
    NotSettable,
    /// The work of this moment did not come to an end.
    NotQuiet,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Invalid(message) | Error::Failed(message) => f.write_str(message),
            Error::Refused(error) => error.fmt(f),
            Error::Store(fault) => fault.fmt(f),
            Error::NotSettable => f.write_str("the clock of this Ordo cannot be set: open it with_clock"),
            Error::NotQuiet => f.write_str("what is due did not come to an end: a handler may hang"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Refused(error) => Some(error),
            Error::Store(fault) => Some(fault),
            Error::Invalid(_) | Error::Failed(_) | Error::NotSettable | Error::NotQuiet => None,
        }
    }
}

impl From<SubmitError> for Error {
    fn from(error: SubmitError) -> Error {
        Error::Refused(error)
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Error {
        Error::Store(fault)
    }
}
