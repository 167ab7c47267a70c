//! Ids as tables show them: the beginning that tells them apart, which every command accepts in their place.
//!
//! Invariant: ids begin with the time they were made at, so a beginning is at least as long as that time.

use serde_json::Value;

/// The milliseconds of a UUIDv7, with the hyphen in them.
const SHORTEST: usize = 13;

/// How many characters tell all of these apart.
pub(crate) fn length<'a>(ids: impl Iterator<Item = &'a str>) -> usize {
    let mut ids: Vec<&str> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    let shared = |pair: &[&str]| pair[0].bytes().zip(pair[1].bytes()).take_while(|(a, b)| a == b).count();
    let longest = ids.windows(2).map(shared).max().unwrap_or(0);
    // A hyphen at the end tells nothing apart.
    match (longest + 1).max(SHORTEST) {
        length @ (9 | 14 | 19 | 24) => length + 1,
        length => length,
    }
}

/// The ids of these items, cut to what tells them apart.
pub(crate) fn shortened(items: &[Value]) -> impl Fn(&Value) -> String + use<> {
    let length = length(items.iter().filter_map(|item| item["id"].as_str()));
    move |item: &Value| item["id"].as_str().unwrap_or_default().chars().take(length).collect()
}

/// Whether somebody may have copied it from a table.
pub(crate) fn is_short(name: &str) -> bool {
    (8..36).contains(&name.len())
        && name.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
        && name.contains(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_are_cut_to_what_tells_them_apart() {
        let items: Vec<Value> = [
            "0199a1b2-c3d4-7abc-8000-000000000001",
            "0199a1b2-c3d4-7abd-8000-000000000001",
            "0199a1b3-0000-7abc-8000-000000000001",
        ]
        .map(|id| json!({ "id": id }))
        .into();
        let short = shortened(&items);
        assert_eq!(short(&items[0]), "0199a1b2-c3d4-7abc");
        assert_eq!(shortened(&items[2..])(&items[2]), "0199a1b3-0000");
        assert!(is_short("0199a1b3-0000") && !is_short("nightly") && !is_short("cafe"));
    }
}
