//! redb's errors in Ordo's words.
//!
//! Invariant: whoever reads a fault learns what to do. A full disk, a failing disk and a damaged file are three things.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use ordo_store::Fault;

/// Why the store could not do its work just now.
#[derive(Debug, thiserror::Error)]
enum FaultCause {
    #[error("no space is left on the disk: free some; Ordo goes on by itself")]
    Full(#[source] io::Error),
    #[error("the disk failed: see the kernel's log; Ordo opens the store anew at the next try")]
    Disk(#[source] io::Error),
    #[error("the disk failed a moment ago; the store is opened anew at the next try")]
    Latched,
    #[error("the store was just opened anew after a failure: try again")]
    Closed,
    #[error("redb")]
    Other(#[source] redb::Error),
}

#[derive(Debug, thiserror::Error)]
#[error("{path}: {advice}", path = path.display())]
struct CannotOpen {
    path: PathBuf,
    advice: &'static str,
    source: io::Error,
}

/// For `map_err`: says what was being done.
pub(crate) fn during<E: Into<redb::Error>>(doing: &'static str) -> impl FnOnce(E) -> Fault {
    move |error| fault(doing, error.into())
}

#[cold]
fn fault(doing: &'static str, error: redb::Error) -> Fault {
    use redb::Error as E;
    let cause = match error {
        E::Io(error) if is_full(&error) => FaultCause::Full(error),
        E::Io(error) => FaultCause::Disk(error),
        E::PreviousIo => FaultCause::Latched,
        E::DatabaseClosed => FaultCause::Closed,
        E::TransactionInProgress => {
            return Fault::Held { what: format!("others still read the store while {doing}: try again without them") };
        }
        E::Corrupted(what) => {
            return Fault::damaged(format!("{FILE_DAMAGED}, found while {doing} ({what}): restore a backup"));
        }
        E::TableTypeMismatch { .. } | E::TypeDefinitionChanged { .. } | E::TableDoesNotExist(_) => {
            return Fault::damaged(format!("while {doing}: {error}"));
        }
        other => FaultCause::Other(other),
    };
    Fault::unavailable(doing, cause)
}

/// How the damage of a whole file is written, and known from that of one entity.
pub(crate) const FILE_DAMAGED: &str = "the file contradicts itself";

pub(crate) fn file_damage(fault: &Fault) -> Option<&str> {
    match fault {
        Fault::Damaged { what } if what.starts_with(FILE_DAMAGED) => Some(what),
        Fault::Damaged { .. }
        | Fault::Unavailable { .. }
        | Fault::Held { .. }
        | Fault::NotAPosition { .. }
        | Fault::Misuse { .. } => None,
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

/// What a failed opening of `path` means.
pub(crate) fn cannot_open(path: &Path, error: redb::DatabaseError) -> Fault {
    match redb::Error::from(error) {
        redb::Error::Io(error) => cannot_open_file(path, error),
        redb::Error::DatabaseAlreadyOpen => Fault::Held {
            what: format!("{} is open in another program: close it first, or name another store", path.display()),
        },
        redb::Error::UpgradeRequired(version) => {
            Fault::damaged(format!("{} is in redb's old file format {version}, which Ordo never wrote", path.display()))
        }
        redb::Error::Corrupted(what) => Fault::damaged(format!(
            "{} cannot be read ({what}): restore a backup, or name another store",
            path.display()
        )),
        other => fault("opening the store", other),
    }
}

pub(crate) fn cannot_open_file(path: &Path, error: io::Error) -> Fault {
    let advice = match error.kind() {
        ErrorKind::InvalidData | ErrorKind::UnexpectedEof => {
            return Fault::damaged(format!(
                "{} is not an Ordo store ({error}): name another file, or restore a backup",
                path.display()
            ));
        }
        ErrorKind::NotFound => "its folder does not exist: make it, or name another place",
        ErrorKind::PermissionDenied => "this user may not write it: change its owner or rights, and its folder's",
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only: mount it for writing, or name another place",
        ErrorKind::IsADirectory => "this is a folder: name a file in it",
        ErrorKind::NotADirectory => "what should be its folder is a file: name another place",
        _ if is_full(&error) => "no space is left on the disk: free some",
        _ => "it cannot be opened",
    };
    Fault::unavailable("opening the store", CannotOpen { path: path.to_owned(), advice, source: error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error;

    fn cause(fault: &Fault) -> String {
        fault.source().map(ToString::to_string).unwrap_or_default()
    }

    #[test]
    fn a_full_disk_says_that_it_is_full_and_what_to_do() {
        let full = || io::Error::from(ErrorKind::StorageFull);
        assert!(cause(&during("committing")(redb::Error::Io(full()))).contains("free some"));
        assert!(cause(&cannot_open_file(Path::new("/x"), full())).contains("free some"));
    }

    #[test]
    fn each_way_a_file_cannot_be_opened_has_its_advice() {
        for (kind, word) in [
            (ErrorKind::NotFound, "folder does not exist"),
            (ErrorKind::PermissionDenied, "rights"),
            (ErrorKind::ReadOnlyFilesystem, "read-only"),
            (ErrorKind::IsADirectory, "name a file"),
        ] {
            let said = cause(&cannot_open_file(Path::new("/x/ordo.redb"), kind.into()));
            assert!(said.contains(word) && said.contains("/x/ordo.redb"), "{said}");
        }
    }

    #[test]
    fn a_damaged_file_is_not_called_unavailable() {
        let fault = during("committing")(redb::Error::Corrupted("a page".into()));
        assert!(matches!(fault, Fault::Damaged { .. }));
    }
}
