//! Are the documents true? What they point at exists, what exists is on the map, every error code has its page,
//! every threat the tests that prove what stops it.

mod codes;
mod decisions;
mod links;
mod map;
mod markdown;
mod threats;

use std::path::Path;

use anyhow::{Result, bail};

pub(crate) fn check(root: &Path) -> Result<()> {
    let mut wrong = links::check(root)?;
    wrong.extend(map::check(root)?);
    wrong.extend(codes::check(root)?);
    wrong.extend(decisions::check(root)?);
    wrong.extend(threats::check(root)?);
    if !wrong.is_empty() {
        bail!("{} statements are not true\n  {}", wrong.len(), wrong.join("\n  "));
    }
    println!("the documents are true");
    Ok(())
}
