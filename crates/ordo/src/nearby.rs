//! What is found by looking around: the daemon of this folder or of one above, its socket and its token.
//!
//! Invariant: a socket that belongs neither to the caller nor to root is not used unless somebody names it: anybody may
//! put one into a folder above. A daemon's token is for this daemon alone: for the address it listens at while it lives.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use reqwest::Url;
use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::folder::{SOCKET, StateFolder, TOKEN, shown};

const ROOT: u32 = 0;

/// The address of the daemon nearby, and the token it takes.
#[derive(Debug)]
pub(crate) struct OwnDaemon {
    pub(crate) url: String,
    pub(crate) token: Zeroizing<String>,
}

/// The nearest socket of a daemon.
pub(crate) fn socket() -> Result<Option<PathBuf>> {
    let Some(folder) = StateFolder::nearest_with(SOCKET) else { return Ok(None) };
    let caller = rustix::process::geteuid().as_raw();
    match stranger(&folder, SOCKET, caller) {
        Ok(None) => Ok(Some(folder.socket())),
        Ok(Some((path, owner))) => Err(refusal(&folder, &path, owner)),
        Err(error) => Err(Error::failed(format!("cannot use {}", shown(&folder.socket()))).detail(error.to_string())),
    }
}

/// The daemon nearby, if this address is its own and it is alive.
pub(crate) fn daemon_at(url: &str) -> Option<OwnDaemon> {
    let folder = StateFolder::nearest_with(TOKEN)?;
    let caller = rustix::process::geteuid().as_raw();
    let is_trusted = |file: &str| matches!(stranger(&folder, file, caller), Ok(None));
    if !is_trusted(TOKEN) || !is_trusted(SOCKET) {
        return None;
    }
    let url = pinned(url, folder.read_address()?)?;
    // A daemon that died left its address behind, and whoever listens there now is somebody else.
    UnixStream::connect(folder.socket()).ok()?;
    Some(OwnDaemon { url, token: Zeroizing::new(folder.read_token()?) })
}

/// What of the folder and of this file in it belongs to somebody else, and to whom. Links count like what they lead to.
fn stranger(folder: &StateFolder, file: &str, caller: u32) -> io::Result<Option<(PathBuf, u32)>> {
    for path in [folder.path().to_owned(), folder.path().join(file)] {
        for owner in [fs::symlink_metadata(&path)?.uid(), fs::metadata(&path)?.uid()] {
            if !is_trusted(owner, caller) {
                return Ok(Some((path, owner)));
            }
        }
    }
    Ok(None)
}

fn is_trusted(owner: u32, caller: u32) -> bool {
    owner == caller || owner == ROOT
}

fn refusal(folder: &StateFolder, path: &Path, owner: u32) -> Error {
    // People see where it is, not the way there.
    let whole = |path: &Path| fs::canonicalize(path).map_or_else(|_| shown(path), |path| path.display().to_string());
    Error::failed("the daemon's socket nearby is not used")
        .detail(format!("{} belongs to user {owner}, neither to you nor to root", whole(path)))
        .hint(format!("name the server you mean; this one, if you trust it: --server unix:{}", whole(&folder.socket())))
}

/// The same address by the IP that the daemon listens at, if it leads there. `localhost` may have another address too,
/// and somebody else may listen at that.
fn pinned(url: &str, listen: SocketAddr) -> Option<String> {
    let mut url: Url = url.trim().parse().ok()?;
    if url.scheme() != "http" || url.port_or_known_default() != Some(listen.port()) {
        return None;
    }
    let loopback = if listen.is_ipv4() { IpAddr::from([127, 0, 0, 1]) } else { IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]) };
    let host = url.host_str()?.trim_matches(['[', ']']);
    let reached = match host.parse::<IpAddr>() {
        Ok(ip) => ip,
        Err(_) if host == "localhost" && listen.ip().is_loopback() => listen.ip(),
        Err(_) if host == "localhost" => loopback,
        Err(_) => return None,
    };
    let is_every = listen.ip().is_unspecified() && reached.is_loopback() && reached.is_ipv4() == listen.is_ipv4();
    if reached != listen.ip() && !is_every {
        return None;
    }
    url.set_ip_host(reached).ok()?;
    Some(url.to_string().trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_caller_and_root_are_trusted() {
        assert!(is_trusted(1000, 1000) && is_trusted(0, 1000) && is_trusted(0, 0));
        assert!(!is_trusted(1001, 1000) && !is_trusted(1000, 0));
    }

    #[test]
    fn a_folder_or_a_file_of_somebody_else_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let folder = StateFolder::at(dir.path().join(".ordo"));
        folder.make().unwrap();
        fs::write(folder.path().join(SOCKET), "").unwrap();
        let us = fs::metadata(folder.path()).unwrap().uid();
        assert_eq!(stranger(&folder, SOCKET, us).unwrap(), None);
        if us != ROOT {
            assert_eq!(stranger(&folder, SOCKET, us + 1).unwrap(), Some((folder.path().to_owned(), us)));
            return;
        }
        // Who is root can give things away.
        let give = |path: PathBuf| std::os::unix::fs::lchown(path, Some(4711), None).unwrap();
        give(folder.path().join(SOCKET));
        assert_eq!(stranger(&folder, SOCKET, us).unwrap(), Some((folder.path().join(SOCKET), 4711)));
        assert_eq!(stranger(&folder, SOCKET, 4711).unwrap(), None);
        // A link of somebody else to what is ours.
        std::os::unix::fs::symlink(folder.path(), dir.path().join("link")).unwrap();
        give(dir.path().join("link"));
        let link = StateFolder::at(dir.path().join("link"));
        assert_eq!(stranger(&link, ".gitignore", us).unwrap(), Some((link.path().to_owned(), 4711)));
    }

    #[test]
    fn an_address_leads_to_the_daemon_or_elsewhere() {
        let pinned = |url: &str, listen: &str| pinned(url, listen.parse().unwrap());
        let is = |url: &str| Some(url.to_owned());
        assert_eq!(pinned("http://127.0.0.1:7070", "127.0.0.1:7070"), is("http://127.0.0.1:7070"));
        assert_eq!(pinned("http://localhost:7070/ordo", "127.0.0.1:7070"), is("http://127.0.0.1:7070/ordo"));
        assert_eq!(pinned("http://localhost:7070", "[::1]:7070"), is("http://[::1]:7070"));
        assert_eq!(pinned("http://localhost:7070", "0.0.0.0:7070"), is("http://127.0.0.1:7070"));
        assert_eq!(pinned("http://10.0.0.5:7070", "10.0.0.5:7070"), is("http://10.0.0.5:7070"));
        for (elsewhere, listen) in [
            ("http://127.0.0.1:7071", "127.0.0.1:7070"),
            ("https://127.0.0.1:7070", "127.0.0.1:7070"),
            ("http://[::1]:7070", "0.0.0.0:7070"),
            ("http://[::1]:7070", "127.0.0.1:7070"),
            ("http://127.0.0.2:7070", "127.0.0.1:7070"),
            ("http://10.0.0.5:7070", "0.0.0.0:7070"),
            ("http://localhost.evil:7070", "127.0.0.1:7070"),
            ("http://127.0.0.1:7070@evil:80", "127.0.0.1:7070"),
            ("http://localhost:7070", "10.0.0.5:7070"),
            ("nonsense", "127.0.0.1:7070"),
        ] {
            assert_eq!(pinned(elsewhere, listen), None, "{elsewhere}");
        }
    }
}
