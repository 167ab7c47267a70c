//! The reference: every key, field, command, route, event, metric, error code, limit and role, from the code.
//!
//! Invariant: nothing here is copied by hand. What the binary says of itself is asked of the binary, what the types say
//! of the types, and where only the source has it (doc comments), of the source.

mod api;
mod code;
mod commands;
mod configuration;
mod schemas;
mod source;

use std::fmt::Write as _;

use crate::common::World;
use crate::root;

const FOLDER: &str = "docs/reference";
/// Set by `cargo xtask docs --write`: the pages are written instead of compared.
const WRITE: &str = "ORDO_WRITE_REFERENCE";
const HEAD: &str = "<!-- Made from the code by `cargo xtask docs --write`. Do not edit: the tests compare it. -->\n\n";

/// The pages in the order of the index: name, what it lists, its text.
fn pages(world: &World) -> Vec<(&'static str, &'static str, String)> {
    vec![
        ("configuration", "every key of `ordo.toml`, its default and its variable", configuration::page(world)),
        ("job", "every field of a job, and what may stand in it", schemas::job()),
        ("commands", "every command with its options", commands::page(world)),
        ("api", "every route, who may call it, what it takes and refuses", api::page()),
        ("types", "every type of the API, field by field", schemas::types()),
        ("events", "every event of the log, and every kind of notification", code::events()),
        ("metrics", "every metric of `/metrics`", code::metrics(world)),
        ("errors", "every error code", code::errors()),
        ("limits", "every limit, and what happens beyond it", code::limits()),
        ("roles", "every role, and what it may do", code::roles()),
    ]
}

#[test]
fn the_reference_is_what_the_code_says() {
    let world = World::new();
    let pages = pages(&world);
    let mut wanted: Vec<(String, String)> =
        pages.iter().map(|(name, _, text)| (format!("{name}.md"), format!("{HEAD}{}\n", text.trim_end()))).collect();
    wanted.push(("README.md".to_owned(), index(&pages)));
    let folder = root().join(FOLDER);
    if std::env::var_os(WRITE).is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        wanted.iter().for_each(|(name, text)| std::fs::write(folder.join(name), text).unwrap());
        return;
    }
    let mut wrong = Vec::new();
    for (name, text) in &wanted {
        let there = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        if there != *text {
            let line = there.lines().zip(text.lines()).position(|(there, wanted)| there != wanted);
            let line = line.unwrap_or_else(|| there.lines().count().min(text.lines().count())) + 1;
            let shown = text.lines().nth(line - 1).unwrap_or("(the end)");
            wrong.push(format!("{FOLDER}/{name}:{line} is not what the code says: {shown}"));
        }
    }
    let listed = |file: &String| wanted.iter().any(|(name, _)| name == file);
    let there = std::fs::read_dir(&folder).into_iter().flatten();
    let names = there.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    wrong.extend(names.filter(|file| !listed(file)).map(|file| format!("{FOLDER}/{file} is made by nobody")));
    assert!(wrong.is_empty(), "{}\nwrite it anew: cargo xtask docs --write", wrong.join("\n"));
}

fn index(pages: &[(&str, &str, String)]) -> String {
    let mut text = format!("{HEAD}# Reference\n\nMade from the code, and compared with it by the tests.\n\n");
    for (name, what, _) in pages {
        let _ = writeln!(text, "- [{}]({name}.md): {what}", title(name));
    }
    text
}

fn title(name: &str) -> String {
    match name {
        "api" => "HTTP API".to_owned(),
        "types" => "Types of the API".to_owned(),
        "errors" => "Error codes".to_owned(),
        "job" => "Fields of a job".to_owned(),
        other => other[..1].to_uppercase() + &other[1..],
    }
}

/// A cell of a table: one line, no bars.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ").trim().to_owned()
}

fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut text = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(head.len()));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|text| cell(text)).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text
}
