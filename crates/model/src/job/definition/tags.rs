//! Tags: the words by which people find jobs that belong together, whatever they are called and wherever they run.
//!
//! Invariant: a tag stands in an address, in a search and on a command line as it is: nothing in it needs quoting, and two
//! that differ look different.

use std::collections::BTreeSet;

use super::Invalid;
use crate::limits::{TAG_MAX_BYTES, TAGS_MAX};
use crate::text::shortened;

/// What a tag looks like, as a regular expression.
pub const TAG_PATTERN: &str = "^[a-z0-9][a-z0-9._:-]*$";
/// How much of a text that is no tag is repeated.
const SHOWN_BYTES: usize = 60;

/// Why this is no tag, if it is none.
pub fn check_tag(text: &str) -> Result<(), String> {
    let shown = || shortened(text, SHOWN_BYTES);
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | ':' | '-');
    if text.is_empty() {
        return Err("a tag must not be empty".to_owned());
    }
    if text.len() > TAG_MAX_BYTES {
        return Err(format!("{:?} is {} characters long, a tag has at most {TAG_MAX_BYTES}", shown(), text.len()));
    }
    if !text.chars().all(is_inner) {
        return Err(format!(
            "{:?} is no tag: use lower-case letters (a to z), digits and . _ : -, such as team:billing",
            shown()
        ));
    }
    match text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        true => Ok(()),
        false => Err(format!("{:?} is no tag: it must begin with a letter or a digit", shown())),
    }
}

/// All tags of a job.
pub(super) fn validate(tags: &BTreeSet<String>) -> Result<(), Invalid> {
    if tags.len() > TAGS_MAX {
        return Err(Invalid::new("tags", format!("has {} tags, at most {TAGS_MAX} are allowed", tags.len())));
    }
    tags.iter().try_for_each(|tag| check_tag(tag)).map_err(|why| Invalid::new("tags", why))
}
