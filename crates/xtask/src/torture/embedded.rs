//! One daemon on the embedded store: killed, halted, its disk full, its clock set.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::judge::{ClockSpan, FaultSpan};
use crate::lab::clock::{now_ms, pause, rfc3339};
use crate::lab::node::OrdoProcess;
use crate::lab::process::{UnixSignal, done, is_root};
use crate::lab::random::SeededRandom;

pub(super) const NAME: &str = "redb";
const DISK_MIB: usize = 96;
/// Below the folder of the libraries of this architecture.
const FAKETIME: &str = "faketime/libfaketimeMT.so.1";
/// How late the daemon hears of a clock that was set.
const CLOCK_HEARD_MS: i64 = 1_500;

#[derive(Debug)]
pub(super) struct Embedded {
    pub(super) daemon: OrdoProcess,
    chance: SeededRandom,
    disk: Option<DiskImage>,
    /// Says what the daemon's clock shows, where that can be done.
    clock_file: Option<PathBuf>,
    pub(super) faults: Vec<FaultSpan>,
    pub(super) clock: Vec<ClockSpan>,
    pub(super) left_out: Vec<String>,
    began: i64,
    until: i64,
}

impl Embedded {
    pub(super) fn start(binary: &Path, folder: &Path, chance: SeededRandom, until: i64) -> Result<Embedded> {
        let mut left_out = Vec::new();
        let home = folder.join("disk");
        std::fs::create_dir_all(&home)?;
        let disk = match DiskImage::mount(&folder.join("disk.img"), &home) {
            Ok(disk) => Some(disk),
            Err(error) => {
                left_out.push(format!("a full disk ({error:#})"));
                None
            }
        };
        let args = ["serve", "--listen", "127.0.0.1:0", "--tick-rate", "500ms"];
        let mut daemon =
            OrdoProcess::new("daemon", binary, &home.join("daemon"), &args)?.logging_to(&folder.join("daemon.log"));
        let clock_library = clock_library();
        let clock_file = clock_library.is_some().then(|| folder.join("clock"));
        match clock_library.zip(clock_file.as_ref()) {
            Some((library, file)) => {
                set_clock(file, 0)?;
                daemon.set("LD_PRELOAD", &library.display().to_string());
                daemon.set("FAKETIME_TIMESTAMP_FILE", &file.display().to_string());
                daemon.set("FAKETIME_CACHE_DURATION", "1");
                daemon.set("FAKETIME_DONT_FAKE_MONOTONIC", "1");
                daemon.set("DONT_FAKE_MONOTONIC", "1");
            }
            None => left_out.push("a clock that is set while it runs (Debian: faketime)".to_owned()),
        }
        daemon.start()?;
        Ok(Embedded {
            daemon,
            chance,
            disk,
            clock_file,
            faults: Vec::new(),
            clock: Vec::new(),
            left_out,
            began: now_ms(),
            until,
        })
    }

    /// One fault after the other until it is time to heal.
    pub(super) fn torture(&mut self) -> Result<()> {
        while now_ms() < self.until {
            pause(self.chance.between(200, 2_500));
            self.revive()?;
            self.fault()?;
        }
        self.heal()
    }

    fn fault(&mut self) -> Result<()> {
        match self.chance.between(0, 99) {
            0..=49 => self.kill(),
            50..=74 => self.halt(),
            75..=87 if self.disk.is_some() => self.fill_disk(),
            // Late, so that most of it is judged by clocks that agree.
            88..=99 if self.clock_file.is_some() && now_ms() - self.began > (self.until - self.began) / 2 => {
                self.move_clock()
            }
            _ => self.kill(),
        }
    }

    fn kill(&mut self) -> Result<()> {
        let from = now_ms();
        self.daemon.kill();
        // Now and then it is away for so long that occurrences are too late to be run.
        let away = if self.is_long() && self.chance.percent(12) {
            self.chance.between(10_500, 13_000)
        } else {
            self.chance.between(0, 400)
        };
        pause(away);
        self.daemon.start()?;
        self.note("killed", from);
        if self.chance.percent(25) {
            // While it recovers, or shortly after.
            let from = now_ms();
            self.daemon.kill();
            self.daemon.begin()?;
            pause(self.chance.between(5, 150));
            self.daemon.kill();
            self.daemon.start()?;
            self.note("killed twice", from);
        }
        Ok(())
    }

