//! `.ordo/`: where a daemon keeps its state, below the folder it was started in.
//!
//! Invariant: what is in it is for its owner only, and never ends up in a repository by accident.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::private_file;

pub(crate) const NAME: &str = ".ordo";
pub(crate) const SOCKET: &str = "orchestrator.sock";
pub(crate) const DATABASE: &str = "orchestrator.db";
pub(crate) const TOKEN: &str = "token";
/// Where the daemon of this folder listens for HTTP; of a daemon that died, where it did.
const ADDRESS: &str = "address";
const PROCESSES: &str = "processes";
/// How often, and after which pauses, a lock is asked for again that a killed daemon left behind.
const LEFT_BEHIND: u32 = 100;
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The state folder of one daemon.
#[derive(Debug, Clone)]
pub(crate) struct StateFolder {
    path: PathBuf,
}

impl StateFolder {
    /// Of the current folder. Relative on purpose: the path of a socket must be short.
    pub(crate) fn here() -> StateFolder {
        StateFolder { path: PathBuf::from(NAME) }
    }

    pub(crate) fn at(path: impl Into<PathBuf>) -> StateFolder {
        StateFolder { path: path.into() }
    }

    /// The nearest one, here or in a parent folder, that has this file.
    pub(crate) fn nearest_with(file: &str) -> Option<StateFolder> {
        let depth = std::env::current_dir().map_or(1, |here| here.ancestors().count());
        let up = |steps: usize| std::iter::repeat_n("..", steps).collect::<PathBuf>().join(NAME);
        (0..depth).map(|steps| StateFolder::at(up(steps))).find(|folder| folder.path.join(file).exists())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path.join(SOCKET)
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }

    pub(crate) fn processes(&self) -> PathBuf {
        self.path.join(PROCESSES)
    }

