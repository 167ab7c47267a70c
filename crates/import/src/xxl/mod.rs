//! Jobs of XXL-JOB, from a dump of `xxl_job_group` and `xxl_job_info`, versions 2.1 to 3.x.
//!
//! Invariant: every row becomes a job that its executors run as before, or is refused with the reason; what a job cannot
//! say is a warning. None of them fires before somebody decides it: two schedulers must not run the same.

mod dump;
mod job;

use std::collections::{BTreeMap, BTreeSet};

use super::draft::{Imported, Refused};
use dump::DumpRow;
pub use dump::NotADump;

const GROUPS: &str = "xxl_job_group";
const JOBS: &str = "xxl_job_info";

/// What a dump led to.
#[derive(Debug, Default)]
pub struct XxlReading {
    pub imported: Imported,
    /// Jobs that run when others have completed: the label of each with those of its parents.
    pub chains: BTreeMap<String, Vec<String>>,
    /// The labels of those that run there: by their schedule, after others, or by hand only.
    pub started: Vec<String>,
}

/// Where the files come from, and the zone that the admin ran in.
#[derive(Debug, Clone)]
pub struct XxlOrigin {
    pub zone: String,
}

/// Reads the files as one dump; each has a name for messages.
pub fn read(files: &[(String, String)], origin: &XxlOrigin) -> Result<XxlReading, NotADump> {
    let (mut groups, mut jobs) = (Vec::new(), Vec::new());
    for (name, text) in files {
        let mut found = dump::rows(text, &[GROUPS, JOBS])?;
        let place = |row: &DumpRow| match files {
            [_] => format!("line {}", row.line),
            _ => format!("{name}, line {}", row.line),
        };
        groups.extend(found.remove(GROUPS).unwrap_or_default());
        jobs.extend(found.remove(JOBS).unwrap_or_default().into_iter().map(|row| (place(&row), row)));
    }
    let mut reading = XxlReading::default();
    let groups = by_id(&groups, &mut reading.imported);
    let mut labels = BTreeMap::new();
    let mut children = Vec::new();
    let named: BTreeSet<i64> = jobs.iter().flat_map(|(_, row)| job::children(row)).collect();
    for (place, row) in &jobs {
        match job::draft(place, row, &groups, &named, origin) {
            Ok(read) => {
                labels.insert(read.id, read.draft.label.clone());
                children.push((read.id, read.draft.label.clone(), read.children));
                if read.is_started {
                    reading.started.push(read.draft.label.clone());
                }
                reading.imported.drafts.push(read.draft);
            }
            Err(why) => reading.imported.refused.push(Refused { place: place.clone(), why }),
        }
    }
    for (id, label, named) in children {
        chain(&mut reading, id, &label, &named, &labels);
    }
    Ok(reading)
}

/// The names of groups by their numbers.
fn by_id(rows: &[DumpRow], imported: &mut Imported) -> BTreeMap<i64, String> {
    let mut groups = BTreeMap::new();
    for row in rows {
        let (Some(id), Some(name)) = (row.number("id"), row.text("app_name")) else { continue };
        if row.number("address_type") == Some(1) {
            imported.notes.push(format!(
                "the addresses of group {name} were written by hand in XXL-JOB; here its executors register themselves"
            ));
        }
        groups.insert(id, name.to_owned());
    }
    groups
}

fn chain(reading: &mut XxlReading, id: i64, label: &str, children: &[i64], labels: &BTreeMap<i64, String>) {
    for child in children {
        match labels.get(child).filter(|_| *child != id) {
            Some(child) => reading.chains.entry(child.clone()).or_default().push(label.to_owned()),
            None => {
                let notes = &mut reading.imported.notes;
                notes.push(format!("{label} has job {child} as child, which is not in the dump, or is itself"));
            }
        }
    }
}

#[cfg(test)]
mod tests;
