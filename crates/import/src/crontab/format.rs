//! Two formats: in a system crontab the sixth field names the user a command runs as.
//!
//! Invariant: which format it is follows from the whole file, and whoever reads the result is told why. A name that is
//! neither a user nor a program here is never taken for a command without a word.

use std::collections::BTreeSet;

use super::line::{self, CrontabEntry, CrontabLine};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrontabFormat {
    /// What `crontab -l` prints.
    User,
    /// /etc/crontab and the files in /etc/cron.d.
    System,
}

/// What is known about the machine on which the file is read; the file may come from another.
pub struct Machine<'a> {
    pub users: BTreeSet<String>,
    pub is_program: &'a dyn Fn(&str) -> bool,
}

impl std::fmt::Debug for Machine<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Machine").field("users", &self.users).finish_non_exhaustive()
    }
}

/// Programs that crontabs start and that may be missing on this machine.
const USUAL_PROGRAMS: [&str; 60] = [
    "ansible",
    "awk",
    "aws",
    "bash",
    "borg",
    "bundle",
    "bzip2",
    "cat",
    "cd",
    "certbot",
    "chmod",
    "chown",
    "composer",
    "cp",
    "curl",
    "date",
    "dd",
    "df",
    "docker",
    "drush",
    "du",
    "echo",
    "env",
    "find",
    "gcloud",
    "git",
    "grep",
    "gzip",
    "java",
    "kill",
    "kubectl",
    "logrotate",
    "ls",
    "make",
    "mkdir",
    "mongodump",
    "mv",
    "mysqldump",
    "nice",
    "node",
    "npm",
    "perl",
    "pg_dump",
    "php",
    "podman",
    "python",
    "python3",
    "rake",
    "rclone",
    "restic",
    "rm",
    "rsync",
    "ruby",
    "scp",
    "sed",
    "sh",
    "ssh",
    "sudo",
    "tar",
    "wget",
];

/// The format, and what to say about how it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detected {
    pub format: CrontabFormat,
    pub notes: Vec<String>,
}

/// What the sixth field of an entry looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SixthField {
    KnownUser,
    /// Shaped like a user's name, no program here, and a command follows.
    UnknownUser,
    Command,
}

pub fn detect(text: &str, machine: &Machine<'_>) -> Detected {
    let entries: Vec<(usize, Option<CrontabEntry<'_>>)> = (1..).zip(text.lines()).filter_map(entry).collect();
    let fields: Vec<SixthField> = entries.iter().map(|(_, entry)| sixth(entry.as_ref(), machine)).collect();
    let is_system = !fields.is_empty() && fields.iter().all(|field| *field != SixthField::Command);
    if is_system || (has_heading(text) && entries.iter().all(|(_, entry)| entry.is_some()) && !entries.is_empty()) {
        return Detected { format: CrontabFormat::System, notes: system_notes(&entries, &fields) };
    }
    let suspects = named(&entries, |place| fields[place] != SixthField::Command);
    let notes = (!suspects.is_empty()).then(|| {
        format!(
            "read as a user's crontab, with no field for a user: {suspects} may be users all the same; \
             --system reads the sixth field as the user"
        )
    });
    Detected { format: CrontabFormat::User, notes: notes.into_iter().collect() }
}

/// Lines that are entries; none for one that a system crontab could not have.
fn entry((number, text): (usize, &str)) -> Option<(usize, Option<CrontabEntry<'_>>)> {
    match line::read(text, CrontabFormat::System) {
        Ok(CrontabLine::Entry(entry)) => Some((number, Some(entry))),
        Ok(CrontabLine::Blank | CrontabLine::Comment(_) | CrontabLine::Variable { .. }) => None,
        Err(_) => Some((number, None)),
    }
}

fn sixth(entry: Option<&CrontabEntry<'_>>, machine: &Machine<'_>) -> SixthField {
    let Some(entry) = entry else { return SixthField::Command };
    let user = entry.user.unwrap_or_default();
    // FreeBSD lets a login class or a group follow the user.
    let name = user.split([':', '/']).next().unwrap_or(user);
    let is_program = || USUAL_PROGRAMS.contains(&name) || (machine.is_program)(name);
    let next = entry.command.split_whitespace().next().unwrap_or_default();
    let is_command = |word: &str| {
        word.starts_with(['/', '[', '(', '$', '.']) || USUAL_PROGRAMS.contains(&word) || (machine.is_program)(word)
    };
    if user.starts_with(['/', '.', '$']) {
        return SixthField::Command;
    }
    if machine.users.contains(name) {
        // Some users are called like the program they own: `mysql -e …` is a command.
        let is_option = next.starts_with('-') && is_program();
        return if is_option { SixthField::Command } else { SixthField::KnownUser };
    }
    if is_user_name(name) && !is_program() && is_command(next) { SixthField::UnknownUser } else { SixthField::Command }
}

fn is_user_name(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    begins
        && name.len() <= 32
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-$".contains(c))
}

/// `# m h dom mon dow user command`, as distributions write over their columns.
fn has_heading(text: &str) -> bool {
    let is_heading = |line: &str| {
        let words: Vec<String> =
            line.split_whitespace().map(|word| word.trim_start_matches('#').to_ascii_lowercase()).collect();
        let place = |wanted: &[&str]| words.iter().position(|word| wanted.contains(&word.as_str()));
        let user = place(&["user", "user-name", "who", "username"]);
        user.is_some() && user < place(&["command", "cmd"])
    };
    text.lines().filter(|line| line.trim_start().starts_with('#')).any(is_heading)
}

fn system_notes(entries: &[(usize, Option<CrontabEntry<'_>>)], fields: &[SixthField]) -> Vec<String> {
    let read = "read as a system crontab: the sixth field of every entry names a user; --user reads it otherwise";
    let unknown = named(entries, |place| fields[place] != SixthField::KnownUser);
    let warning = (!unknown.is_empty()).then(|| format!("not known on this machine: {unknown}"));
    std::iter::once(read.to_owned()).chain(warning).collect()
}

/// Each name once, with the first line it stands on.
fn named(entries: &[(usize, Option<CrontabEntry<'_>>)], wanted: impl Fn(usize) -> bool) -> String {
    let mut seen = BTreeSet::new();
    let mut names = Vec::new();
    for (place, (number, entry)) in entries.iter().enumerate() {
        let Some(user) = entry.as_ref().and_then(|entry| entry.user) else { continue };
        if wanted(place) && seen.insert(user) {
            names.push(format!("{user} (line {number})"));
        }
    }
    names.join(", ")
}
