//! What goes wrong: crashes at any effect and any sync, failing disks, jumping clocks, stalls.

use crate::disk::{Burst, Fused};
use crate::happening::Happening;
use crate::rng::SimRng;
use crate::world::{Crash, Simulation};

const SECOND: i64 = 1_000;
const HOUR: i64 = 3_600_000;
const SQUALL_MS: i64 = 4 * SECOND;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Misfortune {
    /// The process dies between two effects.
    DiesAtEffect {
        left: u32,
        power_lost: bool,
    },
    /// The process dies in the middle of a commit.
    DiesAtDisk {
        on: Fused,
        left: u32,
        power_lost: bool,
    },
    /// The disk fails for a while, or says that it failed when it did not.
    DiskFails {
        on: Fused,
        left: u32,
        burst: Burst,
    },
    ClockJumps {
        by: i64,
    },
    Stalls {
        ms: i64,
    },
    /// The disk is slow.
    Slow {
        ms: i64,
    },
    /// Nothing goes wrong, but reads take their time while somebody asks for many things of one job.
    Flurry {
        commands: u32,
    },
    /// The disk is slow and then fails, while somebody asks for many things of one job.
    Squall {
        commands: u32,
        left: u32,
        burst: Burst,
    },
}

impl Misfortune {
    pub(crate) fn draw(rng: &mut SimRng) -> Misfortune {
        let left = rng.skewed(1, 60) as u32 - 1;
        let power_lost = rng.chance(500);
        let on = if rng.chance(600) { Fused::Syncs } else { Fused::Writes };
        match rng.between(0, 17) {
            0..=2 => Misfortune::DiesAtEffect { left, power_lost },
            3..=5 => Misfortune::DiesAtDisk { on, left: left % 20, power_lost },
            6 => Misfortune::DiskFails { on, left: left % 20, burst: Burst::Fails { times: rng.skewed(1, 8) as u32 } },
            7 => {
                let burst = if rng.chance(500) { Burst::DoneButFails } else { Burst::Loses };
                Misfortune::DiskFails { on: Fused::Syncs, left: left % 20, burst }
            }
            8 | 9 => Misfortune::ClockJumps { by: jump(rng) },
            10 => Misfortune::Stalls { ms: rng.skewed(500, 40 * SECOND) },
            11 | 12 => Misfortune::Flurry { commands: rng.between(4, 12) as u32 },
            13 => Misfortune::Slow { ms: rng.skewed(5 * SECOND, 60 * SECOND) },
            _ => {
                let burst = *rng.pick(&[Burst::Cut, Burst::Fails { times: 1 }, Burst::DoneButFails]);
                Misfortune::Squall { commands: rng.between(6, 16) as u32, left: left % 12, burst }
            }
        }
    }
}

/// NTP moves a clock by seconds either way; a suspended machine wakes minutes or hours later.
fn jump(rng: &mut SimRng) -> i64 {
    match rng.between(0, 4) {
        0 => rng.skewed(1, 5 * SECOND),
        1 | 2 => -rng.skewed(1, 5 * SECOND),
        3 => rng.skewed(SECOND, 3 * HOUR),
        _ => -rng.skewed(SECOND, HOUR),
    }
}

impl Simulation {
    pub(crate) fn suffer(&mut self, misfortune: Misfortune) -> Result<(), Crash> {
        if self.calm {
            return Ok(());
        }
        self.note(format_args!("{misfortune:?}"));
        match misfortune {
            Misfortune::DiesAtEffect { left, power_lost } => {
                self.power_lost = power_lost;
                if let Some(node) = &mut self.node {
                    node.crash_in = Some(left);
                }
            }
            Misfortune::DiesAtDisk { on, left, power_lost } => {
                self.power_lost = power_lost;
                self.plug.lay_fuse(on, left, Burst::Cut);
            }
            Misfortune::DiskFails { on, left, burst } => self.plug.lay_fuse(on, left, burst),
            Misfortune::ClockJumps { by } => {
                self.trouble(self.mono);
                self.set_clock(by);
                self.notice_jump();
                self.trouble(self.mono + by.abs().min(1_000) + 1_000);
                if by < 0 {
                    self.flurry(4);
                }
            }
            Misfortune::Stalls { ms } => {
                self.stalled_until = self.stalled_until.max(self.mono + ms);
                self.trouble(self.stalled_until);
            }
            Misfortune::Slow { ms } => self.slow_until = self.mono + ms,
            Misfortune::Flurry { commands } => {
                self.slow_reads_until = self.mono + SQUALL_MS;
                self.flurry(commands);
            }
            Misfortune::Squall { commands, left, burst } => self.squall(commands, left, burst),
        }
        Ok(())
    }

    fn flurry(&mut self, commands: u32) {
        self.focus(self.mono + SQUALL_MS);
        for _ in 0..commands {
            self.soon(SQUALL_MS / 2, Happening::Command);
        }
    }

    fn squall(&mut self, commands: u32, left: u32, burst: Burst) {
        self.slow_until = self.mono + SQUALL_MS;
        self.flurry(commands);
        self.power_lost = self.rng.chance(500);
        self.plug.lay_fuse(Fused::Syncs, left, burst);
    }

    /// Sometimes the next generation dies while it is still recovering.
    pub(crate) fn maybe_crash_again(&mut self) {
        if !self.rng.chance(300) {
            return;
        }
        self.power_lost = self.rng.chance(500);
        let on = if self.rng.chance(500) { Fused::Syncs } else { Fused::Writes };
        let left = self.rng.skewed(1, 12) as u32 - 1;
        self.note(format_args!("the next generation dies after {left} of {on:?}"));
        self.plug.lay_fuse(on, left, Burst::Cut);
    }
}
