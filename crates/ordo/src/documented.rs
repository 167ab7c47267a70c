//! What README and docs name exists: commands with their flags, keys of the configuration, metrics.
//!
//! Invariant: everything is read from the documents and held against the program itself, never against a second list.

use std::path::{Path, PathBuf};

use clap::CommandFactory;

use crate::cli::Cli;
use crate::config::known_key;

/// What is written like a command and is none: the line that `serve` prints.
const NO_COMMAND: &str = "ordo is ready";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn markdown() -> Vec<(String, String)> {
    let mut pages: Vec<PathBuf> = ["README.md", "ARCHITECTURE.md", "sdk/python/README.md", "sdk/typescript/README.md"]
        .map(|page| root().join(page))
        .into();
    for folder in ["docs", "docs/errors", "docs/guides", "docs/migration"] {
        let files = std::fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
        pages.extend(files.filter(|path| path.extension().is_some_and(|end| end == "md")));
    }
    pages
        .into_iter()
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(path).unwrap()))
        .collect()
}

/// What stands in `code spans` and what is typed in examples, as far as it begins with `ordo`.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        } else if is_fenced {
            found.push(line.trim_start().trim_start_matches("$ ").to_owned());
        } else {
            found.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    found.retain(|text| text.starts_with("ordo ") && !text.starts_with(NO_COMMAND));
    found
}

/// Why a command as it is written cannot be typed; None: it can.
fn refused(written: &str) -> Option<String> {
    let mut current = Cli::command();
    current.build();
    // A comment, a pipe or the next command ends it; what follows `--` is somebody else's.
    let typed = written.split([';', '#', '<', '>']).next()?.split(" | ").next()?.split(" -- ").next()?;
    let mut flags = Vec::new();
    for word in typed.split_whitespace().skip(1) {
        if let Some(flag) = word.strip_prefix("--") {
            flags.push(flag.split(['=', '|', ']', ',']).next()?.trim_end_matches(['.', '…', ')']).to_owned());
            continue;
        }
        let names: Vec<&str> = word.split(['|', '\\']).filter(|name| !name.is_empty()).collect();
        let is_name = names.iter().all(|name| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'));
        if !is_name || !current.has_subcommands() {
            continue;
        }
        if let Some(unknown) = names.iter().find(|name| current.find_subcommand(name).is_none()) {
            return Some(format!("{} has no command {unknown:?}", current.get_name()));
        }
        current = current.find_subcommand(names[0])?.clone();
    }
    let has = |flag: &String| current.get_arguments().any(|known| known.get_long() == Some(flag));
    let unknown =
        flags.iter().find(|flag| !flag.is_empty() && !has(flag) && !["help", "version"].contains(&flag.as_str()));
    unknown.map(|flag| format!("{} has no --{flag}", current.get_name()))
}

#[test]
fn every_command_in_the_documents_can_be_typed() {
    let mut wrong = Vec::new();
    for (page, text) in markdown() {
        wrong
            .extend(commands(&text).iter().filter_map(|typed| Some(format!("{page}: `{typed}`: {}", refused(typed)?))));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_nobody_can_type_is_found() {
    assert_eq!(refused("ordo job list --state active"), None);
    assert!(refused("ordo job lst").is_some_and(|why| why.contains("lst")));
    assert!(refused("ordo letter list|replay").is_some_and(|why| why.contains("letter")));
    assert!(refused("ordo job list --colour").is_some_and(|why| why.contains("--colour")));
}

#[test]
fn every_key_of_the_configuration_in_the_documents_is_one() {
    let mut wrong = Vec::new();
    for (page, text) in markdown() {
        for block in text.split("```toml").skip(1).filter_map(|rest| rest.split("```").next()) {
            let table: toml::Table = block.parse().unwrap_or_else(|error| panic!("{page}: {error}\n{block}"));
            wrong.extend(paths(&toml::Value::Table(table), "").into_iter().filter(|path| !known_key(path)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

fn paths(value: &toml::Value, before: &str) -> Vec<String> {
    match value {
        toml::Value::Table(table) => table
            .iter()
            .flat_map(|(key, value)| {
                let path = if before.is_empty() { key.clone() } else { format!("{before}.{key}") };
                paths(value, &path)
            })
            .collect(),
        _ => vec![before.to_owned()],
    }
}

#[test]
fn every_metric_in_the_documents_is_exported() {
    let sources = root().join("crates/server/src/api/metrics");
    let source: String = std::fs::read_dir(sources)
        .unwrap()
        .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    let alerts = std::fs::read_to_string(root().join("deploy/prometheus/alerts.yml")).unwrap();
    let mut wrong = Vec::new();
    for (page, text) in markdown().into_iter().chain([("alerts.yml".to_owned(), alerts)]) {
        let words = text.split(|c: char| !c.is_ascii_lowercase() && c != '_');
        let metrics = words.filter(|word| word.starts_with("ordo_") && word.len() > "ordo_a_".len());
        // A role of PostgreSQL is no metric.
        for word in metrics.filter(|word| !["ordo_reader", "ordo_submitter"].contains(word)) {
            let name = ["_bucket", "_sum", "_count"].iter().fold(word, |name, end| name.trim_end_matches(end));
            if !name.ends_with('_') && !source.contains(&format!("\"{name}\"")) {
                wrong.push(format!("{page}: {word}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// What looks like an address of ours and is a trace collector's.
const NO_ADDRESS: &str = "/v1/traces";

/// The addresses of the API in a text, with the names of their parameters left out: `/v1/jobs/{}/trigger`.
fn addresses(text: &str) -> Vec<String> {
    let spans = text.split('`').skip(1).step_by(2);
    let words = spans.flat_map(str::split_whitespace).filter_map(|word| Some(&word[word.find("/v1/")?..]));
    words
        .map(|word| without_names(word.split(['?', '#', '"', '\'', ',', ')', '|', '[']).next().unwrap_or_default()))
        .collect()
}

fn without_names(path: &str) -> String {
    let part =
        |part: &str| match part.starts_with('{') || part.starts_with(|c: char| c.is_ascii_uppercase() || c == '$') {
            true => "{}".to_owned(),
            false => part.to_owned(),
        };
    path.trim_end_matches(['/', '.', '…']).split('/').map(part).collect::<Vec<_>>().join("/")
}

#[test]
fn every_address_of_the_api_in_the_documents_is_served() {
    let served: Vec<String> = ordo_api::Operation::routes().iter().map(|route| without_names(route.path)).collect();
    let fits = |wanted: &str| {
        let wanted: Vec<&str> = wanted.split('/').collect();
        served.iter().any(|path| {
            let path: Vec<&str> = path.split('/').collect();
            // An example names an object where the route has a parameter; prose may name the beginning of several routes.
            path.len() >= wanted.len()
                && path.iter().zip(&wanted).all(|(own, theirs)| own == theirs || *own == "{}" || theirs.contains('*'))
        })
    };
    let mut wrong = Vec::new();
    for (page, text) in markdown() {
        wrong.extend(
            addresses(&text)
                .into_iter()
                .filter(|path| path != NO_ADDRESS && !fits(path))
                .map(|path| format!("{page}: {path}")),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(!fits("/v1/letters") && !fits("/v1/jobs/{}/explode"));
}
