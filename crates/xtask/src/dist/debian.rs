//! The Debian package: the binary, its service and its user.
//!
//! Invariant: removing it leaves the store and the configuration, purging it leaves nothing.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::{Publication, archive, place, read, said, write};
use crate::npm;

/// By the machine of a target.
const MACHINES: [(&str, &str); 2] = [("x86_64", "amd64"), ("aarch64", "arm64")];

/// None where it cannot be made: no dpkg, or a target that Debian has no name for.
pub(super) fn make(publication: &Publication) -> Result<Option<PathBuf>> {
    let machine = publication.target.split('-').next().unwrap_or_default();
    let Some((_, machine)) = MACHINES.iter().find(|(name, _)| *name == machine) else { return Ok(None) };
    if !publication.target.ends_with("-linux-gnu") || !npm::is_there("dpkg-deb") {
        println!("no Debian package: {} or no dpkg-deb here", publication.target);
        return Ok(None);
    }
    let root = publication.workshop("debian")?;
    files(publication, &root)?;
    scripts(publication, &root)?;
    let size = said(Command::new("du").args(["--summarize", "--block-size=1024", "--apparent-size"]).arg(&root))?;
    let size = size.split_whitespace().next().unwrap_or("0").to_owned();
    write(&root.join("DEBIAN/control"), &control(&publication.version, machine, &size), 0o644)?;
    let to = publication.folder.join(format!("ordo_{}_{machine}.deb", publication.version));
    let mut build = Command::new("dpkg-deb");
    build.args(["--build", "--root-owner-group", "-Zxz"]).env("SOURCE_DATE_EPOCH", &publication.time);
    said(build.arg(&root).arg(&to))?;
    Ok(Some(to))
}

fn files(publication: &Publication, root: &Path) -> Result<()> {
    let from = |path: &str| publication.root.join(path);
    place(
        &publication.folder.join("work/archive").join(publication.stem()).join("ordo"),
        &root.join("usr/bin/ordo"),
        "0755",
    )?;
    let service = read(&from("deploy/systemd/ordo.service"))?.replace("/usr/local/bin/ordo", "/usr/bin/ordo");
    write(&root.join("lib/systemd/system/ordo.service"), &service, 0o644)?;
    place(&from("deploy/debian/ordo.toml"), &root.join("etc/ordo/ordo.toml"), "0644")?;
    place(&from("deploy/debian/copyright"), &root.join("usr/share/doc/ordo/copyright"), "0644")?;
    place(&from("CHANGELOG.md"), &root.join("usr/share/doc/ordo/changelog"), "0644")?;
    said(Command::new("gzip").args(["--no-name", "-9"]).arg(root.join("usr/share/doc/ordo/changelog")))?;
    let completions = publication.workshop("completions")?;
    archive::completions(&root.join("usr/bin/ordo"), &completions)?;
    for (name, to) in [
        ("ordo.bash", "usr/share/bash-completion/completions/ordo"),
        ("_ordo", "usr/share/zsh/vendor-completions/_ordo"),
        ("ordo.fish", "usr/share/fish/vendor_completions.d/ordo.fish"),
    ] {
        if completions.join(name).exists() {
            place(&completions.join(name), &root.join(to), "0644")?;
        }
    }
    Ok(())
}

fn scripts(publication: &Publication, root: &Path) -> Result<()> {
    write(&root.join("DEBIAN/conffiles"), "/etc/ordo/ordo.toml\n", 0o644)?;
    for script in ["postinst", "prerm", "postrm"] {
        let from = publication.root.join("deploy/debian").join(script);
        place(&from, &root.join("DEBIAN").join(script), "0755")?;
    }
    Ok(())
}

fn control(version: &str, machine: &str, size: &str) -> String {
    format!(
        "Package: ordo
Version: {version}
Architecture: {machine}
Maintainer: The Ordo contributors <packages@ordo.invalid>
Installed-Size: {size}
Depends: libc6 (>= 2.36), libgcc-s1, adduser
Recommends: ca-certificates
Section: admin
Priority: optional
Description: durable job scheduler with incidents and a dashboard
 Ordo runs jobs on time, records what became of every occurrence, and alerts
 people when something did not run. One binary with a durable store, time
 zones, retries, live logs, webhooks, incidents and a dashboard; a cluster on
 PostgreSQL when one machine is not enough.
"
    )
}
