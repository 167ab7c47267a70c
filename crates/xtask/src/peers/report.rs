//! Where the results go: into docs/benchmarks.md between markers and docs/img, workload by workload.
//!
//! Invariant: a published table is replaced only by one that has all systems in full size. Everything else is written
//! beside the measurements.

use std::path::Path;

use anyhow::{Context, Result};

use super::figures::Figures;
use super::options::Options;
use super::plan::{Case, System, Workload};
use super::{chart, table};
use crate::tree;

const PAGE: &str = "docs/benchmarks.md";
const PICTURES: &str = "docs/img";

pub(super) fn write(options: &Options, cases: &[Case], figures: &Figures, folder: &Path) -> Result<()> {
    let root = tree::root();
    let mut aside = String::new();
    for workload in &options.workloads {
        let cases: Vec<Case> = cases.iter().filter(|case| case.workload.name == workload.name).copied().collect();
        let is_published = !options.quick && cases.iter().all(|case| case.is_complete(options));
        let pictures = if is_published { root.join(PICTURES) } else { folder.to_path_buf() };
        let section = section(workload, &cases, options, figures, &pictures)?;
        println!("\n{section}");
        if is_published {
            publish(&root.join(PAGE), workload, &section)?;
        } else {
            aside += &(section + "\n");
        }
    }
    if !aside.is_empty() {
        let file = folder.join("results.md");
        save(&file, &aside)?;
        println!("written to {}; {PAGE} gets full sizes of all systems only", file.display());
    }
    Ok(())
}

/// Table, chart and costs of one workload; draws the chart.
fn section(
    workload: &Workload,
    cases: &[Case],
    options: &Options,
    figures: &Figures,
    pictures: &Path,
) -> Result<String> {
    let systems: Vec<&'static System> =
        options.systems.iter().copied().filter(|system| workload.takes(system)).collect();
    let name = format!("peers-{}.svg", workload.name.to_lowercase());
    let heading = format!("{}: {}", workload.name, workload.title);
    std::fs::create_dir_all(pictures).with_context(|| format!("making {}", pictures.display()))?;
    save(&pictures.join(&name), &chart::svg(&heading, &chart::panels(cases, &systems, figures)))?;
    let at = if pictures.ends_with(PICTURES) { format!("img/{name}") } else { name };
    let rounds = match options.rounds {
        1 => "One round".to_owned(),
        rounds => format!("Middle of {rounds} rounds"),
    };
    Ok(format!(
        "{rounds}; {versions}.\n\n{results}\n\n![{heading}]({at})\n\n<details><summary>What it cost</summary>\n\n{costs}\n\n</details>\n",
        versions = figures.versions(),
        results = table::results(cases, &systems, figures),
        costs = table::costs(cases, figures),
    ))
}

fn publish(page: &Path, workload: &Workload, section: &str) -> Result<()> {
    let text = std::fs::read_to_string(page).with_context(|| format!("reading {}", page.display()))?;
    let text = between(&text, workload.name, section).with_context(|| {
        format!("{PAGE} has no markers for {0}: <!-- peers:{0} --> and <!-- /peers:{0} -->", workload.name)
    })?;
    save(page, &text)
}

/// `text` with what stands between the markers of `name` replaced; nothing if they are not there.
fn between(text: &str, name: &str, section: &str) -> Option<String> {
    let (open, close) = (format!("<!-- peers:{name} -->"), format!("<!-- /peers:{name} -->"));
    let (before, rest) = text.split_once(&open)?;
    let (_, after) = rest.split_once(&close)?;
    Some(format!("{before}{open}\n\n{}\n\n{close}{after}", section.trim()))
}

fn save(file: &Path, text: &str) -> Result<()> {
    std::fs::write(file, text).with_context(|| format!("writing {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::super::plan::WORKLOADS;
    use super::*;

    #[test]
    fn only_what_stands_between_the_markers_is_replaced() {
        let text = "a\n<!-- peers:W1 -->\nold\n<!-- /peers:W1 -->\nb\n<!-- peers:W2 --><!-- /peers:W2 -->\n";
        let expected = "a\n<!-- peers:W1 -->\n\nnew\n\n<!-- /peers:W1 -->\nb\n<!-- peers:W2 --><!-- /peers:W2 -->\n";
        assert_eq!(between(text, "W1", "new\n").as_deref(), Some(expected));
        assert_eq!(between(expected, "W1", "new\n").as_deref(), Some(expected));
        assert_eq!(between(text, "W3", "new"), None);
        assert_eq!(between("<!-- peers:W1 --> and no end", "W1", "new"), None);
    }

    #[test]
    fn the_page_has_markers_for_every_workload() {
        let page = std::fs::read_to_string(tree::root().join(PAGE)).unwrap();
        let missing: Vec<&str> =
            WORKLOADS.iter().map(|workload| workload.name).filter(|name| between(&page, name, "").is_none()).collect();
        assert!(missing.is_empty(), "{PAGE} has no markers for {missing:?}");
    }
}
