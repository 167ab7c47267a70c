//! The dashboard in a real browser: `tests/browser/run` against the binary of this build.
//!
//! Invariant: pictures are taken only when asked for, so that a check changes no file.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::cargo::built_with_tests;
use crate::tree;

/// What the flows need besides the binary.
const NEEDED: [&str; 3] = ["node", "npm", "chromium"];

/// Returns a note when this machine cannot do it.
pub(crate) fn run(args: &[String]) -> Result<Option<String>> {
    if let Some(missing) = NEEDED.iter().find(|program| !is_here(program)) {
        return Ok(Some(format!("{missing} is not installed (tests/browser/run installs what it needs)")));
    }
    let status = Command::new(tree::root().join("tests/browser/run"))
        .args(if args.is_empty() { vec!["--no-pictures".to_owned()] } else { args.to_vec() })
        .env("ORDO_BINARY", built_with_tests("ordo")?)
        .stdin(Stdio::null())
        .status()
        .context("starting tests/browser/run")?;
    if !status.success() {
        bail!("the dashboard does not behave: {status}");
    }
    Ok(None)
}

/// What the proxies need besides: they and a network of their own.
const NEEDED_BY_PROXIES: &str = "nginx caddy openssl ip unshare";

/// The dashboard behind the proxies that the documents show. Returns a note when this machine cannot do it.
pub(crate) fn behind_proxies() -> Result<Option<String>> {
    let looked =
        format!("for p in {NEEDED_BY_PROXIES}; do command -v $p >/dev/null || exit 1; done; unshare --net true");
    let can = Command::new("sh").args(["-c", &looked]).stdin(Stdio::null()).stderr(Stdio::null()).status();
    if !can.is_ok_and(|status| status.success()) {
        return Ok(Some(format!("needs {NEEDED_BY_PROXIES}, and root for a network of its own")));
    }
    run(&["--proxies".to_owned()])
}

fn is_here(program: &str) -> bool {
    let probe = Command::new(program).arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).status();
    probe.is_ok_and(|status| status.success())
}
