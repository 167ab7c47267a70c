//! What falls due, and when: the clock, the ring of near alarms, and the timekeeper that fills it.

pub mod clock;
pub mod partitions;
mod ring;
pub mod timekeeper;
