//! The OCI image, written as files: no daemon, no registry.
//!
//! Invariant: the image holds the binary, the libraries it names, a small shell for scripts and an init, nothing else; it
//! runs as a user of its own, which owns the folder of the store and nothing else.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{Publication, archive, place, said, write};
use crate::npm;

const USER: &str = "10001";
/// Debian packages tini and busybox-static. (program, its place in the image)
const COMPANIONS: [(&str, &str); 2] = [("/usr/bin/tini-static", "usr/bin/tini"), ("/bin/busybox", "bin/busybox")];
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// None where it cannot be made: the libraries of another machine are not here.
pub(super) fn make(publication: &Publication) -> Result<Option<PathBuf>> {
    let is_here = publication.target.starts_with(std::env::consts::ARCH) && publication.target.contains("linux");
    let missing = COMPANIONS.iter().find(|(program, _)| !Path::new(program).exists());
    if !is_here || missing.is_some() || !npm::is_there("tar") {
        let why = missing.map_or("it is for another machine".to_owned(), |(program, _)| {
            format!("there is no {program}: apt-get install tini busybox-static")
        });
        println!("no OCI image: {why}");
        return Ok(None);
    }
    let root = publication.workshop("image-root")?;
    fill(publication, &root)?;
    let layout = publication.workshop("image")?;
    let store = publication.workshop("image-store")?;
    std::fs::create_dir_all(store.join("var/lib/ordo")).context("making the folder of the store")?;
    said(Command::new("chmod").arg("0700").arg(store.join("var/lib/ordo")))?;
    let layers = [
        layer(publication, &layout, &root, &["."], "0:0")?,
        layer(publication, &layout, &store, &["./var/lib/ordo"], &format!("{USER}:{USER}"))?,
    ];
    describe(publication, &layout, &layers)?;
    let to = publication.folder.join(format!("{}.oci.tar.gz", publication.stem()));
    archive::tar(publication, &layout, &["blobs", "index.json", "oci-layout"], &to, "0:0")?;
    Ok(Some(to))
}

fn fill(publication: &Publication, root: &Path) -> Result<()> {
    let binary = publication.folder.join("work/archive").join(publication.stem()).join("ordo");
    place(&binary, &root.join("usr/bin/ordo"), "0755")?;
    for library in libraries(&binary)? {
        place(&library, &root.join(library.strip_prefix("/").unwrap_or(&library)), "0755")?;
    }
    for (program, to) in COMPANIONS {
        place(Path::new(program), &root.join(to), "0755")?;
    }
    for applet in said(Command::new("/bin/busybox").arg("--list"))?.lines().filter(|applet| *applet != "busybox") {
        let link = root.join("bin").join(applet);
        std::os::unix::fs::symlink("busybox", &link).with_context(|| format!("linking {}", link.display()))?;
    }
    if Path::new(CERTIFICATES).exists() {
        place(Path::new(CERTIFICATES), &root.join(CERTIFICATES.trim_start_matches('/')), "0644")?;
    }
    write(
        &root.join("etc/passwd"),
        &format!("root:x:0:0::/:/bin/sh\nordo:x:{USER}:{USER}::/var/lib/ordo:/bin/sh\n"),
        0o644,
    )?;
    write(&root.join("etc/group"), &format!("root:x:0:\nordo:x:{USER}:\n"), 0o644)?;
    for folder in ["tmp", "proc", "dev"] {
        std::fs::create_dir_all(root.join(folder)).with_context(|| format!("making {folder}"))?;
    }
    said(Command::new("chmod").arg("1777").arg(root.join("tmp"))).map(drop)
}

/// What the loader would load for it, the loader itself included.
fn libraries(binary: &Path) -> Result<Vec<PathBuf>> {
    let listed = said(Command::new("ldd").arg(binary))?;
    let path = |line: &str| line.split_whitespace().find(|word| word.starts_with('/')).map(PathBuf::from);
    Ok(listed.lines().filter_map(path).collect())
}

