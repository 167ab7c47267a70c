//! What can happen next in a world.

use ordo_engine::core::Input;
use ordo_engine::dispatch::Find;
use ordo_engine::timekeeper::Look;
use ordo_model::{JobId, RunId};

use crate::executor::Ended;
use crate::misfortune::Misfortune;

/// What the world does next, at its time. Those with a life are void once that life is over.
#[derive(Debug)]
pub(crate) enum Happening {
    Timer {
        life: u32,
        generation: u64,
    },
    Input {
        life: u32,
        input: Box<Input>,
    },
    Look {
        life: u32,
        look: Look,
    },
    FindWaiting {
        life: u32,
        find: Find,
    },
    Attend {
        life: u32,
        job: JobId,
    },
    TakeOff {
        life: u32,
    },
    Commit {
        life: u32,
    },
    Land {
        life: u32,
    },
    AttemptEnds {
        life: u32,
        run: RunId,
        token: u64,
        ended: Ended,
    },
    Keeper {
        life: u32,
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
    pub(crate) fn life(&self) -> Option<u32> {
        match self {
            Happening::Timer { life, .. }
            | Happening::Input { life, .. }
            | Happening::Look { life, .. }
            | Happening::FindWaiting { life, .. }
            | Happening::Attend { life, .. }
            | Happening::TakeOff { life }
            | Happening::Commit { life }
            | Happening::Land { life }
            | Happening::AttemptEnds { life, .. }
            | Happening::Keeper { life } => Some(*life),
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
