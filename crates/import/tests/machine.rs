//! Files that nobody here wrote: the timers and crontabs that packages brought to this machine. Debian's e2fsprogs, which
//! the tests need anyway, brings one of each.

use std::path::{Path, PathBuf};

use ordo_import::crontab::{self, CrontabFormat, CrontabOrigin};
use ordo_import::systemd::{self, UnitText};
use ordo_import::{Imported, JobDraft};
use ordo_model::Timestamp;

fn files(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn text(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// Each entry is a job that the server takes as it is, or is refused with a reason.
fn assert_all_accounted_for(imported: &Imported, what: &str) {
    let now = Timestamp::from_ms(1_792_800_000_000).expect("a time");
    let unfit = |draft: &JobDraft| draft.normal(now).err().map(|why| format!("{}: {why}", draft.label));
    let unfit: Vec<String> = imported.drafts.iter().filter_map(unfit).collect();
    assert!(unfit.is_empty(), "{what}: {unfit:?}");
    assert!(imported.refused.iter().all(|refused| !refused.why.is_empty()), "{what}");
}

#[test]
fn every_timer_of_this_machine_becomes_a_job_or_is_refused_with_a_reason() {
    let is_unit = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "timer" || kind == "service");
    let paths = files("/lib/systemd/system").into_iter().filter(is_unit);
    let units: Vec<UnitText> =
        paths.filter_map(|path| Some(UnitText { name: name(&path), text: text(&path)? })).collect();
    let timers = units.iter().filter(|unit| unit.name.ends_with(".timer")).count();
    let imported = systemd::read(&units, "UTC");
    assert_all_accounted_for(&imported, "timers");
    assert_eq!(imported.drafts.len() + imported.refused.len(), timers, "{:?}", imported.refused);
    println!("{timers} timers: {} jobs, {} refused", imported.drafts.len(), imported.refused.len());
}

#[test]
fn every_entry_of_this_machines_crontabs_becomes_a_job_or_is_refused_with_a_reason() {
    for path in files("/etc/cron.d").into_iter().chain([PathBuf::from("/etc/crontab")]) {
        let Some(text) = text(&path) else { continue };
        let origin = CrontabOrigin { format: CrontabFormat::System, name: name(&path), zone: "UTC".into(), cwd: None };
        let imported = crontab::read(&text, &origin);
        assert_all_accounted_for(&imported, &name(&path));
        let is_entry =
            |line: &&str| line.trim_start().starts_with(|first: char| first.is_ascii_digit() || "*@".contains(first));
        let entries = text.lines().filter(is_entry).count();
        assert_eq!(imported.drafts.len() + imported.refused.len(), entries, "{}: {:?}", name(&path), imported.refused);
    }
}
