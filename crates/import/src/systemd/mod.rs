//! Timers of systemd with the services they start, as unit files and `systemctl cat` have them.
//!
//! Invariant: every directive of a timer and of its service is carried over, known to mean nothing here, or named in a
//! warning. A timer whose service is not there is refused: what it starts cannot be guessed.

mod calendar;
mod command;
mod left_out;
mod service;
mod span;
mod timer;
mod unit;

use super::draft::{Imported, JobDraft, Refused, tell_apart};
use timer::Planned;
use unit::{UnitName, Units};

/// One file, or what came by standard input.
#[derive(Debug, Clone)]
pub struct UnitText {
    /// The name of the file: `backup.timer`.
    pub name: String,
    pub text: String,
}

/// `zone` is that of the machine, for times that name none.
pub fn read(files: &[UnitText], zone: &str) -> Imported {
    let mut units = Units::default();
    files.iter().for_each(|file| units.add(file));
    let mut reading = Imported::default();
    for timer in units.timers() {
        match drafts(&units, timer, zone) {
            Ok(drafts) => reading.drafts.extend(drafts),
            Err(why) => reading.refused.push(Refused { place: timer.to_string(), why }),
        }
    }
    reading.notes.extend(units.unused());
    tell_apart(&mut reading.drafts);
    reading
}

/// The services that the timers among these files start, and that are not among them.
pub fn missing_services(files: &[UnitText]) -> Vec<String> {
    let mut units = Units::default();
    files.iter().for_each(|file| units.add(file));
    let services = units.timers().filter_map(|timer| timer::service_of(&units, timer).ok());
    services.filter(|service| !units.has(service)).map(|service| service.to_string()).collect()
}

fn drafts(units: &Units, timer: &UnitName, zone: &str) -> Result<Vec<JobDraft>, String> {
    let service = timer::service_of(units, timer)?;
    if !units.has(&service) {
        return Err(format!(
            "it starts {service}, which is not among the files; name it too, or run: \
             systemctl cat {timer} {service} | ordo import systemd -"
        ));
    }
    let does = service::read(units, &service)?;
    let mut jobs = Vec::new();
    for Planned { trigger, misfire, warnings } in timer::plans(units, timer, zone)? {
        let mut fields = does.fields.clone();
        fields.insert("trigger".to_owned(), trigger);
        fields.insert("misfire".to_owned(), misfire.into());
        jobs.push(JobDraft {
            place: timer.to_string(),
            label: timer.stem.clone(),
            fields,
            stated: service::STATED,
            held: false,
            warnings: warnings.into_iter().chain(does.warnings.iter().cloned()).collect(),
        });
    }
    Ok(jobs)
}

#[cfg(test)]
mod tests;