    fn halt(&mut self) -> Result<()> {
        let from = now_ms();
        self.daemon.signal(UnixSignal::Stop)?;
        let is_away = self.is_long() && self.chance.percent(10);
        pause(if is_away { self.chance.between(10_500, 12_500) } else { self.chance.between(300, 4_000) });
        self.daemon.signal(UnixSignal::Continue)?;
        self.note("halted", from);
        Ok(())
    }

    fn fill_disk(&mut self) -> Result<()> {
        let from = now_ms();
        let Some(disk) = &self.disk else { return Ok(()) };
        disk.fill();
        pause(self.chance.between(1_000, 5_000));
        if self.chance.percent(30) {
            self.daemon.kill();
        }
        disk.free()?;
        self.revive()?;
        self.note("disk full", from);
        Ok(())
    }

    /// Whether there is time to be away until occurrences are too late.
    fn is_long(&self) -> bool {
        self.until - self.began > 60_000
    }

    fn move_clock(&mut self) -> Result<()> {
        let ahead_ms = 1_000 * self.chance.one_of(&[-12, -4, -2, 2, 4, 12]);
        let from = now_ms();
        self.set_ahead(ahead_ms)?;
        pause(self.chance.between(3_000, 6_000));
        self.set_ahead(0)?;
        pause(CLOCK_HEARD_MS);
        self.note(&format!("clock {:+} s", ahead_ms / 1_000), from);
        Ok(())
    }

    fn set_ahead(&mut self, ahead_ms: i64) -> Result<()> {
        let Some(file) = &self.clock_file else { return Ok(()) };
        set_clock(file, ahead_ms)?;
        self.clock.push(ClockSpan { from: now_ms(), ahead_ms });
        Ok(())
    }

    /// One that could not go on ends by itself; somebody starts it again.
    fn revive(&mut self) -> Result<()> {
        if self.daemon.is_running() { Ok(()) } else { self.daemon.start() }
    }

    fn heal(&mut self) -> Result<()> {
        self.revive()
    }

    fn note(&mut self, what: &str, from: i64) {
        let to = now_ms();
        println!("  {NAME}: {} {what}, {} ms", rfc3339(from), to - from);
        self.faults.push(FaultSpan { what: what.to_owned(), from, to });
    }
}

fn clock_library() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?;
    folders.filter_map(|folder| Some(folder.ok()?.path().join(FAKETIME))).find(|library| library.is_file())
}

fn set_clock(file: &Path, ahead_ms: i64) -> Result<()> {
    let text = format!("{}{}", if ahead_ms < 0 { "-" } else { "+" }, ahead_ms.abs() / 1_000);
    // Replaced in one step: a daemon that reads it finds the old time or the new one.
    let made = file.with_extension("new");
    std::fs::write(&made, text).context("setting the clock")?;
    std::fs::rename(&made, file).context("setting the clock")
}

/// A file system of its own in a file: it can be full without anybody else noticing.
#[derive(Debug)]
struct DiskImage {
    folder: PathBuf,
}

impl DiskImage {
    fn mount(image: &Path, folder: &Path) -> Result<DiskImage> {
        anyhow::ensure!(is_root(), "needs root");
        std::fs::File::create(image)?.set_len((DISK_MIB as u64) << 20)?;
        done(Command::new("mkfs.ext4").args(["-q", "-F", "-m", "0"]).arg(image))?;
        done(Command::new("mount").args(["-o", "loop"]).arg(image).arg(folder))?;
        Ok(DiskImage { folder: folder.to_path_buf() })
    }

    fn filler(&self) -> PathBuf {
        self.folder.join("filler")
    }

    /// To the last block.
    fn fill(&self) {
        use std::io::Write;
        let Ok(mut file) = std::fs::File::create(self.filler()) else { return };
        for size in [1 << 20, 4_096, 1] {
            while file.write_all(&vec![0; size]).is_ok() {}
        }
    }

    fn free(&self) -> Result<()> {
        std::fs::remove_file(self.filler()).context("freeing the disk")
    }
}

impl Drop for DiskImage {
    fn drop(&mut self) {
        // The daemon lives on it and is dropped before.
        drop(done(Command::new("umount").arg("-l").arg(&self.folder)));
    }
}
