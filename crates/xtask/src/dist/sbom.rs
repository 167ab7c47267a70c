//! The bill of materials: which crates are in the binary, in which versions, under which licences (CycloneDX 1.5).
//!
//! Invariant: what is only used to build or to test Ordo is not in the binary and not in the bill.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{Publication, write};
use crate::cargo;

/// Name and version.
type PackageName = (String, String);

pub(super) fn make(publication: &Publication) -> Result<PathBuf> {
    let target = format!("--filter-platform={}", publication.target);
    let metadata = cargo::output(&["metadata", "--format-version", "1", "--locked", &target])?;
    let metadata: Value = serde_json::from_slice(&metadata).context("reading cargo's metadata")?;
    let lock = super::read(&publication.root.join("Cargo.lock"))?;
    let bill = bill(&metadata, &checksums(&lock), &inside(&publication.target)?);
    let to = publication.folder.join(format!("{}.cdx.json", publication.stem()));
    write(&to, &format!("{bill:#}\n"), 0o644)?;
    Ok(to)
}

/// What is linked into the binary with the features it is shipped with: cargo's metadata unites those of all crates and tests.
fn inside(target: &str) -> Result<BTreeSet<PackageName>> {
    let edges = ["--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"];
    let tree =
        cargo::output(&[["tree", "--locked", "--package", "ordo", "--target", target].as_slice(), &edges].concat())?;
    Ok(String::from_utf8_lossy(&tree).lines().filter_map(named).collect())
}

/// `serde v1.0.229 (*)`
fn named(line: &str) -> Option<PackageName> {
    let mut words = line.split_whitespace();
    Some((words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
}

fn bill(metadata: &Value, sums: &BTreeMap<PackageName, String>, inside: &BTreeSet<PackageName>) -> Value {
    let is_inside = |package: &&Value| inside.contains(&name_of(package));
    let packages: BTreeMap<&str, &Value> = list(&metadata["packages"]).filter(is_inside).filter_map(by_id).collect();
    let is_ordo = |package: &&Value| package["name"] == "ordo" && package["source"].is_null();
    let (main, others): (Vec<&Value>, Vec<&Value>) = packages.values().copied().partition(is_ordo);
    let mut main = main.first().map(|ordo| component(ordo, sums)).unwrap_or_default();
    main["type"] = json!("application");
    let components: Vec<Value> = others.iter().map(|package| component(package, sums)).collect();
    let depends = |node: &Value| {
        let package = packages.get(node["id"].as_str()?)?;
        let on: BTreeSet<String> =
            linked(node).into_iter().filter_map(|id| packages.get(id)).map(|package| purl(package)).collect();
        Some(json!({ "ref": purl(package), "dependsOn": on }))
    };
    let dependencies: Vec<Value> = list(&metadata["resolve"]["nodes"]).filter_map(depends).collect();
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": main },
        "components": components,
        "dependencies": dependencies,
    })
}

fn name_of(package: &Value) -> PackageName {
    let text = |field: &str| package[field].as_str().unwrap_or_default().to_owned();
    (text("name"), text("version"))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn by_id(value: &Value) -> Option<(&str, &Value)> {
    Some((value["id"].as_str()?, value))
}

/// What a package links: not what it is built or tested with.
fn linked(node: &Value) -> Vec<&str> {
    let is_linked = |dep: &&Value| list(&dep["dep_kinds"]).any(|kind| kind["kind"].is_null());
    list(&node["deps"]).filter(is_linked).filter_map(|dep| dep["pkg"].as_str()).collect()
}

fn component(package: &Value, sums: &BTreeMap<PackageName, String>) -> Value {
    let text = |field: &str| package[field].as_str().unwrap_or_default().to_owned();
    let purl = purl(package);
    let mut component =
        json!({ "type": "library", "name": text("name"), "version": text("version"), "bom-ref": purl, "purl": purl });
    if let Some(licence) = package["license"].as_str() {
        // The old way to write a choice is not an expression.
        component["licenses"] = json!([{ "expression": licence.replace('/', " OR ") }]);
    }
    if let Some(sum) = sums.get(&(text("name"), text("version"))) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
    }
    component
}

fn purl(package: &Value) -> String {
    let text = |field: &str| package[field].as_str().unwrap_or_default();
    format!("pkg:cargo/{}@{}", text("name"), text("version"))
}

/// Of the packages in the lock file, by name and version.
fn checksums(lock: &str) -> BTreeMap<PackageName, String> {
    let value = |block: &str, key: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(&format!("{key} = \""))?.strip_suffix('"'));
        line.map(str::to_owned)
    };
    let entry = |block: &str| Some(((value(block, "name")?, value(block, "version")?), value(block, "checksum")?));
    lock.split("[[package]]").filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_linked_is_in_the_bill() {
        let package = |name: &str, source: Value| json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0", "source": source });
        let dep = |name: &str, kind: Value| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        let metadata = json!({
            "packages": [package("ordo", Value::Null), package("used", json!("r")), package("cc", json!("r"))],
            "resolve": { "nodes": [
                { "id": "ordo", "deps": [dep("used", Value::Null), dep("cc", json!("build"))] },
                { "id": "used", "deps": [] }, { "id": "cc", "deps": [] },
            ] },
        });
        let sums = checksums("[[package]]\nname = \"used\"\nversion = \"1.0.0\"\nchecksum = \"ab\"\n");
        let inside = ["ordo v1.0.0 (/x)", "used v1.0.0 (*)"].into_iter().filter_map(named).collect();
        let bill = bill(&metadata, &sums, &inside);
        let names: Vec<&str> = list(&bill["components"]).filter_map(|one| one["name"].as_str()).collect();
        assert_eq!(names, ["used"]);
        assert_eq!(bill["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(bill["components"][0]["hashes"][0]["content"], "ab");
        assert_eq!(bill["dependencies"][0]["dependsOn"], json!(["pkg:cargo/used@1.0.0"]));
    }
}
