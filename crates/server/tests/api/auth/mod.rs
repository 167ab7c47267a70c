//! Who gets in, and who may do what.

mod access;
mod actors;
pub(crate) mod login;
mod matrix;
mod secrets;
