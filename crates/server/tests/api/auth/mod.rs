//! Who gets in, and who may do what.

mod access;
pub(crate) mod login;
mod matrix;
mod secrets;
