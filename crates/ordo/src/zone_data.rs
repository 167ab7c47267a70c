//! Which time zone database this process uses: the one in the binary, or the system's.
//!
//! Invariant: a process always gets a database. What the system has is read once, whole, before the first schedule;
//! if it is absent, damaged or of an unknown release, the binary's is used and the log says why.

use std::fs;
use std::path::{Path, PathBuf};

use ordo_model::zones::{self, Zones};
use serde::Deserialize;

/// Where systems keep their zones; the variable `TZDIR` comes before these.
const FOLDERS: [&str; 3] = ["/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/etc/zoneinfo"];
/// The same zones again, with other rules about leap seconds, and names that are not zones.
const NOT_ZONES: [&str; 5] = ["posix", "right", "posixrules", "localtime", "leapseconds"];
/// `America/Argentina/Buenos_Aires`
const DEPTH_MAX: usize = 3;
const MAGIC: &[u8] = b"TZif";

/// `time.zones` in the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ZonesFrom {
    Bundled,
    System,
    /// The system's if its release is newer than the binary's.
    Newest,
}

/// A database, and why it is not the one that was asked for.
pub(crate) struct ChosenZones {
    zones: Zones,
    warning: Option<String>,
}

/// Chooses and installs; returns what the log should warn of.
pub(crate) fn install(from: ZonesFrom) -> Option<String> {
    let ChosenZones { zones, warning } = choose(from, &folders());
    match zones::install(zones) {
        Ok(()) => warning,
        Err(in_use) => Some(in_use.to_string()),
    }
}

fn folders() -> Vec<PathBuf> {
    let named = std::env::var_os("TZDIR").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    named.into_iter().chain(FOLDERS.map(PathBuf::from)).collect()
}

fn choose(from: ZonesFrom, folders: &[PathBuf]) -> ChosenZones {
    let bundled = Zones::bundled();
    let found = match from {
        ZonesFrom::Bundled => return ChosenZones { zones: bundled, warning: None },
        ZonesFrom::System => system(folders),
        ZonesFrom::Newest => match newer(folders, &bundled) {
            Ok(true) => system(folders),
            Ok(false) => return ChosenZones { zones: bundled, warning: None },
            Err(why) => Err(why),
        },
    };
    match found {
        Ok(zones) => ChosenZones { zones, warning: None },
        Err(why) => {
            let warning = format!("the system's time zones are not used, but the binary's {bundled}: {why}");
            ChosenZones { zones: bundled, warning: Some(warning) }
        }
    }
}

/// Releases are a year and a letter: `2026b` is newer than `2026a`.
fn newer(folders: &[PathBuf], bundled: &Zones) -> Result<bool, String> {
    let folder = existing(folders)?;
    match (release(folder), bundled.version()) {
        (Some(system), Some(bundled)) => Ok(system.as_str() > bundled),
        (Some(_), None) => Ok(true),
        (None, _) => Err(format!("{} does not say which release it is", folder.display())),
    }
}

fn existing(folders: &[PathBuf]) -> Result<&Path, String> {
    let found = folders.iter().find(|folder| folder.is_dir());
    found.map(PathBuf::as_path).ok_or_else(|| {
        let names: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        format!("there is no folder {}", names.join(" or "))
    })
}

fn system(folders: &[PathBuf]) -> Result<Zones, String> {
    let folder = existing(folders)?;
    let mut files = Vec::new();
    gather(folder, "", DEPTH_MAX, &mut files).map_err(|error| format!("{}: {error}", folder.display()))?;
    Zones::system(release(folder), files).map_err(|error| format!("{}: {error}", folder.display()))
}

/// The zones below a folder, with their names.
fn gather(folder: &Path, prefix: &str, depth: usize, files: &mut Vec<(String, Vec<u8>)>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(file_name) = entry.file_name().into_string() else { continue };
        if NOT_ZONES.contains(&file_name.as_str()) {
            continue;
        }
        let name = format!("{prefix}{file_name}");
        let path = entry.path();
        // Follows links: many names are links to other zones.
        if path.is_dir() {
            if depth > 1 {
                gather(&path, &format!("{name}/"), depth - 1, files)?;
            }
        } else {
            let bytes = fs::read(&path)?;
            if bytes.starts_with(MAGIC) {
                files.push((name, bytes));
            }
        }
    }
    Ok(())
}

