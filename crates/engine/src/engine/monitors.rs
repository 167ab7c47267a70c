//! Monitors as callers use them: by name, by token.

use ordo_model::monitor::Monitor;
use ordo_store::{Direction, Fault};

use crate::commit::kinds::monitor::{MONITORS, MONITORS_BY_TOKEN, token_prefix};
use crate::commit::state::Versioned;
use crate::read::object_queries::IndexRange;
use crate::read::page::{Cursor, ListPage};
use crate::read::queries::Queries;

impl Queries {
    /// The monitor that pings with this token are for.
    pub async fn monitor_of_token(&self, token: &str) -> Result<Option<Versioned<Monitor>>, Fault> {
        let prefix = token_prefix(token);
        let section = IndexRange {
            index: MONITORS_BY_TOKEN,
            prefix: &prefix,
            after: None,
            order: Direction::Ascending,
            limit: 1,
        };
        Ok(self.objects::<Monitor>(&section).await?.items.pop())
    }

    /// Monitors by name.
    pub async fn monitors(&self, after: Option<&Cursor>, limit: usize) -> Result<ListPage<Versioned<Monitor>>, Fault> {
        self.objects(&IndexRange { index: MONITORS, prefix: &[], after, order: Direction::Ascending, limit }).await
    }
}
