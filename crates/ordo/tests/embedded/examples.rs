//! The programs in `examples/` do what they promise. They are built beside the tests.

use std::path::PathBuf;
use std::process::{Command, Output};

use ordo_store_postgres::testing::TestServer;

fn example(name: &str) -> Command {
    Command::new(std::env::current_exe().unwrap().parent().unwrap().join("../examples").join(name))
}

fn said(ran: &Output) -> String {
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

#[test]
fn the_example_runs() {
    let said = said(&example("embedded").output().unwrap());
    assert!(said.contains("welcome completed") && said.contains("completed at 2027-03-29T07"), "{said}");
}

#[test]
fn the_example_with_axum_runs() {
    let server = TestServer::join();
    let ran = example("axum_app").arg("--play").env("DATABASE_URL", server.fresh_database()).output().unwrap();
    let said = said(&ran);
    for line in ["welcome, ada@example.org", "again: true", "mails: 1"] {
        assert!(said.contains(line), "{said}");
    }
}

#[test]
fn the_pipeline_passes_on_what_each_step_returns() {
    let said = said(&example("report_pipeline").arg("--play").output().unwrap());
    let reports: Vec<&str> = said.lines().collect();
    assert_eq!(reports.len(), 5, "Monday to Friday: {said}");
    // The shop answers at its second attempt, a minute later; the clocks have changed meanwhile.
    assert!(reports[0].starts_with("2027-03-29T05:01:00"), "{said}");
    let report = "completed: Sales: kiosk 500, shop 400, total 900 -> board@example.org";
    assert!(reports.iter().all(|line| line.ends_with(report)), "{said}");
}

/// The folder in which the examples' own files are.
#[test]
fn every_example_is_in_the_documents() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let document = std::fs::read_to_string(root.join("docs/guides/library.md")).unwrap();
    for entry in std::fs::read_dir(root.join("examples")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(document.contains(&format!("(../../examples/{name})")), "{name} is in no document");
    }
}