/// `2026a`, from the first line of `tzdata.zi` (`# version 2026a`) or from `+VERSION`.
fn release(folder: &Path) -> Option<String> {
    let of_rules = fs::read_to_string(folder.join("tzdata.zi")).ok();
    let of_rules = of_rules.as_deref().and_then(|text| text.lines().next()?.strip_prefix("# version "));
    let alone = fs::read_to_string(folder.join("+VERSION")).ok();
    let version = of_rules.or_else(|| alone.as_deref()?.lines().next())?.trim();
    (!version.is_empty()).then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use ordo_model::zones::ZoneSource;

    use super::*;

    /// A folder like a system's, with these files.
    fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        folder
    }

    /// A zone without changes, two hours ahead of UTC.
    fn zone() -> Vec<u8> {
        let header = |counts: [u32; 6]| {
            let counts = counts.iter().flat_map(|count| count.to_be_bytes());
            [b"TZif2".as_slice(), &[0; 15]].concat().into_iter().chain(counts).collect::<Vec<u8>>()
        };
        let local_time = [7_200_i32.to_be_bytes().as_slice(), &[0, 0], b"EET\0"].concat();
        let block = [header([0, 0, 0, 0, 1, 4]), local_time].concat();
        [block.as_slice(), &block, b"\nEET-2\n"].concat()
    }

    fn chosen(from: ZonesFrom, folder: &tempfile::TempDir) -> (ZoneSource, String, Option<String>) {
        let ChosenZones { zones, warning } = choose(from, &[folder.path().to_owned()]);
        (zones.source(), zones.to_string(), warning)
    }

    #[test]
    fn the_systems_zones_are_used_when_asked_for_and_newest_when_newer() {
        let zone = zone();
        let newer = folder(&[("tzdata.zi", b"# version 2999a\nR a"), ("Europe/Berlin", &zone), ("zone.tab", b"#")]);
        let older = folder(&[("+VERSION", b"1999b\n"), ("Europe/Berlin", &zone)]);
        assert_eq!(chosen(ZonesFrom::System, &newer), (ZoneSource::System, "2999a (system)".to_owned(), None));
        assert_eq!(chosen(ZonesFrom::Newest, &newer), (ZoneSource::System, "2999a (system)".to_owned(), None));
        assert_eq!(chosen(ZonesFrom::System, &older), (ZoneSource::System, "1999b (system)".to_owned(), None));
        assert_eq!(chosen(ZonesFrom::Newest, &older).0, ZoneSource::Bundled);
        assert_eq!(chosen(ZonesFrom::Newest, &older).2, None);
        assert_eq!(chosen(ZonesFrom::Bundled, &newer).0, ZoneSource::Bundled);
        let zones = choose(ZonesFrom::System, &[newer.path().to_owned()]).zones;
        let berlin = zones.get("Europe/Berlin").unwrap();
        assert_eq!(berlin.to_offset(jiff::Timestamp::UNIX_EPOCH).seconds(), 7_200);
    }

    #[test]
    fn without_usable_zones_of_the_system_the_binarys_are_used_with_a_warning() {
        let nothing = tempfile::tempdir().unwrap();
        let absent = nothing.path().join("absent");
        let damaged = folder(&[("tzdata.zi", b"# version 2999a"), ("Europe/Berlin", b"TZif and then nonsense")]);
        let unnamed = folder(&[("Europe/Berlin", &zone())]);
        for (from, folder, why) in [
            (ZonesFrom::System, absent.as_path(), "there is no folder"),
            (ZonesFrom::Newest, absent.as_path(), "there is no folder"),
            (ZonesFrom::System, nothing.path(), "there are no time zones in it"),
            (ZonesFrom::System, damaged.path(), "Europe/Berlin cannot be read"),
            (ZonesFrom::Newest, damaged.path(), "Europe/Berlin cannot be read"),
            (ZonesFrom::Newest, unnamed.path(), "does not say which release it is"),
        ] {
            let ChosenZones { zones, warning } = choose(from, &[folder.to_owned()]);
            assert_eq!(zones.source(), ZoneSource::Bundled);
            assert!(warning.as_deref().unwrap_or_default().contains(why), "{warning:?}");
        }
        assert_eq!(chosen(ZonesFrom::System, &unnamed).1, "of unknown version (system)");
    }

    #[test]
    fn links_and_names_that_are_no_zones_do_no_harm() {
        let zone = zone();
        let folder = folder(&[("Europe/Berlin", &zone), ("posixrules", &zone), ("right/Europe/Berlin", &zone)]);
        std::os::unix::fs::symlink("Berlin", folder.path().join("Europe/Oslo")).unwrap();
        std::os::unix::fs::symlink("..", folder.path().join("Europe/again")).unwrap();
        let ChosenZones { zones, warning } = choose(ZonesFrom::System, &[folder.path().to_owned()]);
        assert_eq!(warning, None);
        assert!(zones.get("Europe/Oslo").is_some());
        assert!(zones.names().all(|name| name != "posixrules" && !name.starts_with("right")));
    }
}
