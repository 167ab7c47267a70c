//! What is published of a version: archives with checksums, a bill of materials, a Debian package, an OCI image, and what
//! installs them.
//!
//! Invariant: the same commit gives the same files. Times are those of the commit, orders are sorted, owners are numbers.

mod archive;
mod debian;
pub(crate) mod deploy;
mod image;
mod release;
mod sbom;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::cargo::{self, cargo};
use crate::tree;

pub(crate) use release::run as release;

/// What is being published.
#[derive(Debug)]
pub(crate) struct Publication {
    pub(crate) root: PathBuf,
    /// Where it is put.
    pub(crate) folder: PathBuf,
    pub(crate) version: String,
    /// As the compiler names it: `x86_64-unknown-linux-gnu`.
    pub(crate) target: String,
    pub(crate) binary: PathBuf,
    /// The time of the commit, in seconds.
    pub(crate) time: String,
}

pub(crate) const USAGE: &str = "cargo xtask dist [--target TARGET] [--binary PATH] [--try]";

pub(crate) fn run(args: &[String]) -> Result<()> {
    let (mut target, mut binary, mut tried) = (host()?, None, false);
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--target" => target = rest.next().context(USAGE)?.clone(),
            "--binary" => binary = Some(PathBuf::from(rest.next().context(USAGE)?)),
            "--try" => tried = true,
            _ => bail!("{USAGE}"),
        }
    }
    let publication = Publication::prepare(target, binary)?;
    publication.make()?;
    if tried { publication.try_out() } else { Ok(()) }
}

impl Publication {
    fn prepare(target: String, binary: Option<PathBuf>) -> Result<Publication> {
        let root = tree::root();
        let binary = match binary {
            Some(binary) => binary,
            None => built(&target)?,
        };
        let folder = target_folder()?.join("dist");
        std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        let time = said(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(&root))?;
        Ok(Publication { version: version(&root)?, root, folder, target, binary, time })
    }

    fn make(&self) -> Result<()> {
        let archive = archive::make(self)?;
        let bill = sbom::make(self)?;
        let mut files = vec![archive, bill];
        files.extend(debian::make(self)?);
        files.extend(image::make(self)?);
        files.push(self.installer()?);
        archive::sum(self, &files)?;
        files.push(self.formula()?);
        for file in &files {
            println!("{:>12}  {}", file.metadata().map(|it| it.len()).unwrap_or_default(), file.display());
        }
        Ok(())
    }

    /// Installs, starts and removes everything, each in a root of its own.
    fn try_out(&self) -> Result<()> {
        let script = self.root.join("tests/dist/run");
        let status = Command::new(&script).arg(&self.folder).arg(&self.version).arg(&self.target).status();
        let status = status.with_context(|| format!("starting {}", script.display()))?;
        if !status.success() {
            bail!("{}: {status}", script.display());
        }
        Ok(())
    }

    pub(crate) fn stem(&self) -> String {
        format!("ordo-{}-{}", self.version, self.target)
    }

    /// An empty folder to gather things in.
    pub(crate) fn workshop(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folder.join("work").join(name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder).with_context(|| format!("emptying {}", folder.display()))?;
        }
        std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        Ok(folder)
    }

    fn installer(&self) -> Result<PathBuf> {
        let to = self.folder.join("install.sh");
        let script = read(&self.root.join("deploy/install/install.sh"))?;
        write(&to, &script.replace("@VERSION@", &self.version), 0o755)?;
        Ok(to)
    }

    fn formula(&self) -> Result<PathBuf> {
        let sums = read(&self.folder.join("SHA256SUMS"))?;
        let archive = format!("{}.tar.gz", self.stem());
        let line = sums.lines().find(|line| line.ends_with(&archive)).context("the archive has no checksum")?;
        let sum = line.split_whitespace().next().unwrap_or_default();
        let formula = read(&self.root.join("deploy/install/ordo.rb"))?;
        let formula =
            formula.replace("@VERSION@", &self.version).replace("@SHA256@", sum).replace("@TARGET@", &self.target);
        let to = self.folder.join("ordo.rb");
        write(&to, &formula, 0o644)?;
        Ok(to)
    }
}

/// The binary, built and stripped the way it is shipped.
fn built(target: &str) -> Result<PathBuf> {
    cargo(&["build", "--locked", "--release", "--package", "ordo", "--target", target])?;
    let binary = target_folder()?.join(target).join("release/ordo");
    let bytes = std::fs::read(&binary).with_context(|| format!("reading {}", binary.display()))?;
    if has_symbols(&bytes) {
        bail!("{} is not stripped: does the profile of the package say so too?", binary.display());
    }
    Ok(binary)
}

/// Whether an ELF file names a table of symbols among its sections.
fn has_symbols(binary: &[u8]) -> bool {
    const TABLE: &[u8] = b"\0.symtab\0";
    binary.windows(TABLE.len()).any(|bytes| bytes == TABLE)
}

fn target_folder() -> Result<PathBuf> {
    let metadata = cargo::output(&["metadata", "--format-version", "1", "--no-deps"])?;
    let metadata: serde_json::Value = serde_json::from_slice(&metadata).context("reading cargo's metadata")?;
    metadata["target_directory"].as_str().map(PathBuf::from).context("cargo names no target directory")
}

/// Of the workspace: all crates have the same.
pub(crate) fn version(root: &Path) -> Result<String> {
    let manifest = read(&root.join("Cargo.toml"))?;
    let line = manifest.lines().find_map(|line| line.strip_prefix("version = \""));
    line.and_then(|rest| rest.split('"').next()).map(str::to_owned).context("Cargo.toml names no version")
}

fn host() -> Result<String> {
    let about = said(Command::new("rustc").arg("-vV"))?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc names no host")
}

/// What a program says, without the line's end.
pub(crate) fn said(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("starting {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}", output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

pub(crate) fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}

pub(crate) fn write(path: &Path, text: &str, mode: u32) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    }
    std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))?;
    let rights = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(path, rights).with_context(|| format!("setting the rights of {}", path.display()))
}

/// A copy with these rights, in a folder that is made for it.
pub(crate) fn place(from: &Path, to: &Path, mode: &str) -> Result<()> {
    said(Command::new("install").args(["-D", "-m", mode]).arg(from).arg(to)).map(drop)
}
