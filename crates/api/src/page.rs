//! The answer of every list.

use serde::{Deserialize, Serialize};

/// Some items of a list, and where the next ones begin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Null: there are no more.
    pub next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// A list that is answered whole.
    pub fn whole(items: Vec<T>) -> Page<T> {
        Page { items, next_cursor: None }
    }
}
