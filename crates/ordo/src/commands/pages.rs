//! Lists longer than one page.

use serde_json::Value;

use super::talk::CommandSession;
use crate::error::Result;
use crate::locate::query;

/// What the server gives at most at once.
const PAGE_MAX: usize = ordo_model::limits::PAGE_MAX;

/// Some items of a list, and whether there are more.
#[derive(Debug)]
pub(crate) struct ListedItems {
    pub(crate) items: Vec<Value>,
    pub(crate) more: bool,
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
        let limit = (wanted - listed.items.len()).min(PAGE_MAX);
        let mut parameters = filters.to_vec();
        parameters.extend([("limit", Some(limit.to_string())), ("cursor", cursor.take())]);
        let mut page = talk.get(&format!("{path}{}", query(&parameters))).await?;
        if let Some(Value::Array(items)) = page.get_mut("items").map(Value::take) {
            listed.items.extend(items);
        }
        cursor = page["next_cursor"].as_str().map(str::to_owned);
        listed.more = cursor.is_some();
    }
    Ok(listed)
}
