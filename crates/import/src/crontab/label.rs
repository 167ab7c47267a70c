//! A label for each entry: the same at every import, whatever line it stands on and whenever it runs.
//!
//! Invariant: derived from the command and its user alone. A new time for a command is a change of its job; another
//! command is another job.

use std::collections::BTreeMap;

/// Words that only lead to the command that matters.
const PRELUDES: [&str; 12] =
    ["cd", "test", "[", "[[", "command", "export", ".", "source", "set", "umask", "sleep", "if"];
const WRAPPERS: [&str; 9] = ["sudo", "nice", "ionice", "env", "exec", "nohup", "time", "chronic", "then"];
const PROGRAM_MAX: usize = 40;

#[derive(Debug)]
pub(super) struct UniqueLabels<'a> {
    name: &'a str,
    used: BTreeMap<String, u32>,
}

impl UniqueLabels<'_> {
    pub(super) fn new(name: &str) -> UniqueLabels<'_> {
        UniqueLabels { name, used: BTreeMap::new() }
    }

    /// The same command a second time gets a number, by its order in the file.
    pub(super) fn next(&mut self, user: Option<&str>, command: &str) -> String {
        let digest = digest(&[user.unwrap_or_default(), command]);
        let label = format!("{}/{}-{digest:08x}", self.name, program(command));
        let times = self.used.entry(label.clone()).or_default();
        *times += 1;
        if *times == 1 { label } else { format!("{label}-{times}") }
    }
}

/// The name of the program that does the work, for people.
fn program(command: &str) -> String {
    let parts = command.split(['&', ';', '|', '%']).map(str::trim).filter(|part| !part.is_empty());
    let mut named = parts.filter_map(working_word);
    let word = named.next().unwrap_or("job");
    let base = word.rsplit('/').next().unwrap_or(word);
    let plain = |notification: char| notification.is_ascii_alphanumeric() || "._-".contains(notification);
    let name: String = base.chars().filter(|notification| plain(*notification)).take(PROGRAM_MAX).collect();
    if name.is_empty() { "job".to_owned() } else { name }
}

/// The first word of a simple command that is no assignment, no option and no wrapper.
fn working_word(part: &str) -> Option<&str> {
    let first = part.split_whitespace().next()?;
    if PRELUDES.contains(&first) {
        return None;
    }
    let is_work = |word: &&str| {
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        !WRAPPERS.contains(word) && !word.contains('=') && !word.starts_with('-') && !is_number
    };
    part.split_whitespace().map(|word| word.trim_matches(['(', ')', '"', '\'', '{', '}'])).find(is_work)
}

/// FNV-1a, folded to 32 bits: stable for ever, and short enough for people.
fn digest(parts: &[&str]) -> u32 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    let hash = bytes.fold(BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    let [a, b, c, d, e, f, g, h] = hash.to_be_bytes();
    u32::from_be_bytes([a ^ e, b ^ f, c ^ g, d ^ h])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_names_the_program_that_does_the_work() {
        for (command, name) in [
            ("/usr/local/bin/backup.sh --all", "backup.sh"),
            ("cd /srv/app && ./manage.py clearsessions", "manage.py"),
            ("[ -x /usr/bin/certbot ] && certbot -q renew", "certbot"),
            ("LANG=C nice -n 10 rsync -a / /mnt", "rsync"),
            ("test -e /run/x || (sudo run-parts --report /etc/cron.daily)", "run-parts"),
            ("cd /", "job"),
            ("\"\"", "job"),
        ] {
            assert_eq!(program(command), name, "{command}");
        }
    }

    /// Stored labels depend on it.
    #[test]
    fn labels_stay_the_same_for_ever() {
        let mut labels = UniqueLabels::new("crontab");
        assert_eq!(labels.next(None, "echo hi"), "crontab/echo-92793db9");
        assert_eq!(labels.next(None, "echo hi"), "crontab/echo-92793db9-2");
        assert_ne!(labels.next(Some("root"), "echo hi"), "crontab/echo-92793db9");
    }
}
