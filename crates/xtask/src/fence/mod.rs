//! The fence: a crate depends only on what the table of rules lets it know, nothing that is shipped has what is made for
//! tests, a type name has one meaning, and no folder is crowded.
//!
//! Invariant: what holds is read from cargo's own metadata and from the sources, not from what a document says.

mod folders;
mod manifest;
mod names;
mod planted;
mod rules;

use std::path::Path;

use anyhow::{Result, bail};

use manifest::{Manifest, Use};

pub(crate) fn check(root: &Path) -> Result<()> {
    let manifests = manifest::read(root)?;
    let mut breaches: Vec<String> = manifests.iter().flat_map(breaches).collect();
    breaches.extend(names::check(root)?);
    breaches.extend(folders::check(root)?);
    breaches.extend(planted::check(root)?);
    if !breaches.is_empty() {
        bail!("the fence is broken (rules: crates/xtask/src/fence/)\n  {}", breaches.join("\n  "));
    }
    println!(
        "{} crates know only what they may, every type name has one meaning, no folder is crowded",
        manifests.len()
    );
    Ok(())
}

/// What a crate may know, as a document writes it; None: there is no rule for it.
pub(crate) fn may_know(folder: &str) -> Option<String> {
    let rule = rules::of(folder)?;
    Some(if rule.may_know.is_empty() { "nobody".to_owned() } else { rule.may_know.join(", ") })
}

/// Whether a crate may know every other that is shipped.
pub(crate) fn knows_all(folder: &str) -> bool {
    let shipped =
        rules::RULES.iter().map(|rule| rule.folder).filter(|name| !["sim", "fuzz", "xtask", folder].contains(name));
    rules::of(folder).is_some_and(|rule| shipped.into_iter().all(|name| rule.may_know.contains(&name)))
}

fn breaches(manifest: &Manifest) -> Vec<String> {
    let Some(rule) = rules::of(&manifest.folder) else {
        return vec![format!("crates/{} has no rule: say what it may know", manifest.folder)];
    };
    let mut found: Vec<String> = manifest.ours.iter().filter_map(|known| ours(manifest, rule, known)).collect();
    found.extend(manifest.others.iter().filter_map(|known| guarded(manifest, known)));
    found.extend(manifest.ours.iter().filter_map(|known| shipped_with_tests(manifest, known)));
    if !manifest.takes_workspace_lints {
        found.push(format!("crates/{} does not take the lints of the workspace", manifest.folder));
    }
    found
}

fn ours(manifest: &Manifest, rule: &rules::CrateRule, known: &Use) -> Option<String> {
    let name = known.name.as_str();
    // A crate's tests may ask for itself again, with a feature that only tests use.
    let in_tests = known.only_in_tests && (rule.tests_may_know.contains(&name) || name == manifest.folder);
    let allowed = rule.may_know.contains(&name) || in_tests;
    (!allowed).then(|| format!("crates/{} must not know crates/{name}", manifest.folder))
}

/// What is made for tests is asked for by tests only.
fn shipped_with_tests(manifest: &Manifest, known: &Use) -> Option<String> {
    (known.has_testing && !known.only_in_tests)
        .then(|| format!("crates/{} must not ship crates/{} with its feature `testing`", manifest.folder, known.name))
}

fn guarded(manifest: &Manifest, known: &Use) -> Option<String> {
    let guard = rules::GUARDED.iter().find(|guard| guard.name == known.name && !known.only_in_tests)?;
    let allowed = guard.known_by.contains(&manifest.folder.as_str());
    (!allowed).then(|| format!("crates/{} must not know {}: {}", manifest.folder, guard.name, guard.why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(folder: &str, ours: &[&str], others: &[&str]) -> Manifest {
        let used = |name: &&str| Use { name: (*name).to_owned(), only_in_tests: false, has_testing: false };
        let uses = |names: &[&str]| names.iter().map(used).collect();
        Manifest { folder: folder.to_owned(), ours: uses(ours), others: uses(others), takes_workspace_lints: true }
    }

    #[test]
    fn the_engine_may_know_the_contract_but_no_driver() {
        assert!(breaches(&manifest("engine", &["model", "store"], &["tokio"])).is_empty());
        assert_eq!(
            breaches(&manifest("engine", &["store-redb"], &[])),
            ["crates/engine must not know crates/store-redb"]
        );
    }

    #[test]
    fn a_test_of_the_engine_may_open_a_real_store() {
        let mut engine = manifest("engine", &["store-redb"], &[]);
        engine.ours[0].only_in_tests = true;
        assert!(breaches(&engine).is_empty());
    }

    #[test]
    fn only_tests_ask_for_what_is_made_for_tests() {
        let mut server = manifest("server", &["engine"], &[]);
        server.ours[0].has_testing = true;
        assert_eq!(breaches(&server), ["crates/server must not ship crates/engine with its feature `testing`"]);
        server.ours[0].only_in_tests = true;
        assert!(breaches(&server).is_empty());
    }

    #[test]
    fn the_model_stays_pure() {
        assert_eq!(breaches(&manifest("model", &["store"], &["tokio"])).len(), 2);
    }

    #[test]
    fn a_crate_without_a_rule_is_refused() {
        assert_eq!(breaches(&manifest("extra", &[], &[])), ["crates/extra has no rule: say what it may know"]);
    }

    #[test]
    fn nothing_that_is_shipped_knows_the_simulator_or_the_chores() {
        for rule in &rules::RULES {
            assert!(!rule.may_know.contains(&"sim") && !rule.may_know.contains(&"xtask"), "{}", rule.folder);
        }
    }
}
