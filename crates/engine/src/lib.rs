//! The engine: takes commands in, fires what is due, runs it, and keeps the books.

pub mod clock;
pub mod logs;
pub mod tool;
