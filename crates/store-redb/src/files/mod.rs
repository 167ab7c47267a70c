//! The files of a store: where they lie, who holds them, how they are opened.
//!
//! Invariant: under its name a file is whole or not there, and one process has it.

pub(crate) mod held;
pub(crate) mod open;
pub(crate) mod rights;
pub(crate) mod source;
pub(crate) mod unfinished;
pub(crate) mod unwritable;
