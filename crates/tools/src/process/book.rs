//! The book of processes: which attempts have started something that a dead executor could not end.
//!
//! Invariant: a record is in its file before its process exists and until the attempt is over. It need not survive
//! a power loss, because no process does, so nothing is synced. A first line says what was about to start, a second
//! one as what it runs; a torn second line is none.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ordo_engine::tool::Work;
use ordo_model::{FencingToken, RunId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::cgroup;
use super::proc::{self, AttemptMark, ProcessIdentity};

#[derive(Debug, Clone)]
pub struct ProcessBook {
    folder: Arc<Path>,
    generation: Uuid,
    owner: Option<ProcessIdentity>,
    boot: Option<Arc<str>>,
}

/// One attempt that has, or is about to have, a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessRecord {
    pub(crate) run_id: RunId,
    pub(crate) attempt: u32,
    pub(crate) token: FencingToken,
    /// The executor's generation that started it, and the process that lived it.
    pub(crate) generation: Uuid,
    pub(crate) owner: Option<ProcessIdentity>,
    pub(crate) boot: Option<String>,
    /// Whether the leader is a supervisor of ours, which ends what is below it when its executor is gone.
    #[serde(default)]
    pub(crate) supervised: bool,
    /// What was made for the attempt and goes with it.
    #[serde(default, flatten)]
    pub(crate) belongings: Belongings,
    /// Leader of the process group; absent between the intent and the start.
    #[serde(skip)]
    pub(crate) leader: Option<ProcessIdentity>,
}

/// What an attempt has besides processes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Belongings {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cgroup: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) private_tmp: Option<PathBuf>,
}

/// How the folders of private `/tmp`s begin.
pub(crate) const PRIVATE_TMP_PREFIX: &str = "ordo-tmp-";

impl Belongings {
    /// Removes what is empty of processes. What is not there is removed.
    pub(crate) fn remove(&self) -> io::Result<()> {
        if let Some(cgroup) = &self.cgroup {
            cgroup::remove(cgroup)?;
        }
        let tmp = self.private_tmp.as_ref().filter(|tmp| is_private_tmp(tmp));
        match tmp.map(std::fs::remove_dir_all) {
            Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Some(_) | None => Ok(()),
        }
    }

    pub(crate) fn kill(&self) {
        if let Some(Err(error)) =
            self.cgroup.as_ref().filter(|cgroup| cgroup.exists()).map(|cgroup| cgroup::kill(cgroup))
        {
            tracing::warn!(cgroup = ?self.cgroup, %error, "cannot kill what is in the cgroup of an attempt");
        }
    }
}

/// A record that was damaged must not make us remove anything else.
fn is_private_tmp(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(PRIVATE_TMP_PREFIX))
}

/// The record of an attempt under way.
#[derive(Debug)]
pub(crate) struct OpenRecord {
    path: PathBuf,
    file: File,
    record: ProcessRecord,
}

impl ProcessBook {
    /// Opens the book of one generation of an executor, making its folder. Other generations may share the folder.
    pub fn open(folder: impl Into<PathBuf>, generation: Uuid) -> io::Result<ProcessBook> {
        let folder = folder.into();
        std::fs::create_dir_all(&folder)?;
        let owner = proc::myself().map(|me| me.id);
        Ok(ProcessBook { folder: folder.into(), generation, owner, boot: proc::boot().map(Into::into) })
    }

    pub(crate) fn generation(&self) -> Uuid {
        self.generation
    }

    /// Writes down that a process is about to be started.
    pub(crate) fn intend(&self, work: &Work, belongings: Belongings) -> io::Result<OpenRecord> {
        let record = ProcessRecord {
            run_id: work.run_id,
            attempt: work.attempt,
            token: work.token,
            generation: self.generation,
            owner: self.owner,
            boot: self.boot.as_deref().map(str::to_owned),
            supervised: true,
            belongings,
            leader: None,
        };
        let path = self.folder.join(format!("{}-{}", work.run_id, work.attempt));
        let mut entry = OpenRecord { file: File::create(&path)?, path, record };
        entry.file.write_all(&line(&entry.record)?)?;
        Ok(entry)
    }

