//! Who holds a store: a file beside it, locked by the process that has it open, that says who this is.
//!
//! Invariant: the lock is the operating system's, so it ends with the process; what the file says is only a message.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use ordo_model::Timestamp;
use ordo_store::Fault;

use crate::fault::cannot_open_file;
use crate::files::rights;

/// Held as long as the store is open.
#[derive(Debug)]
pub(crate) struct StoreLock {
    _locked: File,
    /// The file, if it was not there before.
    made: Option<PathBuf>,
}

impl StoreLock {
    pub(crate) fn take(store: &Path) -> Result<StoreLock, Fault> {
        let path = lock_path(store);
        let (mut file, made) = open(&path).map_err(|error| cannot_open_file(&path, error))?;
        if !lock(&mut file).map_err(|error| cannot_open_file(&path, error))? {
            return Err(held_by(store, &path, file));
        }
        sign(&mut file).map_err(|error| cannot_open_file(&path, error))?;
        Ok(StoreLock { _locked: file, made: made.then_some(path) })
    }

    /// There is no store to hold: beside somebody else's file nothing of ours stays.
    pub(crate) fn let_go(self) {
        if let Some(path) = self.made {
            // Should it stay, it holds nobody up: the lock ends here.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// A process that was killed while it started a tool leaves its lock to that tool until this becomes another program:
/// a lock whose owner is dead is waited for this long.
const LEFT_BEHIND: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Whether the lock was had. Nobody says when a dead process's lock ends, so it is asked for again for a short while.
#[expect(clippy::disallowed_methods, reason = "another process cannot be awaited, only asked again")]
fn lock(file: &mut File) -> io::Result<bool> {
    let mut waited = Duration::ZERO;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) => {}
        }
        if waited >= LEFT_BEHIND || signed(file).is_none_or(|owner| owner.is_alive() && !owner.is_this_process()) {
            return Ok(false);
        }
        std::thread::sleep(LOOK_EVERY);
        waited += LOOK_EVERY;
    }
}

/// Whoever signed the file.
#[derive(Debug, PartialEq, Eq)]
struct LockHolder {
    process: u32,
    /// When it was started, as the kernel counts: the number of a dead process may be given out again.
    started: Option<u64>,
}

impl LockHolder {
    /// Which may be just letting go of it.
    fn is_this_process(&self) -> bool {
        self.process == std::process::id()
    }

    fn is_alive(&self) -> bool {
        match started(self.process) {
            Some(now) => self.started.is_none_or(|then| then == now),
            None => !cfg!(target_os = "linux"),
        }
    }
}

fn signed(file: &mut File) -> Option<LockHolder> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.read_to_string(&mut text).ok()?;
    let word = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.parse().ok());
    Some(LockHolder { process: u32::try_from(word("process")?).ok()?, started: word("started") })
}

/// When the process was started, in ticks since the machine was. None: it is gone, or only waits to be buried.
fn started(process: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name stands in parentheses and may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    fields.nth(18)?.parse().ok().filter(|_| !matches!(state, "Z" | "X"))
}

/// Who has the file open, by the kernel's word: its number and its name.
fn holder(path: &Path) -> Option<(u32, String)> {
    let path = std::fs::canonicalize(path).ok()?;
    let numbers = std::fs::read_dir("/proc").ok()?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let mut others = numbers.filter(|number: &u32| *number != std::process::id());
    let holds = |number: &u32| {
        let files = std::fs::read_dir(format!("/proc/{number}/fd")).ok();
        let mut targets = files.into_iter().flatten().filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
        targets.any(|target| target == path)
    };
    let found = others.find(holds)?;
    let name = std::fs::read_to_string(format!("/proc/{found}/comm")).unwrap_or_default();
    Some((found, name.trim().to_owned()))
}

/// The file, and whether it was made for this.
fn open(path: &Path) -> io::Result<(File, bool)> {
    let mut options = OpenOptions::new();
    rights::for_owner(options.read(true).write(true));
    match options.create_new(true).open(path) {
        Ok(file) => Ok((file, true)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let file = options.create_new(false).create(true).truncate(false).open(path)?;
            Ok((file, false))
        }
        Err(error) => Err(error),
    }
}

/// `ordo.redb` → `ordo.redb.lock`
pub(crate) fn lock_path(store: &Path) -> PathBuf {
    let mut name = OsString::from(store);
    name.push(".lock");
    PathBuf::from(name)
}

/// The file system's clock says since when: this crate has none.
fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "process {}", std::process::id())?;
    if let Some(started) = started(std::process::id()) {
        writeln!(file, "started {started}")?;
    }
    if let Some(since) = modified(file) {
        writeln!(file, "since {since}")?;
    }
    file.flush()
}

fn modified(file: &File) -> Option<Timestamp> {
    let since_1970 = file.metadata().ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Timestamp::from_ms(i64::try_from(since_1970.as_millis()).ok()?).ok()
}

pub(crate) fn held_by(store: &Path, path: &Path, mut file: File) -> Fault {
    let owner = signed(&mut file);
    let mut text = String::new();
    let known = file.rewind().and_then(|()| file.read_to_string(&mut text)).is_ok() && !text.trim().is_empty();
    let shown = || text.lines().filter(|line| !line.starts_with("started ")).collect::<Vec<_>>().join(" ");
    let who = match (owner, holder(path)) {
        (Some(owner), other) if !owner.is_alive() => {
            let other =
                other.map_or_else(|| "something".to_owned(), |(number, name)| format!("process {number} ({name})"));
            format!("{other}, left behind by process {}, which is gone", owner.process)
        }
        (_, _) if known => shown(),
        (_, Some((number, name))) => format!("process {number} ({name})"),
        (_, None) => "another process".to_owned(),
    };
    let store = store.display();
    Fault::Held { what: format!("{store} is held by {who}: stop it first, or name another store") }
}
