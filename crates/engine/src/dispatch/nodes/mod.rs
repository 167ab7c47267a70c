//! What a dispatcher that is one of several needs: who is with other nodes, what is left to them, what they are to know.

mod elsewhere;
mod left;
mod loads;
mod roll_call;

pub(super) use elsewhere::ElsewhereSlots;
pub(super) use left::{LeaveKind, LeftRuns};
pub(super) use loads::LoadReport;
pub(super) use roll_call::RollCalls;
