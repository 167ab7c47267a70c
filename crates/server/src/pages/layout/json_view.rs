//! JSON as people read it: coloured, folded where it is deep, numbers as they were written.

use serde_json::Value;

use crate::pages::layout::html::Html;

/// Deeper levels are folded until somebody opens them, and so is what has many entries.
const OPEN_LEVELS: usize = 8;
const OPEN_ENTRIES: usize = 40;
/// A text that holds JSON is opened up to this length.
const OPEN_TEXT_BYTES: usize = 64 * 1024;
/// More entries of one array or object are counted, not shown.
const ENTRIES_SHOWN: usize = 200;

pub(crate) fn draw(value: &Value) -> Html {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    let html = Html::new()
        .raw("<div class=\"json\"><button type=\"button\" class=\"icon-button json-copy\" data-copy=\"")
        .text(&text)
        .raw("\" hidden aria-label=\"Copy as JSON\"><svg class=\"icon\" aria-hidden=\"true\"><use href=\"#i-copy\"/></svg></button>");
    node(html, None, value, 0).raw("</div>")
}

fn node(html: Html, key: Option<&str>, value: &Value, level: usize) -> Html {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let entries = fields.iter().map(|(key, value)| (Some(key.as_str()), value));
            fold(html, key, ("{", "}"), fields.len(), entries, level)
        }
        Value::Array(items) if !items.is_empty() => {
            fold(html, key, ("[", "]"), items.len(), items.iter().map(|item| (None, item)), level)
        }
        Value::Object(_) => leaf(html, key, "mark", "{}"),
        Value::Array(_) => leaf(html, key, "mark", "[]"),
        Value::Null => leaf(html, key, "word", "null"),
        Value::Bool(it_is) => leaf(html, key, "word", if *it_is { "true" } else { "false" }),
        Value::Number(number) => leaf(html, key, "number", &number.to_string()),
        // Bodies and payloads are JSON in a text: they are opened like the rest.
        Value::String(text) if inner(text).is_some() => {
            let inside = inner(text).unwrap_or_default();
            node(
                named(html.raw("<div class=\"entry\">"), key).raw("<span class=\"count\">text with JSON</span></div>"),
                None,
                &inside,
                level + 1,
            )
        }
        // A text of several lines keeps them: output of commands is the usual one.
        Value::String(text) if text.trim_end().contains('\n') => {
            let html = named(html.raw("<div class=\"entry\">"), key).raw("<pre class=\"text\">").text(text);
            html.raw("</pre></div>")
        }
        Value::String(text) => leaf(html, key, "text", &Value::from(text.as_str()).to_string()),
    }
}

/// The object or list that a text holds, if it holds one.
fn inner(text: &str) -> Option<Value> {
    let looks_like_one = text.len() <= OPEN_TEXT_BYTES && text.trim_start().starts_with(['{', '[']);
    let read: Option<Value> = looks_like_one.then(|| serde_json::from_str(text).ok()).flatten();
    read.filter(|value| {
        value.as_object().is_some_and(|fields| !fields.is_empty())
            || value.as_array().is_some_and(|items| !items.is_empty())
    })
}

fn leaf(html: Html, key: Option<&str>, class: &str, text: &str) -> Html {
    let html = named(html.raw("<div class=\"entry\">"), key);
    html.raw(format_args!("<span class=\"{class}\">")).text(text).raw("</span></div>")
}

fn named(html: Html, key: Option<&str>) -> Html {
    match key {
        Some(key) => html.raw("<span class=\"key\">").text(key).raw("</span><span class=\"mark\">: </span>"),
        None => html,
    }
}

fn fold<'a>(
    html: Html,
    key: Option<&str>,
    (open, close): (&str, &str),
    count: usize,
    entries: impl Iterator<Item = (Option<&'a str>, &'a Value)>,
    level: usize,
) -> Html {
    let state = if level < OPEN_LEVELS && (level < 2 || count <= OPEN_ENTRIES) { " open" } else { "" };
    let mut html = named(html.raw(format_args!("<details{state}><summary>")), key)
        .raw(format_args!("<span class=\"mark\">{open}</span> <span class=\"count\">{count}</span></summary>"))
        .raw("<div class=\"inside\">");
    for (key, value) in entries.take(ENTRIES_SHOWN) {
        html = node(html, key, value, level + 1);
    }
    if count > ENTRIES_SHOWN {
        html = html.raw(format_args!("<div class=\"entry quiet\">… {} more</div>", count - ENTRIES_SHOWN));
    }
    html.raw(format_args!("</div><span class=\"mark\">{close}</span></details>"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nothing_in_the_value_becomes_markup() {
        let drawn = draw(&json!({ "<b>": "<script>", "deep": [[{ "x": "'\"" }]] })).to_string();
        assert!(!drawn.contains("<script>") && !drawn.contains("<b>"), "{drawn}");
    }

    #[test]
    fn json_in_a_text_is_opened_and_all_of_it_can_be_copied() {
        let drawn = draw(&json!({ "body": "{\"deep\": {\"er\": [1]}}", "plain": "[not json" })).to_string();
        assert!(drawn.contains("text with JSON") && drawn.contains(">er<"), "{drawn}");
        assert!(drawn.contains("data-copy=\"{\n  &quot;body&quot;"), "{drawn}");
        assert_eq!(drawn.matches("<details open>").count(), drawn.matches("<details").count(), "nothing is folded");
    }

    #[test]
    fn large_numbers_keep_their_digits_and_long_lists_are_cut() {
        assert!(draw(&json!(18_446_744_073_709_551_615_u64)).to_string().contains("18446744073709551615"));
        assert!(draw(&json!(vec![0; 1_000])).to_string().contains("… 800 more"));
    }
}
