//! The commands about what goes wrong and who hears of it.

pub(crate) mod channel;
pub(crate) mod escalation;
pub(crate) mod incident;
pub(crate) mod monitor;
pub(crate) mod notification;
pub(crate) mod silence;
pub(crate) mod subscription;
