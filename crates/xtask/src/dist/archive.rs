//! The archive that the installer, `cargo binstall` and Homebrew unpack, and the checksums of everything.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{Publication, place, said, write};

const SHELLS: [(&str, &str); 3] = [("bash", "ordo.bash"), ("zsh", "_ordo"), ("fish", "ordo.fish")];

pub(super) fn make(publication: &Publication) -> Result<PathBuf> {
    let work = publication.workshop("archive")?;
    let folder = work.join(publication.stem());
    place(&publication.binary, &folder.join("ordo"), "0755")?;
    strip(publication, &folder.join("ordo"))?;
    for page in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        place(&publication.root.join(page), &folder.join(page), "0644")?;
    }
    completions(&folder.join("ordo"), &folder.join("completions"))?;
    let to = publication.folder.join(format!("{}.tar.gz", publication.stem()));
    tar(publication, &work, &[&publication.stem()], &to, "0:0")?;
    Ok(to)
}

/// The release profile strips already; a binary that was handed in may not be. One for another machine is left alone.
fn strip(publication: &Publication, binary: &Path) -> Result<()> {
    let here = publication.target.split('-').next().is_some_and(|machine| machine == std::env::consts::ARCH);
    if here { said(Command::new("strip").arg(binary)).map(drop) } else { Ok(()) }
}

/// As the binary itself prints them, unless it is for another machine.
pub(super) fn completions(binary: &Path, folder: &Path) -> Result<()> {
    for (shell, name) in SHELLS {
        match said(Command::new(binary).args(["completions", shell])) {
            Ok(text) => write(&folder.join(name), &(text + "\n"), 0o644)?,
            Err(error) => println!("no completions for {shell}: {error:#}"),
        }
    }
    Ok(())
}

/// A compressed archive whose bytes follow from its contents alone.
pub(super) fn tar(publication: &Publication, from: &Path, what: &[&str], to: &Path, owner: &str) -> Result<()> {
    let plain = to.with_extension("");
    let (user, group) = owner.split_once(':').unwrap_or((owner, owner));
    let mut command = Command::new("tar");
    command
        .args(["--create", "--format=gnu", "--sort=name", "--numeric-owner"])
        .arg(format!("--owner={user}"))
        .arg(format!("--group={group}"))
        .arg(format!("--mtime=@{}", publication.time))
        .arg("--file")
        .arg(&plain)
        .arg("--directory")
        .arg(from)
        .args(what);
    said(&mut command)?;
    said(Command::new("gzip").args(["--force", "--no-name", "-9"]).arg(&plain))?;
    let packed = PathBuf::from(format!("{}.gz", plain.display()));
    std::fs::rename(&packed, to).with_context(|| format!("writing {}", to.display()))
}

/// `SHA256SUMS`, as `sha256sum --check` reads it.
pub(super) fn sum(publication: &Publication, files: &[PathBuf]) -> Result<()> {
    let names = files.iter().filter_map(|file| file.file_name());
    let sums = said(Command::new("sha256sum").current_dir(&publication.folder).args(names))?;
    write(&publication.folder.join("SHA256SUMS"), &(sums + "\n"), 0o644)
}

/// The digest of a file, in hexadecimal.
pub(super) fn digest(file: &Path) -> Result<String> {
    let line = said(Command::new("sha256sum").arg(file))?;
    Ok(line.split_whitespace().next().unwrap_or_default().to_owned())
}
