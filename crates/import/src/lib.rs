//! Jobs written down for other schedulers, read as jobs of Ordo.
//!
//! Invariant: reading is pure. What a file says becomes a draft, a refusal or a warning; nothing is left out silently.

pub mod actions;
pub mod cronjob;
pub mod crontab;
pub mod dkron;
mod draft;
pub mod quartz;
pub mod systemd;
pub mod workflow;

pub use draft::{Imported, JobDraft};
