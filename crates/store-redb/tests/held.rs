//! Opening: one process at a time, and a clear word to whoever cannot.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::error::Error;
use std::path::Path;

use ordo_store::Fault;
use ordo_store_redb::{RedbOptions, RedbStore};
use redb::TableDefinition;
use tempfile::TempDir;

fn open(path: &Path) -> Result<RedbStore, Fault> {
    RedbStore::open(path, RedbOptions::default())
}

fn damage(fault: Result<RedbStore, Fault>) -> String {
    match fault {
        Err(Fault::Damaged { what }) => what,
        other => panic!("not damaged: {other:?}"),
    }
}

fn advice(fault: Result<RedbStore, Fault>) -> String {
    match fault {
        Err(fault @ Fault::Unavailable { .. }) => fault.source().unwrap().to_string(),
        other => panic!("not unavailable: {other:?}"),
    }
}

/// What lies in the folder.
fn names(folder: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn the_second_to_open_a_store_hears_who_holds_it_and_since_when() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("ordo.redb");
    let first = open(&path).unwrap();
    let Err(Fault::Held { what }) = open(&path) else { panic!("opened twice") };
    assert!(what.contains(&format!("process {}", std::process::id())), "{what}");
    assert!(what.contains("since 20") && what.contains("ordo.redb"), "{what}");
    drop(first);
    open(&path).unwrap();
}

#[test]
fn a_lock_file_left_by_a_dead_process_holds_nobody_up() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("ordo.redb");
    std::fs::write(folder.path().join("ordo.redb.lock"), "process 1\nsince ever\n").unwrap();
    let _store = open(&path).unwrap();
    let text = std::fs::read_to_string(folder.path().join("ordo.redb.lock")).unwrap();
    assert!(text.starts_with(&format!("process {}\n", std::process::id())), "{text}");
}

/// Holds the lock file as a child of a dead process would, which has signed it.
fn left_behind(folder: &TempDir, seconds: &str) -> (std::process::Child, u32) {
    let mut dead = std::process::Command::new("true").spawn().unwrap();
    let process = dead.id();
    dead.wait().unwrap();
    let lock = folder.path().join("ordo.redb.lock");
    std::fs::write(&lock, format!("process {process}\nstarted 1\nsince 2026-11-16T00:00:00.000Z\n")).unwrap();
    let script = "exec 9<>\"$1\"; flock 9; echo; exec sleep \"$2\"";
    let mut holder = std::process::Command::new("sh");
    holder.args(["-c", script, "sh", lock.to_str().unwrap(), seconds]).stdout(std::process::Stdio::piped());
    let mut holder = holder.spawn().unwrap();
    let mut said = [0];
    std::io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut said).unwrap();
    (holder, process)
}

#[test]
fn a_lock_that_a_dead_process_left_to_its_tool_is_waited_for() {
    let folder = TempDir::new().unwrap();
    let (mut holder, _) = left_behind(&folder, "0.3");
    open(&folder.path().join("ordo.redb")).unwrap();
    holder.wait().unwrap();
}

#[test]
fn whoever_was_left_behind_and_stays_is_named_and_not_the_dead() {
    let folder = TempDir::new().unwrap();
    let (mut holder, dead) = left_behind(&folder, "30");
    let Err(Fault::Held { what }) = open(&folder.path().join("ordo.redb")) else { panic!("opened twice") };
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(what.contains(&format!("process {} (sleep)", holder.id())), "{what}");
    assert!(what.contains(&format!("process {dead}, which is gone")), "{what}");
}

#[test]
fn a_store_open_in_another_program_is_held() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("ordo.redb");
    drop(open(&path).unwrap());
    let _other = redb::Database::open(&path).unwrap();
    assert!(matches!(open(&path), Err(Fault::Held { .. })));
}

#[test]
fn a_file_that_is_no_store_is_left_alone_and_named() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("notes.txt");
    let text = "not a database\n".repeat(1_000);
    std::fs::write(&path, &text).unwrap();
    let what = damage(open(&path));
    assert!(what.contains("notes.txt") && what.contains("not an Ordo store"), "{what}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    assert_eq!(names(&folder), ["notes.txt"]);
}

#[test]
fn a_redb_file_of_another_program_is_left_alone_and_named() {
    const THEIRS: TableDefinition<'_, u64, u64> = TableDefinition::new("theirs");
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("other.redb");
    let database = redb::Database::create(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(THEIRS).unwrap().insert(1, 1).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let what = damage(open(&path));
    assert!(what.contains("not an Ordo store"), "{what}");
    assert_eq!(names(&folder), ["other.redb"]);
    // A file that was there before is not ours to take away.
    std::fs::write(folder.path().join("other.redb.lock"), "theirs").unwrap();
    damage(open(&path));
    assert_eq!(names(&folder), ["other.redb", "other.redb.lock"]);
}

#[test]
fn a_store_of_a_newer_layout_is_refused_and_says_which() {
    const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("ordo.redb");
    drop(open(&path).unwrap());
    let database = redb::Database::open(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(META).unwrap().insert("format", 3).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let what = damage(open(&path));
    assert!(what.contains("layout 3") && what.contains("newer"), "{what}");
}

#[test]
fn a_missing_folder_and_a_folder_in_place_of_a_file_have_their_own_errors() {
    let folder = TempDir::new().unwrap();
    let missing = advice(open(&folder.path().join("no/such/folder/ordo.redb")));
    assert!(missing.contains("folder does not exist"), "{missing}");
    let inside = folder.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    let is_folder = advice(open(&inside));
    assert!(is_folder.contains("this is a folder"), "{is_folder}");
    assert_eq!(names(&folder), ["inside"]);
}

#[test]
fn what_an_unfinished_attempt_to_make_the_store_left_does_not_matter() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("ordo.redb");
    std::fs::write(folder.path().join("ordo.redb.unfinished"), vec![0; 5_000]).unwrap();
    drop(open(&path).unwrap());
    assert!(!folder.path().join("ordo.redb.unfinished").exists());
    std::fs::write(folder.path().join("empty.redb"), "").unwrap();
    drop(open(&folder.path().join("empty.redb")).unwrap());
}
