//! What is known about a file besides its text.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::cli::import::CrontabArgs;
use crate::error::{Error, Result};
use crate::zone;
use ordo_import::crontab::{CrontabFormat, CrontabOrigin, Detected, Machine, detect};
use ordo_import::systemd::UnitText;

/// Where systems keep crontabs with a field for the user.
const SYSTEM: [&str; 2] = ["/etc/crontab", "/etc/cron.d"];
/// Found on so many machines that they are known on any.
const USUAL_USERS: [&str; 8] = ["root", "daemon", "nobody", "www-data", "postgres", "mysql", "nginx", "backup"];

pub(super) fn text(file: &Path) -> Result<String> {
    let read = if is_stdin(file) { std::io::read_to_string(std::io::stdin()) } else { std::fs::read_to_string(file) };
    read.map_err(|error| Error::failed(format!("cannot read {}", file.display())).detail(error.to_string()))
}

/// And what to say about the format, if it was detected.
pub(super) fn of_crontab(args: &CrontabArgs, text: &str) -> Result<(CrontabOrigin, Vec<String>)> {
    let Detected { format, notes } = format(args, text);
    let home = || std::env::var("HOME").ok().filter(|home| !home.is_empty());
    let cwd = match format {
        CrontabFormat::User => args.cwd.clone().or_else(home),
        CrontabFormat::System => args.cwd.clone(),
    };
    Ok((CrontabOrigin { format, name: name(args), zone: zone_name(args.tz.as_deref())?, cwd }, notes))
}

fn format(args: &CrontabArgs, text: &str) -> Detected {
    if args.user {
        return Detected { format: CrontabFormat::User, notes: Vec::new() };
    }
    if args.system || SYSTEM.iter().any(|place| args.source.file.starts_with(place)) {
        return Detected { format: CrontabFormat::System, notes: Vec::new() };
    }
    detect(text, &Machine { users: users(), is_program: &is_program })
}

/// A machine without such a file has only the usual ones.
fn users() -> BTreeSet<String> {
    let listed = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let names = listed.lines().filter_map(|line| line.split(':').next()).map(str::to_owned);
    names.filter(|name| !name.is_empty()).chain(USUAL_USERS.map(str::to_owned)).collect()
}

/// Whether a shell would find it here.
fn is_program(name: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let mut folders = std::env::split_paths(&folders).chain(system);
    !name.is_empty() && !name.contains('/') && folders.any(|folder| folder.join(name).is_file())
}

fn name(args: &CrontabArgs) -> String {
    let file = &args.source.file;
    let of_file = || Some(file_name(file)).filter(|name| !is_stdin(file) && !name.is_empty());
    args.name.clone().or_else(of_file).unwrap_or_else(|| "crontab".to_owned())
}

/// Without its folder.
pub(super) fn file_name(file: &Path) -> String {
    file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The services of timers, where they stand beside one of the files.
pub(super) fn services_beside(files: &[PathBuf], wanted: &[String]) -> Vec<UnitText> {
    let folders: BTreeSet<&Path> =
        files.iter().filter(|file| !is_stdin(file)).filter_map(|file| file.parent()).collect();
    let read = |name: &String| {
        let mut texts = folders.iter().filter_map(|folder| std::fs::read_to_string(folder.join(name)).ok());
        texts.next().map(|text| UnitText { name: name.clone(), text })
    };
    wanted.iter().filter_map(read).collect()
}

pub(super) fn zone_name(asked: Option<&str>) -> Result<String> {
    let zone = zone::asked(asked)?;
    let unnamed = || {
        Error::failed("this machine's time zone has no name")
            .hint("name the zone in which the other scheduler reads its times: --tz Europe/Berlin")
    };
    zone.iana_name().map(str::to_owned).ok_or_else(unnamed)
}

fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}
