//! Licences, advisories and sources of what we build on; the rules are in `deny.toml`.

use anyhow::Result;

use crate::cargo::{cargo, has};

/// Answers with a note when the check could not be made.
pub(crate) fn check() -> Result<Option<String>> {
    if !has("deny") {
        return Ok(Some("cargo-deny is not installed (`cargo install --locked cargo-deny`)".to_owned()));
    }
    cargo(&["deny", "check"])?;
    Ok(None)
}
