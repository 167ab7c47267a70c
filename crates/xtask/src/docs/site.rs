//! The documents as a site, in `target/site`: mdBook makes it, with a search that asks nobody outside.
//!
//! Invariant: pages keep the place that they have in the repository, so their links lead where they led. Which mdBook is
//! used is a decision, not a matter of the day; it is installed below `target/` on first use.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::program::CargoProgram;

const MDBOOK: CargoProgram = CargoProgram {
    name: "mdbook",
    version: "0.5.4",
    says: "mdbook v0.5.4",
    options: &["--no-default-features", "--features", "search"],
};
/// Where the pages are gathered; `book.toml` says the same.
const GATHERED: &str = "target/site-src";
/// What pages link to.
const LINKED: [&str; 5] = ["docs", "examples", "deploy", "LICENSE-MIT", "LICENSE-APACHE"];
/// Pages outside `docs`, listed last; the first is the front page.
const PROJECT: [(&str, &str); 6] = [
    ("Ordo", "README.md"),
    ("Architecture", "ARCHITECTURE.md"),
    ("Contributing", "CONTRIBUTING.md"),
    ("Changelog", "CHANGELOG.md"),
    ("Security policy", "SECURITY.md"),
    ("Code of conduct", "CODE_OF_CONDUCT.md"),
];

pub(super) fn build(root: &Path) -> Result<()> {
    let mdbook = MDBOOK.installed(root)?;
    gather(root)?;
    let status = Command::new(&mdbook)
        .arg("build")
        .arg(root)
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("starting {}", mdbook.display()))?;
    if !status.success() {
        bail!("mdbook: {status}");
    }
    println!("the site is in {}", root.join("target/site").display());
    Ok(())
}

/// Copies what the site is made of, and writes its table of contents.
fn gather(root: &Path) -> Result<()> {
    let to = root.join(GATHERED);
    if to.exists() {
        std::fs::remove_dir_all(&to).with_context(|| format!("emptying {GATHERED}"))?;
    }
    std::fs::create_dir_all(&to).with_context(|| format!("making {GATHERED}"))?;
    LINKED.iter().try_for_each(|name| copy(&root.join(name), &to.join(name)))?;
    PROJECT.iter().try_for_each(|(_, page)| copy(&root.join(page), &to.join(page)))?;
    let summary = std::fs::read_to_string(root.join("docs/SUMMARY.md")).context("reading docs/SUMMARY.md")?;
    std::fs::remove_file(to.join("docs/SUMMARY.md")).context("docs/SUMMARY.md")?;
    std::fs::write(to.join("SUMMARY.md"), contents(&summary)).with_context(|| format!("writing {GATHERED}/SUMMARY.md"))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if !from.is_dir() {
        return std::fs::copy(from, to).map(drop).with_context(|| format!("copying {}", from.display()));
    }
    std::fs::create_dir_all(to).with_context(|| format!("making {}", to.display()))?;
    for entry in std::fs::read_dir(from).with_context(|| format!("listing {}", from.display()))? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// The table of contents as seen from the root of the repository.
fn contents(summary: &str) -> String {
    let (title, rest) = summary.split_once("\n\n").unwrap_or((summary, ""));
    let pages = rest.replace("](", "](docs/");
    let link = |(title, page): &(&str, &str)| format!("[{title}]({page})");
    let project: Vec<String> = PROJECT.iter().skip(1).map(|page| format!("- {}\n", link(page))).collect();
    format!("{title}\n\n{}\n{pages}\n# Project\n\n{}", link(&PROJECT[0]), project.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_listed_by_their_place_in_the_repository() {
        let contents = contents("# Summary\n\n[Why](why.md)\n\n# Guides\n\n- [A](guides/a.md)\n");
        let start = "# Summary\n\n[Ordo](README.md)\n[Why](docs/why.md)\n\n# Guides\n\n- [A](docs/guides/a.md)\n\n# Project\n\n- [Architecture]";
        assert!(contents.starts_with(start), "{contents}");
    }
}
