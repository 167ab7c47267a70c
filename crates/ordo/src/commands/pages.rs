//! Lists longer than one page.

use serde_json::Value;

use super::live::watch;
use super::talk::CommandSession;
use crate::cli::RefreshArgs;
use crate::cli::job::Pages;
use crate::error::{Exit, Result};
use crate::locate::query;
use crate::output;

/// What the server gives at most at once.
const PAGE_MAX: usize = ordo_model::limits::PAGE_MAX;

/// Some items of a list, and whether there are more.
#[derive(Debug)]
pub(crate) struct ListedItems {
    pub(crate) items: Vec<Value>,
    pub(crate) more: bool,
}

/// Shows a list, once or again and again, and says if there is more of it.
pub(crate) async fn show(
    talk: &CommandSession,
    path: &str,
    filters: &[(&str, Option<String>)],
    pages: &Pages,
    human: impl Fn(&[Value]) -> String,
) -> Result<Exit> {
    watch::repeated(talk, pages.watch, async || {
        let listed = items(talk, path, filters, pages.wanted()).await?;
        talk.list(&listed.items, || human(&listed.items))?;
        if listed.more {
            output::note(&format!("… and more: --all, or --limit {}", pages.limit.saturating_mul(4)));
        }
        Ok(())
    })
    .await
}

/// The same for a list that is always shown in full.
pub(crate) async fn show_all(
    talk: &CommandSession,
    path: &str,
    every: RefreshArgs,
    human: impl Fn(&[Value]) -> String,
) -> Result<Exit> {
    watch::repeated(talk, every, async || {
        let listed = items(talk, path, &[], usize::MAX).await?.items;
        talk.list(&listed, || human(&listed))
    })
    .await
}

pub(crate) async fn items(
    talk: &CommandSession,
    path: &str,
    filters: &[(&str, Option<String>)],
    wanted: usize,
) -> Result<ListedItems> {
    let mut listed = ListedItems { items: Vec::new(), more: true };
    let mut cursor: Option<String> = None;
    while listed.more && listed.items.len() < wanted {
        // A list that is always whole takes no limit: one is only sent by those who want a part.
        let limit = (wanted != usize::MAX).then(|| (wanted - listed.items.len()).min(PAGE_MAX).to_string());
        let mut parameters = filters.to_vec();
        parameters.extend([("limit", limit), ("cursor", cursor.take())]);
        let mut page = talk.get(&format!("{path}{}", query(&parameters))).await?;
        if let Some(Value::Array(items)) = page.get_mut("items").map(Value::take) {
            listed.items.extend(items);
        }
        cursor = page["next_cursor"].as_str().map(str::to_owned);
        listed.more = cursor.is_some();
    }
    Ok(listed)
}
