//! Packs the documents that the server shows at `/docs` into one compressed file.
//!
//! Only for release: a build for tests reads them from the source tree, so that a changed page does not build the server anew.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::ZlibEncoder;

const PROJECT: [&str; 5] = ["README.md", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"];

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    if variable("PROFILE") == "release" && !variable("CARGO_FEATURE_DASHBOARD").is_empty() {
        let root = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../..");
        println!("cargo:rerun-if-changed={}", root.join("docs").display());
        for path in PROJECT.map(PathBuf::from).into_iter().chain(below(&root, Path::new("docs"))?) {
            let text = fs::read_to_string(root.join(&path)).unwrap_or_default();
            // A line with its path and its length, then the page itself.
            write!(packed, "{} {}\n{text}", path.display(), text.len())?;
        }
    }
    fs::write(Path::new(&variable("OUT_DIR")).join("documents"), packed.finish()?)
}

/// Pages and drawings, sorted; a crate without the repository around it has none.
fn below(root: &Path, folder: &Path) -> io::Result<Vec<PathBuf>> {
    let Ok(entries) = fs::read_dir(root.join(folder)) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        let is_shown = path.extension().is_some_and(|ending| ending == "md" || ending == "svg");
        if entry.file_type()?.is_dir() {
            found.extend(below(root, &path)?);
        } else if is_shown {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
