//! Why something asked of an object did not happen, as clients see it.

use ordo_engine::AskError;

use crate::code::Code;
use crate::problem::{Problem, of_fault};

/// What was refused is the route's own affair; everything else is the same for all objects.
pub(crate) fn problem<R: std::error::Error>(error: AskError<R>, refused: impl FnOnce(R) -> Problem) -> Problem {
    let text = error.to_string();
    match error {
        AskError::Refused(refusal) => refused(refusal),
        // Logged where the round failed.
        AskError::Store(fault) => of_fault(&fault),
        AskError::Contended => Problem::new(Code::Contended, text),
        AskError::Stopped => Problem::new(Code::ShuttingDown, text),
        AskError::Duplicate(_) => Problem::new(Code::IdempotencyKeyReused, text),
    }
}
