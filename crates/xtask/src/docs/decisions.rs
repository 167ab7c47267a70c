//! The index of decisions lists every page once, in the order of their numbers, and no number is used twice.

use std::path::Path;

use anyhow::{Context, Result};

use super::markdown;

const FOLDER: &str = "docs/adr";

pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let folder = root.join(FOLDER);
    let mut pages: Vec<String> = std::fs::read_dir(&folder)
        .with_context(|| format!("listing {FOLDER}"))?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_>>()?;
    pages.retain(|name| name != "README.md");
    pages.sort();
    let index =
        std::fs::read_to_string(folder.join("README.md")).with_context(|| format!("reading {FOLDER}/README.md"))?;
    let listed: Vec<String> = markdown::targets(&index).into_iter().filter(|target| target.starts_with('0')).collect();
    Ok(differences(&pages, &listed))
}

fn differences(pages: &[String], listed: &[String]) -> Vec<String> {
    let number = |name: &String| name.chars().take(4).collect::<String>();
    let twice = pages.windows(2).filter(|pair| number(&pair[0]) == number(&pair[1]));
    let mut wrong: Vec<String> =
        twice.map(|pair| format!("{FOLDER}: {} and {} have one number", pair[0], pair[1])).collect();
    if pages != listed {
        wrong.push(format!("{FOLDER}/README.md does not list every page once, in order: expected {pages:?}"));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_page_that_is_listed_twice_or_not_at_all_is_found() {
        let pages = names(&["0001-a.md", "0002-b.md"]);
        assert!(differences(&pages, &pages).is_empty());
        assert_eq!(differences(&pages, &names(&["0001-a.md"])).len(), 1);
        assert_eq!(differences(&pages, &names(&["0001-a.md", "0002-b.md", "0001-a.md"])).len(), 1);
        let same = names(&["0001-a.md", "0001-b.md"]);
        assert_eq!(differences(&same, &same), ["docs/adr: 0001-a.md and 0001-b.md have one number"]);
    }
}