/// A blob of the layout.
#[derive(Debug)]
struct Blob {
    digest: String,
    size: u64,
    /// Of its contents before they were compressed.
    plain: String,
}

fn layer(publication: &Publication, layout: &Path, from: &Path, what: &[&str], owner: &str) -> Result<Blob> {
    let packed = layout.join("layer.tar.gz");
    archive::tar(publication, from, what, &packed, owner)?;
    let plain = layout.join("layer.tar");
    said(Command::new("gzip").args(["--decompress", "--keep", "--force"]).arg(&packed))?;
    let sum = archive::digest(&plain)?;
    std::fs::remove_file(&plain).context("removing the plain layer")?;
    Ok(Blob { plain: sum, ..add(layout, &packed)? })
}

/// Moves a file to its place among the blobs.
fn add(layout: &Path, file: &Path) -> Result<Blob> {
    let (digest, size) = (archive::digest(file)?, file.metadata().context("a blob has no size")?.len());
    let blobs = layout.join("blobs/sha256");
    std::fs::create_dir_all(&blobs).context("making the folder of blobs")?;
    std::fs::rename(file, blobs.join(&digest)).with_context(|| format!("placing {}", file.display()))?;
    Ok(Blob { digest, size, plain: String::new() })
}

fn add_json(layout: &Path, value: &Value) -> Result<Blob> {
    let file = layout.join("blob.json");
    write(&file, &value.to_string(), 0o644)?;
    add(layout, &file)
}

fn describe(publication: &Publication, layout: &Path, layers: &[Blob]) -> Result<()> {
    let config = add_json(layout, &config(publication, layers)?)?;
    let named = |kind: &str, blob: &Blob| {
        let digest = format!("sha256:{}", blob.digest);
        json!({ "mediaType": format!("application/vnd.oci.image.{kind}"), "digest": digest, "size": blob.size })
    };
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": named("config.v1+json", &config),
        "layers": layers.iter().map(|layer| named("layer.v1.tar+gzip", layer)).collect::<Vec<_>>(),
    });
    let mut entry = named("manifest.v1+json", &add_json(layout, &manifest)?);
    entry["annotations"] = json!({ "org.opencontainers.image.ref.name": format!("ordo:{}", publication.version) });
    let index = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [entry],
    });
    write(&layout.join("index.json"), &index.to_string(), 0o644)?;
    write(&layout.join("oci-layout"), &json!({ "imageLayoutVersion": "1.0.0" }).to_string(), 0o644)
}

fn config(publication: &Publication, layers: &[Blob]) -> Result<Value> {
    let date = format!("@{}", publication.time);
    let created = said(Command::new("date").args(["--utc", "--date", &date, "+%Y-%m-%dT%H:%M:%SZ"]))?;
    let machine = if publication.target.starts_with("aarch64") { "arm64" } else { "amd64" };
    let sums: Vec<String> = layers.iter().map(|layer| format!("sha256:{}", layer.plain)).collect();
    Ok(json!({
        "created": created, "architecture": machine, "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"), "WorkingDir": "/var/lib/ordo",
            "Env": ["PATH=/usr/bin:/bin", "ORDO_SERVE__LISTEN=0.0.0.0:7070", "ORDO_LOG__FORMAT=json"],
            "Entrypoint": ["/usr/bin/tini", "--", "/usr/bin/ordo"], "Cmd": ["serve"],
            "ExposedPorts": { "7070/tcp": {} }, "Volumes": { "/var/lib/ordo": {} }, "StopSignal": "SIGTERM",
            "Labels": { "org.opencontainers.image.title": "Ordo", "org.opencontainers.image.version": publication.version,
                        "org.opencontainers.image.licenses": "MIT OR Apache-2.0" },
        },
        "rootfs": { "type": "layers", "diff_ids": sums },
        "history": [{ "created": created, "created_by": "cargo xtask dist" }, { "created": created, "created_by": "the folder of the store" }],
    }))
}