    /// Of a remote executor of this name that was started here.
    pub(crate) fn processes_of(&self, executor: &str) -> PathBuf {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '_' };
        self.path.join(format!("{PROCESSES}-{}", executor.chars().map(plain).collect::<String>()))
    }

    /// Where a copy lies while it is checked.
    pub(crate) fn checking(&self) -> PathBuf {
        self.path.join("checking.db")
    }

    /// Makes the folder on first use.
    pub(crate) fn make(&self) -> Result<()> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.path);
        let made = made.and_then(|()| self.close_to_others()).and_then(|()| self.hide_from_git());
        made.map_err(|error| self.unusable(&error))
    }

    /// A folder that others can look into was made by hand, or by a careless copy.
    fn close_to_others(&self) -> io::Result<()> {
        let mode = fs::metadata(&self.path)?.permissions().mode() & 0o777;
        if mode & 0o077 == 0 {
            return Ok(());
        }
        fs::set_permissions(&self.path, fs::Permissions::from_mode(mode & 0o700))?;
        tracing::warn!(folder = %shown(&self.path), "others could look into it: it is for its owner only now");
        Ok(())
    }

    fn hide_from_git(&self) -> io::Result<()> {
        hide_from_git(&self.path)
    }

    /// Held by one daemon as long as it lives: socket and process records belong to it alone.
    pub(crate) fn take(&self) -> Result<File> {
        let path = self.path.join(format!("{SOCKET}.lock"));
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = file.map_err(|error| self.unusable(&error))?;
        match self.lock(&file) {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(Error::failed("another daemon is running in this folder")
                .detail(format!("it listens at {}", shown(&self.socket())))
                .hint("stop it first, or start this one in another folder")),
            Err(TryLockError::Error(error)) => Err(self.unusable(&error)),
        }
    }

    /// A daemon that was killed leaves its lock, for a moment, to a tool that it was just starting: where nobody answers
    /// at the socket, it is waited for.
    #[expect(clippy::disallowed_methods, reason = "the end of another process's lock is no event here")]
    fn lock(&self, file: &File) -> std::result::Result<(), TryLockError> {
        for _ in 0..LEFT_BEHIND {
            match file.try_lock() {
                Err(TryLockError::WouldBlock) if UnixStream::connect(self.socket()).is_err() => {
                    std::thread::sleep(LOOK_EVERY);
                }
                locked => return locked,
            }
        }
        file.try_lock()
    }

    /// Keeps the token that clients of this folder send.
    pub(crate) fn write_token(&self, token: &str) -> Result<()> {
        private_file::replace(&self.path.join(TOKEN), token).map_err(|error| self.unusable(&error))
    }

    pub(crate) fn read_token(&self) -> Option<String> {
        let token = fs::read_to_string(self.path.join(TOKEN)).ok()?;
        Some(token.trim().to_owned()).filter(|token| !token.is_empty())
    }

    /// Says where the daemon listens, for those who send its token there.
    pub(crate) fn write_address(&self, address: SocketAddr) -> Result<()> {
        private_file::replace(&self.path.join(ADDRESS), &address.to_string()).map_err(|error| self.unusable(&error))
    }

    /// Nobody listens on the socket of the former daemon.
    pub(crate) fn forget_address(&self) -> Result<()> {
        match fs::remove_file(self.path.join(ADDRESS)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(self.unusable(&error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    pub(crate) fn read_address(&self) -> Option<SocketAddr> {
        fs::read_to_string(self.path.join(ADDRESS)).ok()?.trim().parse().ok()
    }

    fn unusable(&self, error: &io::Error) -> Error {
        let advice = match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                "Ordo keeps its state in .ordo below the current folder: start it in a folder you may write"
            }
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space on the disk",
            ErrorKind::AlreadyExists | ErrorKind::NotADirectory => "something else is called .ordo here: move it away",
            _ => "see whether the folder can be written",
        };
        Error::failed(format!("cannot use {}", shown(&self.path))).detail(error.to_string()).hint(advice)
    }
}

fn hide_from_git(folder: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).open(folder.join(".gitignore")) {
        Ok(mut file) => file.write_all(b"*\n"),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// The folder of a store that was named: made with all that is in its way, for its owner only, and out of every
/// repository. One that is there already is somebody's, and left as it is.
pub(crate) fn make_for(store: &Path) -> Result<()> {
    let Some(folder) = store.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) else {
        return Ok(());
    };
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.and_then(|()| hide_from_git(folder)).map_err(|error| StateFolder::at(folder).unusable(&error))
}

/// A path as a person would want to see it.
pub(crate) fn shown(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_kept_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let folder = StateFolder::at(dir.path().join(NAME));
        folder.make().unwrap();
        assert_eq!(folder.read_token(), None);
        folder.write_token("first").unwrap();
        folder.write_token("second").unwrap();
        assert_eq!(folder.read_token().as_deref(), Some("second"));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder.path.join(TOKEN)), 0o600);
        assert_eq!(mode(&folder.path), 0o700);
        assert_eq!(fs::read_to_string(folder.path.join(".gitignore")).unwrap(), "*\n");
    }

    #[test]
    fn the_address_of_a_daemon_is_known_until_it_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let folder = StateFolder::at(dir.path());
        folder.forget_address().unwrap();
        let address: SocketAddr = "127.0.0.1:7070".parse().unwrap();
        folder.write_address(address).unwrap();
        assert_eq!(folder.read_address(), Some(address));
        folder.forget_address().unwrap();
        assert_eq!(folder.read_address(), None);
    }

    #[test]
    fn a_folder_that_others_can_look_into_is_closed() {
        let dir = tempfile::tempdir().unwrap();
        let folder = StateFolder::at(dir.path().join(NAME));
        fs::create_dir(folder.path()).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        folder.make().unwrap();
        assert_eq!(fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn the_folder_of_a_named_store_is_made_and_hidden_from_git_and_one_that_is_there_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        make_for(&dir.path().join("a/b/orders.db")).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("a/b/.gitignore")).unwrap(), "*\n");
        assert_eq!(fs::metadata(dir.path().join("a/b")).unwrap().permissions().mode() & 0o777, 0o700);
        make_for(&dir.path().join("a/orders.db")).unwrap();
        assert!(!dir.path().join("a/.gitignore").exists());
        make_for(Path::new("orders.db")).unwrap();
    }

    #[test]
    fn one_daemon_has_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let folder = StateFolder::at(dir.path());
        let held = folder.take().unwrap();
        assert!(folder.take().is_err());
        drop(held);
        assert!(folder.take().is_ok());
    }
}
