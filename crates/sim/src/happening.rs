//! What can happen next in a world.

use ordo_engine::Find;
use ordo_engine::core::Input;
use ordo_engine::timekeeper::AlarmScan;
use ordo_model::{JobId, RunId};

use crate::actors::executor::WorkEnd;
use crate::misfortune::Misfortune;

/// What the world does next, at its time. Those with a generation are void once that generation is over.
#[derive(Debug)]
pub(crate) enum Happening {
    Timer {
        generation: u32,
        timer_epoch: u64,
    },
    Input {
        generation: u32,
        input: Box<Input>,
    },
    AlarmScan {
        generation: u32,
        scan: AlarmScan,
    },
    FindWaiting {
        generation: u32,
        find: Find,
    },
    Reconcile {
        generation: u32,
        job: JobId,
    },
    TakeOff {
        generation: u32,
    },
    Commit {
        generation: u32,
    },
    Land {
        generation: u32,
    },
    AttemptEnds {
        generation: u32,
        run: RunId,
        token: u64,
        ended: WorkEnd,
    },
    Maintenance {
        generation: u32,
    },
    Boot,
    Create {
        again: Option<u32>,
    },
    /// A job so fast that a short stall leaves more behind than one wake may fire.
    Storm,
    Command,
    Misfortune(Misfortune),
    Calm,
    Quiet,
    Watch,
}

impl Happening {
    /// Whose doing it is; None if it happens whoever is alive.
    pub(crate) fn generation(&self) -> Option<u32> {
        match self {
            Happening::Timer { generation, .. }
            | Happening::Input { generation, .. }
            | Happening::AlarmScan { generation, .. }
            | Happening::FindWaiting { generation, .. }
            | Happening::Reconcile { generation, .. }
            | Happening::TakeOff { generation }
            | Happening::Commit { generation }
            | Happening::Land { generation }
            | Happening::AttemptEnds { generation, .. }
            | Happening::Maintenance { generation } => Some(*generation),
            Happening::Boot
            | Happening::Create { .. }
            | Happening::Storm
            | Happening::Command
            | Happening::Misfortune(_)
            | Happening::Calm
            | Happening::Quiet
            | Happening::Watch => None,
        }
    }
}
