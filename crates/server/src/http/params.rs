//! Query parameters: each known by name, given at most once; and the pages of lists.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use axum::extract::{FromRequestParts, Query};
use axum::http::Uri;
use axum::http::request::Parts;
use ordo_api::Code;
pub(crate) use ordo_engine::page::Cursor;
use ordo_model::limits::{PAGE_DEFAULT, PAGE_MAX};

use crate::http::problem::Problem;

/// What stands behind the question mark. Handlers take what they know and end with [`Params::finish`].
#[derive(Debug, Default)]
pub(crate) struct Params(BTreeMap<String, String>);

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Params, Problem> {
        Params::of(&parts.uri)
    }
}

impl Params {
    pub(crate) fn of(uri: &Uri) -> Result<Params, Problem> {
        let unread = |e| Problem::new(Code::InvalidQuery, format!("the query cannot be read: {e}"));
        let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri).map_err(unread)?;
        let mut params = Params::default();
        for (name, value) in pairs {
            if params.0.insert(name.clone(), value).is_some() {
                return Err(Problem::field(Code::InvalidQuery, name, "is given twice"));
            }
        }
        Ok(params)
    }

    pub(crate) fn take<T: FromStr<Err: Display>>(&mut self, name: &str) -> Result<Option<T>, Problem> {
        let Some(value) = self.0.remove(name) else { return Ok(None) };
        value.parse().map(Some).map_err(|e| Problem::field(Code::InvalidQuery, name, format!("{e}")))
    }

    pub(crate) fn take_text(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    /// A number between 1 and `max`.
    pub(crate) fn take_count(&mut self, name: &str, default: usize, max: usize) -> Result<usize, Problem> {
        match self.take::<usize>(name)? {
            None => Ok(default),
            Some(count) if (1..=max).contains(&count) => Ok(count),
            Some(_) => Err(Problem::field(Code::InvalidQuery, name, format!("must be between 1 and {max}"))),
        }
    }

    pub(crate) fn take_limit(&mut self) -> Result<usize, Problem> {
        self.take_count("limit", PAGE_DEFAULT, PAGE_MAX)
    }

    /// Where a page begins, as an earlier page said.
    pub(crate) fn take_cursor<T: FromStr>(&mut self) -> Result<Option<T>, Problem> {
        let Some(value) = self.0.remove("cursor") else { return Ok(None) };
        let refuse = |_| Problem::field(Code::InvalidCursor, "cursor", "is not one that this list gave out");
        value.parse().map(Some).map_err(refuse)
    }

    /// A parameter that nobody took is not one of the route's.
    pub(crate) fn finish(self) -> Result<(), Problem> {
        match self.0.into_keys().next() {
            Some(name) => Err(Problem::field(Code::InvalidQuery, name, "this route has no such parameter")),
            None => Ok(()),
        }
    }
}

pub(crate) fn next_cursor(next: Option<Cursor>) -> Option<String> {
    next.map(|cursor| cursor.to_string())
}
