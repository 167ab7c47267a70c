//! What README and docs say, held against the real binary: every command is typed, every snippet read, and the
//! reference is what the code says.
//!
//! The conventions are in CONTRIBUTING.md ("Documents that are executed").

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;

mod expected;
mod page;
mod player;
mod ports;
mod reference;
mod shell;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::page::DocumentPage;

/// Pages of other days (decisions), and pages that hold no commands of their own (error codes).
const NOT_PLAYED: [&str; 3] = ["docs/adr", "docs/errors", "docs/reference"];
/// How many pages are played at once; each has a server of its own.
const AT_ONCE: usize = 2;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// README and everything below docs that is to be played, by path from the root.
fn pages() -> Vec<DocumentPage> {
    let mut files = vec![PathBuf::from("README.md")];
    collect(Path::new("docs"), &mut files);
    files.sort();
    let wanted = std::env::var("ORDO_DOCS_PAGE").unwrap_or_default();
    files.retain(|file| file.to_string_lossy().contains(&wanted));
    files.iter().map(|file| DocumentPage::read(file, &std::fs::read_to_string(root().join(file)).unwrap())).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(root().join(folder)).unwrap() {
        let name = folder.join(entry.unwrap().file_name());
        if root().join(&name).is_dir() {
            if !NOT_PLAYED.iter().any(|other| name == Path::new(other)) {
                collect(&name, files);
            }
        } else if name.extension().is_some_and(|end| end == "md") {
            files.push(name);
        }
    }
}

#[test]
fn every_command_and_snippet_of_the_documents_does_what_they_say() {
    let pages = Mutex::new(pages());
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(page) = pages.lock().unwrap().pop() else { return };
                    // One page that goes wrong altogether does not keep the others from being played.
                    let played = std::panic::catch_unwind(|| player::play(&page));
                    if let Err(why) = played.unwrap_or_else(|_| Err(format!("{}: see the panic above", page.name))) {
                        wrong.lock().unwrap().push(why);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} pages say what is not so\n\n{}", wrong.len(), wrong.join("\n\n"));
}

#[test]
fn a_page_that_says_what_is_not_so_is_found() {
    let play = |text: &str| player::play(&DocumentPage::read(Path::new("made-up.md"), text));
    assert_eq!(play("```console\n$ echo one; echo two\none\n…\n$ false\n[exit 1]\n```\n"), Ok(()));
    let refused = |text: &str, why: &str| {
        let said = play(text).unwrap_err();
        assert!(said.contains("made-up.md:") && said.contains(why), "{said}");
    };
    refused("```console\n$ echo one\ntwo\n```\n", "two");
    refused("```console\n$ false\n```\n", "exit 1");
    refused("```console\n$ true\n[exit 1]\n```\n", "exit 0");
    refused("```sh\nfalse\ntrue\n```\n", "exit 1");
    refused("```console\n$ ordo job pause nothing\n```\n", "nothing");
    refused("```toml\n[serve]\nlisen = 'x'\n```\n", "serve.listen");
    refused("```json\n{ 'a': 1 }\n```\n", "JSON");
    refused("```console\nno prompt\n```\n", "begins with a command");
    refused("<!-- not run: -->\n```sh\nfalse\n```\n", "reason");
}