    /// Every record in the folder with its file. What is no record is left alone.
    pub(crate) fn records(&self) -> io::Result<Vec<(PathBuf, ProcessRecord)>> {
        let mut records = Vec::new();
        for file in std::fs::read_dir(&self.folder)? {
            let path = file?.path();
            let text = match std::fs::read_to_string(&path) {
                // Its executor died before it wrote what was about to start, so nothing was.
                Ok(text) if text.is_empty() => {
                    std::fs::remove_file(&path)?;
                    continue;
                }
                read => read,
            };
            match text.and_then(|text| ProcessRecord::read(&text)) {
                Ok(record) => records.push((path, record)),
                Err(error) => tracing::warn!(path = %path.display(), %error, "not a record of a process: left alone"),
            }
        }
        Ok(records)
    }
}

fn line(content: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(content)?;
    line.push(b'\n');
    Ok(line)
}

impl ProcessRecord {
    pub(crate) fn mark(&self) -> AttemptMark {
        AttemptMark::of(self.run_id, self.token)
    }

    fn read(text: &str) -> io::Result<ProcessRecord> {
        let (intent, leader) = text.split_once('\n').unwrap_or((text, ""));
        let record: ProcessRecord = serde_json::from_str(intent)?;
        Ok(ProcessRecord { leader: serde_json::from_str(leader).ok(), ..record })
    }
}

impl OpenRecord {
    pub(crate) fn record(&self) -> &ProcessRecord {
        &self.record
    }

    /// Adds the process group, now that there is one. Its leader must not have been reaped yet.
    pub(crate) fn started(&mut self, pid: i32) -> io::Result<()> {
        self.record.leader = proc::see(pid).map(|seen| seen.id);
        match self.record.leader {
            Some(leader) => self.file.write_all(&line(&leader)?),
            None => Ok(()),
        }
    }

    /// The attempt is over: nothing of it is left to be found.
    pub(crate) fn close(self) {
        if let Err(error) = self.record.belongings.remove() {
            tracing::warn!(belongings = ?self.record.belongings, %error, "cannot remove what an attempt had");
        }
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "cannot remove the record of an attempt that is over");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_made_for_an_attempt_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (ours, other) = (folder.path().join("ordo-tmp-1"), folder.path().join("home"));
        for (path, is_left) in [(&ours, false), (&other, true)] {
            std::fs::create_dir_all(path.join("deep")).unwrap();
            Belongings { cgroup: None, private_tmp: Some(path.clone()) }.remove().unwrap();
            assert_eq!(path.exists(), is_left, "{path:?}");
        }
        Belongings { cgroup: Some(folder.path().join("gone")), private_tmp: Some(ours) }.remove().unwrap();
    }

    #[test]
    fn a_record_reads_back_with_a_whole_a_torn_and_no_second_line() {
        let leader = Some(ProcessIdentity { pid: 5, started_ticks: 7 });
        let intent = ProcessRecord {
            run_id: RunId(Uuid::from_u128(1)),
            attempt: 2,
            token: FencingToken(3),
            generation: Uuid::from_u128(4),
            owner: None,
            boot: Some("b".to_owned()),
            supervised: true,
            belongings: Belongings { cgroup: Some("/c/ordo-1".into()), private_tmp: None },
            leader: None,
        };
        let first = String::from_utf8(line(&intent).unwrap()).unwrap();
        let second = String::from_utf8(line(&leader).unwrap()).unwrap();
        assert_eq!(ProcessRecord::read(&first).unwrap(), intent);
        for end in 0..second.len() - 2 {
            assert_eq!(ProcessRecord::read(&format!("{first}{}", &second[..end])).unwrap(), intent);
        }
        assert_eq!(ProcessRecord::read(&format!("{first}{second}")).unwrap(), ProcessRecord { leader, ..intent });
        let former = r#"{"run_id":"00000000-0000-0000-0000-000000000001","attempt":2,"token":3,"generation":"00000000-0000-0000-0000-000000000004","owner":null,"boot":"b"}"#;
        let former = ProcessRecord::read(former).unwrap();
        assert_eq!((former.supervised, former.belongings), (false, Belongings::default()), "of a former version");
        assert!(ProcessRecord::read("").is_err() && ProcessRecord::read("notes").is_err());
    }
}
