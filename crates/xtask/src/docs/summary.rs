//! The table of contents (`docs/SUMMARY.md`) lists every page below `docs` once, and `docs/llms.txt` is made from it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};

use super::markdown;
use crate::tree;

const FOLDER: &str = "docs";
const SUMMARY: &str = "docs/SUMMARY.md";
const LLMS: &str = "docs/llms.txt";

/// Listed by their index, not one by one.
const INDEXED: [&str; 2] = ["adr/", "errors/"];

const HEAD: &str = "# Ordo

> Ordo runs jobs on time and lets people know when it could not: a durable scheduler in one binary, with an HTTP API, a
> command line, a dashboard, webhooks, incidents and notifications; many nodes share one PostgreSQL. Every nominal time of
> every job ends in exactly one recorded outcome.

All pages are Markdown. `GET /openapi.json` of a running server describes its API; `ordo --help` lists the commands.

";

pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let mut wrong = unlisted(root)?;
    let there = std::fs::read_to_string(root.join(LLMS)).unwrap_or_default();
    if there != llms(root)? {
        wrong.push(format!("{LLMS} is not what {SUMMARY} says: write it anew with `cargo xtask docs --write`"));
    }
    Ok(wrong)
}

pub(super) fn write(root: &Path) -> Result<()> {
    std::fs::write(root.join(LLMS), llms(root)?).with_context(|| format!("writing {LLMS}"))
}

fn summary(root: &Path) -> Result<String> {
    std::fs::read_to_string(root.join(SUMMARY)).with_context(|| format!("reading {SUMMARY}"))
}

fn unlisted(root: &Path) -> Result<Vec<String>> {
    let mut listed: BTreeMap<String, usize> = BTreeMap::new();
    markdown::targets(&summary(root)?).into_iter().for_each(|target| *listed.entry(target).or_default() += 1);
    let folder = root.join(FOLDER);
    let mut wrong = Vec::new();
    for file in tree::files(&folder, ".md")? {
        let name = file.strip_prefix(&folder).unwrap_or(&file).display().to_string();
        if name != "SUMMARY.md" && listed.get(&name) != Some(&1) {
            wrong.push(format!("{SUMMARY} does not list {name} once"));
        }
    }
    Ok(wrong)
}

/// The index for programs that read: each page with what it says first.
fn llms(root: &Path) -> Result<String> {
    let mut text = HEAD.to_owned();
    for line in summary(root)?.lines() {
        if let Some(part) = line.strip_prefix("# ").filter(|part| *part != "Summary") {
            let _ = write!(text, "\n## {part}\n\n");
        }
        let Some((title, target)) = link(line) else { continue };
        if INDEXED.iter().any(|folder| target.starts_with(folder)) && !target.ends_with("README.md") {
            continue;
        }
        let page = root.join(FOLDER).join(target);
        let page = std::fs::read_to_string(&page).with_context(|| format!("reading {}", page.display()))?;
        let _ = writeln!(text, "- [{title}]({target}){}", first_sentence(&page));
    }
    Ok(text)
}

/// `- [Title](target)`, at any depth, or without the dash.
fn link(line: &str) -> Option<(&str, &str)> {
    let rest = line.trim_start().trim_start_matches("- ").strip_prefix('[')?;
    let (title, rest) = rest.split_once("](")?;
    Some((title, rest.strip_suffix(')')?))
}

/// `: The first sentence of the first paragraph.`
fn first_sentence(page: &str) -> String {
    let is_text = |line: &&str| !line.is_empty() && !line.starts_with(['#', '<', '!', '|', '`', '>']);
    let lines = page.lines().skip_while(|line| !is_text(line)).take_while(is_text);
    let paragraph = lines.collect::<Vec<_>>().join(" ");
    let end = paragraph.find(". ").map_or(paragraph.len(), |at| at + 1);
    match paragraph[..end].trim_end_matches(':') {
        "" => String::new(),
        sentence => format!(": {}", markdown::without_links(sentence)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_not_listed_and_an_index_that_is_old_are_found() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(SUMMARY, "# Summary\n\n[A](a.md)\n\n# More\n\n- [B](more/b.md)\n");
        write("docs/a.md", "# A\n\nFirst [one](b.md). Second.\n");
        write("docs/more/b.md", "# B\n\n![picture](x.png)\n\nOnly\none.\n");
        super::write(root.path()).unwrap();
        assert!(check(root.path()).unwrap().is_empty());
        let llms = std::fs::read_to_string(root.path().join(LLMS)).unwrap();
        assert!(llms.ends_with("- [A](a.md): First one.\n\n## More\n\n- [B](more/b.md): Only one.\n"), "{llms}");
        write("docs/c.md", "");
        assert_eq!(check(root.path()).unwrap(), ["docs/SUMMARY.md does not list c.md once"]);
        write("docs/a.md", "# A\n\nOther.\n");
        assert_eq!(check(root.path()).unwrap().len(), 2);
    }
}
