//! Licences, advisories and sources of what we build on; the rules are in `deny.toml`.

use anyhow::Result;

use crate::cargo::{cargo, has};

/// Returns a note when the check, or a part of it, could not be made.
pub(crate) fn check() -> Result<Option<String>> {
    if !has("deny") {
        return Ok(Some("cargo-deny is not installed (`cargo install --locked cargo-deny`)".to_owned()));
    }
    cargo(&["deny", "check", "bans", "licenses", "sources"])?;
    // Advisories come from the network. Without it nothing is known to be wrong, and nothing to be right.
    if cargo(&["deny", "fetch", "db"]).is_err() {
        return Ok(Some("licences, bans and sources passed; the advisories cannot be fetched from here".to_owned()));
    }
    cargo(&["deny", "check", "--disable-fetch", "advisories"])?;
    Ok(None)
}
