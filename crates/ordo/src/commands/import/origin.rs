//! What is known about a file besides its text.

use std::collections::BTreeSet;
use std::path::Path;

use crate::cli::import::CrontabArgs;
use crate::error::{Error, Result};
use crate::zone;
use ordo_import::crontab::{CrontabFormat, CrontabOrigin, detect};

/// Where systems keep crontabs with a field for the user.
const SYSTEM: [&str; 2] = ["/etc/crontab", "/etc/cron.d"];
/// Found on so many machines that they are known on any.
const USUAL_USERS: [&str; 8] = ["root", "daemon", "nobody", "www-data", "postgres", "mysql", "nginx", "backup"];

pub(super) fn text(file: &Path) -> Result<String> {
    let read = if is_stdin(file) { std::io::read_to_string(std::io::stdin()) } else { std::fs::read_to_string(file) };
    read.map_err(|error| Error::failed(format!("cannot read {}", file.display())).detail(error.to_string()))
}

/// And a note, if the format was found out.
pub(super) fn of_crontab(args: &CrontabArgs, text: &str) -> Result<(CrontabOrigin, Option<String>)> {
    let (format, note) = format(args, text);
    let home = || std::env::var("HOME").ok().filter(|home| !home.is_empty());
    let cwd = match format {
        CrontabFormat::User => args.cwd.clone().or_else(home),
        CrontabFormat::System => args.cwd.clone(),
    };
    Ok((CrontabOrigin { format, name: name(args), zone: zone_name(args)?, cwd }, note))
}

fn format(args: &CrontabArgs, text: &str) -> (CrontabFormat, Option<String>) {
    if args.user {
        return (CrontabFormat::User, None);
    }
    if args.system || SYSTEM.iter().any(|place| args.common.file.starts_with(place)) {
        return (CrontabFormat::System, None);
    }
    match detect(text, &users()) {
        CrontabFormat::System => {
            let note =
                "read as a system crontab: the sixth field of every entry names a user; --user reads it otherwise";
            (CrontabFormat::System, Some(note.to_owned()))
        }
        CrontabFormat::User => (CrontabFormat::User, None),
    }
}

/// A machine without such a file has only the usual ones.
fn users() -> BTreeSet<String> {
    let listed = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let names = listed.lines().filter_map(|line| line.split(':').next()).map(str::to_owned);
    names.filter(|name| !name.is_empty()).chain(USUAL_USERS.map(str::to_owned)).collect()
}

fn name(args: &CrontabArgs) -> String {
    let file = &args.common.file;
    let of_file = || file.file_name().filter(|_| !is_stdin(file)).map(|name| name.to_string_lossy().into_owned());
    args.name.clone().or_else(of_file).unwrap_or_else(|| "crontab".to_owned())
}

fn zone_name(args: &CrontabArgs) -> Result<String> {
    zone_of(args.tz.as_deref())
}

/// The zone that was asked for, or this machine's.
pub(super) fn zone_of(asked: Option<&str>) -> Result<String> {
    let zone = zone::asked(asked)?;
    let unnamed = || {
        Error::failed("this machine's time zone has no name")
            .hint("say in which zone cron reads its times: --tz Europe/Berlin")
    };
    zone.iana_name().map(str::to_owned).ok_or_else(unnamed)
}

fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}
