//! A cgroup (v2) for each attempt, where this process may make one: whoever is in it is ended at once, whatever session,
//! group, environment or user he has moved to.
//!
//! Invariant: only cgroups that were made here, for an attempt, are killed and removed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Where cgroups for attempts are made: the one this process is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CgroupHome(PathBuf);

impl CgroupHome {
    /// Ours, if cgroups can be made in it and commands be put into them: we are root, or it was delegated to us.
    pub(crate) fn find() -> Option<CgroupHome> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let membership = fs::read_to_string("/proc/self/cgroup").ok()?;
        let home = home_of(&mounts, &membership)?;
        let trial = home.join(format!("ordo-trial-{}", std::process::id()));
        fs::create_dir(&trial).ok()?;
        let is_usable = [home.join(PROCS), trial.join(PROCS), trial.join(KILL)]
            .iter()
            .all(|file| access(file, Access::WRITE_OK).is_ok());
        fs::remove_dir(&trial).ok()?;
        is_usable.then_some(CgroupHome(home))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn of_attempt(&self, name: &str) -> PathBuf {
        self.0.join(format!("{PREFIX}{name}"))
    }
}

const PREFIX: &str = "ordo-";
const PROCS: &str = "cgroup.procs";
/// Since Linux 5.14.
const KILL: &str = "cgroup.kill";

/// Puts this process in.
pub(crate) fn enter(cgroup: &Path) -> io::Result<()> {
    fs::write(cgroup.join(PROCS), "0")
}

/// Kills everybody in it.
pub(crate) fn kill(cgroup: &Path) -> io::Result<()> {
    fs::write(cgroup.join(KILL), "1")
}

/// Removes it; it must be empty. One that is not there is removed.
pub(crate) fn remove(cgroup: &Path) -> io::Result<()> {
    match fs::remove_dir(cgroup) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Where the unified hierarchy is mounted, and our place in it (the line `0::/…`).
fn home_of(mounts: &str, membership: &str) -> Option<PathBuf> {
    let place = membership.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mount = mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut fields = before.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        // Another root shows another part of the hierarchy than the one our place is written for.
        (after.starts_with("cgroup2 ") && root == "/").then_some(point)
    })?;
    Some(Path::new(mount).join(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_place_is_found_wherever_the_hierarchy_is_mounted() {
        let line =
            |root: &str, point: &str| format!("30 25 0:26 {root} {point} rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
        let other = "31 25 0:27 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n";
        let home = |mounts: &str, place: &str| home_of(mounts, place);
        assert_eq!(
            home(&line("/", "/sys/fs/cgroup"), "0::/system.slice/ordo.service\n"),
            Some("/sys/fs/cgroup/system.slice/ordo.service".into())
        );
        assert_eq!(
            home(&format!("{other}{}", line("/", "/sys/fs/cgroup/unified")), "4:memory:/a\n0::/\n"),
            Some("/sys/fs/cgroup/unified/".into())
        );
        assert_eq!(home(other, "0::/\n"), None);
        assert_eq!(home(&line("/", "/sys/fs/cgroup"), "4:memory:/a\n"), None);
        assert_eq!(home(&line("/part", "/sys/fs/cgroup"), "0::/x\n"), None);
    }
}
