//! The key file: what secrets and sessions are sealed with.
//!
//! Invariant: it is made once, when it is first needed, for its owner only; it is never written again. Each line is a
//! key: the first seals, all of them open, so that a new key can be put before the old one.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use ordo_engine::secrets::{KeyFault, Keyring, SealingKey};

use crate::folder::shown;
use crate::private_file;

/// Rights of others on the file: none may be there.
const OTHERS: u32 = 0o007;

#[derive(Debug)]
pub(crate) struct KeyFile {
    path: PathBuf,
}

impl KeyFile {
    pub(crate) fn at(path: impl Into<PathBuf>) -> KeyFile {
        KeyFile { path: path.into() }
    }

    fn fault(&self, why: impl std::fmt::Display) -> KeyFault {
        KeyFault(format!("the key file {} cannot be used: {why}", shown(&self.path)))
    }

    fn check_rights(&self) -> Result<(), KeyFault> {
        let mode = fs::metadata(&self.path).map_err(|error| self.fault(error))?.permissions().mode();
        if mode & OTHERS == 0 {
            return Ok(());
        }
        Err(self.fault(format!("others may use it (mode {:03o}): chmod 600 it", mode & 0o777)))
    }

    fn read(&self, text: &str) -> Result<Vec<SealingKey>, KeyFault> {
        let lines = text.lines().map(str::trim).enumerate();
        let written = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let wrong = |number: usize| self.fault(format!("line {} is not a key of 64 hexadecimal digits", number + 1));
        let keys = written.map(|(number, line)| SealingKey::from_hex(line).ok_or_else(|| wrong(number)));
        let keys = keys.collect::<Result<Vec<SealingKey>, KeyFault>>()?;
        if keys.is_empty() { Err(self.fault("it holds no key")) } else { Ok(keys) }
    }
}

impl Keyring for KeyFile {
    fn keys(&self) -> Result<Vec<SealingKey>, KeyFault> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => zeroize::Zeroizing::new(text),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.fault(error)),
        };
        self.check_rights()?;
        self.read(&text)
    }

    fn make(&self) -> Result<Vec<SealingKey>, KeyFault> {
        let key = SealingKey::new().map_err(|error| self.fault(error))?;
        private_file::create(&self.path, &key.to_hex()).map_err(|error| self.fault(error))?;
        tracing::info!(file = %shown(&self.path), key = %key.mark(), "made a key for secrets: keep a copy of it apart from the store");
        self.keys()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let file = KeyFile::at(dir.path().join("secret.key"));
        assert!(file.keys().unwrap().is_empty());
        let mark = file.make().unwrap()[0].mark();
        assert_eq!(file.make().unwrap()[0].mark(), mark, "whoever comes second takes what is there");
        assert_eq!(fs::metadata(&file.path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing lies beside it");
    }

    #[test]
    fn the_first_line_seals_and_nonsense_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = KeyFile::at(dir.path().join("k"));
        let (old, new) = (SealingKey::of([1; 32]), SealingKey::of([2; 32]));
        private_file::replace(&file.path, &format!("# rotated\n{}\n\n{}", new.to_hex(), old.to_hex())).unwrap();
        let marks: Vec<_> = file.keys().unwrap().iter().map(SealingKey::mark).collect();
        assert_eq!(marks, [new.mark(), old.mark()]);
        for (text, said) in [("", "no key"), ("abc", "line 1 "), ("# x\nzz", "line 2 ")] {
            private_file::replace(&file.path, text).unwrap();
            assert!(file.keys().unwrap_err().to_string().contains(said), "{text}");
        }
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = KeyFile::at(dir.path().join("k"));
        file.make().unwrap();
        fs::set_permissions(&file.path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(file.keys().unwrap_err().to_string().contains("chmod 600"));
    }
}
