//! `If-Match`: a change is made only if the job is still at the revision its author saw.

use axum::http::{HeaderMap, header};
use ordo_api::Code;

use crate::http::problem::Problem;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum IfMatch {
    /// Whatever the revision is.
    Any,
    OneOf(Vec<u64>),
}

impl IfMatch {
    pub(crate) fn read(headers: &HeaderMap) -> Result<IfMatch, Problem> {
        let Some(value) = headers.get(header::IF_MATCH) else { return Ok(IfMatch::Any) };
        let refuse = || Problem::new(Code::InvalidHeader, "If-Match takes the job's ETag, such as \"3\"");
        let text = value.to_str().map_err(|_| refuse())?.trim();
        if text == "*" {
            return Ok(IfMatch::Any);
        }
        let revisions: Result<Vec<u64>, _> = text.split(',').map(|tag| tag.trim().trim_matches('"').parse()).collect();
        revisions.map(IfMatch::OneOf).map_err(|_| refuse())
    }

    pub(crate) fn check(&self, revision: u64) -> Result<(), Problem> {
        match self {
            IfMatch::OneOf(wanted) if !wanted.contains(&revision) => {
                let detail = format!("the job was changed by somebody else: it is at revision {revision}");
                Err(Problem::new(Code::RevisionMoved, detail))
            }
            IfMatch::Any | IfMatch::OneOf(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<IfMatch, Problem> {
        IfMatch::read(&HeaderMap::from_iter([(header::IF_MATCH, text.parse().unwrap())]))
    }

    #[test]
    fn tags_are_read_with_and_without_quotes() {
        assert_eq!(IfMatch::read(&HeaderMap::new()).unwrap(), IfMatch::Any);
        assert_eq!(read("*").unwrap(), IfMatch::Any);
        assert_eq!(read("\"3\"").unwrap(), IfMatch::OneOf(vec![3]));
        assert_eq!(read("3, \"4\"").unwrap(), IfMatch::OneOf(vec![3, 4]));
        for wrong in ["", "W/\"3\"", "abc", "\"-1\""] {
            assert_eq!(read(wrong).unwrap_err().code, Code::InvalidHeader, "{wrong}");
        }
    }

    #[test]
    fn another_revision_is_refused() {
        assert!(IfMatch::OneOf(vec![2, 3]).check(3).is_ok());
        assert_eq!(IfMatch::OneOf(vec![2]).check(3).unwrap_err().code, Code::RevisionMoved);
    }
}
