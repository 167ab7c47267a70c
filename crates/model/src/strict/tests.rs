//! What the strict reader refuses, and how it says so.

use serde::Deserialize;
use serde_json::{Value, json};

use super::*;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Outer {
    name: String,
    inner: Option<Inner>,
    #[serde(default)]
    many: Vec<Inner>,
    #[serde(default)]
    choice: Option<TestChoice>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Inner {
    n: u8,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum TestChoice {
    Plain,
    Full { cap: u32 },
}

fn refused(given: Value) -> (String, String) {
    let error = from_value::<Outer>(given).unwrap_err();
    (error.field(), error.message)
}

#[test]
fn a_list_is_no_object_at_any_depth() {
    assert_eq!(refused(json!(["a", null])), (String::new(), "must be an object, not a list".into()));
    assert_eq!(refused(json!({ "name": "a", "inner": [1] })).0, "inner");
    assert_eq!(refused(json!({ "name": "a", "many": [{ "n": 1 }, [1]] })).0, "many[1]");
    assert_eq!(refused(json!({ "name": "a", "choice": { "full": [1] } })).0, "choice.full");
    assert_eq!(refused(json!({ "name": "a", "many": { "n": 1 } })).1, "must be a list, not an object");
}

#[test]
fn what_is_wrong_is_named_by_its_path_in_plain_words() {
    for (given, field, message) in [
        (json!({}), "name", "is missing"),
        (json!({ "name": null }), "name", "must be a text, not null"),
        (json!({ "name": 1 }), "name", "must be a text, not a number"),
        (json!({ "name": "a", "inner": { "n": "x" } }), "inner.n", "must be a whole number, not a text"),
        (json!({ "name": "a", "inner": { "n": 1.5 } }), "inner.n", "must be a whole number"),
        (json!({ "name": "a", "inner": { "n": 300 } }), "inner.n", "must be a whole number from 0 to 255"),
        (json!({ "name": "a", "inner": { "n": 1, "m": 1 } }), "inner.m", "is not known here; known are n"),
        (json!({ "name": "a", "many": [{}] }), "many[0].n", "is missing"),
        (json!({ "name": "a", "choice": "other" }), "choice", "must be one of plain, full"),
        (json!({ "name": "a", "choice": 5 }), "choice", "must be one of plain, full"),
        (json!({ "name": "a", "choice": { "plain": null } }), "choice", "plain stands alone: write \"plain\""),
        (json!({ "name": "a", "choice": "full" }), "choice", "full cannot stand alone: write {\"full\": …}"),
        (
            json!({ "name": "a", "choice": { "full": { "cap": 1, "x": 1 } } }),
            "choice.full.x",
            "is not known here; known are cap",
        ),
    ] {
        assert_eq!(refused(given.clone()), (field.to_owned(), message.to_owned()), "{given}");
    }
}

#[test]
fn what_is_right_is_read() {
    let given = json!({ "name": "a", "inner": { "n": 1 }, "many": [{ "n": 2 }], "choice": { "full": { "cap": 3 } } });
    let read: Outer = from_value(given).unwrap();
    assert_eq!((read.inner, read.many), (Some(Inner { n: 1 }), vec![Inner { n: 2 }]));
    assert_eq!(read.choice, Some(TestChoice::Full { cap: 3 }));
    let any = json!({ "a": [1, -2, 3.5, null, { "b": "c" }] });
    assert_eq!(from_value::<Value>(any.clone()).unwrap(), any);
}

#[test]
fn a_key_stands_once_and_text_that_is_not_json_has_its_own_error() {
    let json = |text: &str| matches!(from_slice::<Value>(text.as_bytes()), Err(Unreadable::Json(_)));
    for text in ["", "{", "nonsense", "{} x", "{\"a\": 1, \"a\": 2}", "{\"x\": {\"a\": 1, \"a\": 1}}", "1e999"] {
        assert!(json(text), "{text}");
    }
    assert!(json(&"[".repeat(10_000)));
    assert!(matches!(from_slice::<Outer>(b"[]"), Err(Unreadable::Shape(_))));
}

#[test]
fn it_is_known_how_deep_a_value_is() {
    let nested = |levels| {
        (0..levels)
            .fold(Value::Null, |inner, level| if level % 2 == 0 { json!([1, inner]) } else { json!({ "a": inner }) })
    };
    assert!(!is_deeper_than(&nested(0), 0) && is_deeper_than(&nested(1), 0));
    assert!(!is_deeper_than(&nested(100), 100) && is_deeper_than(&nested(101), 100));
    assert!(is_deeper_than(&nested(1_000), 100), "it is not looked at to its end");
}
