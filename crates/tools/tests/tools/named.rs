//! A named tool fills the places of its template and nothing else.

use ordo_engine::tool::Tool;
use ordo_tools::{DefinitionError, NamedDefinition, NamedTool};
use serde_json::{Value, json};

use crate::bench::{Bench, run};

fn tool(definition: Value) -> Result<NamedTool, DefinitionError> {
    tool_on(&Bench::new(), definition)
}

fn tool_on(bench: &Bench, definition: Value) -> Result<NamedTool, DefinitionError> {
    let definition: NamedDefinition = serde_json::from_value(definition).unwrap();
    NamedTool::new("report", definition, bench.runner.clone())
}

async fn output(definition: Value, input: Value) -> String {
    let bench = Bench::new();
    let (outcome, _) = run(&tool_on(&bench, definition).unwrap(), input).await;
    outcome.unwrap()["output"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn each_value_stays_inside_its_argument() {
    let definition = json!({"command": "printf", "args": ["[%s]", "--for={slug}", "{count}", "{dry}", "{{x}}"]});
    let input = json!({"slug": "a b; $(id) 'q' {count}", "count": 5, "dry": true});
    assert_eq!(output(definition, input).await, "[--for=a b; $(id) 'q' {count}][5][true][{x}]");
}

#[tokio::test]
async fn values_reach_the_environment_and_the_input_text() {
    let script = "printf '%s|%s|' \"$WHO\" \"$ORDO_ATTEMPT\"; cat";
    let definition = json!({"command": "sh", "args": ["-c", script], "env": {"WHO": "<{who}>"}, "stdin": "dear {who}"});
    assert_eq!(output(definition, json!({"who": "Ann"})).await, "<Ann>|1|dear Ann");
}

#[tokio::test]
async fn a_tool_without_places_takes_nothing() {
    let definition = json!({"command": "pwd", "cwd": "/"});
    assert_eq!(output(definition.clone(), json!({})).await, "/");
    assert_eq!(output(definition, Value::Null).await, "/");
}

#[test]
fn an_input_that_does_not_fit_is_refused_by_name() {
    let tool = tool(json!({"command": "echo", "args": ["{slug}", "-n{count}"]})).unwrap();
    let refused = |input: Value| tool.check(&input).unwrap_err();
    assert_eq!(refused(json!({"slug": "x"})), r#"report needs the field "count""#);
    assert_eq!(refused(json!({"slug": null, "count": 1})), r#"report needs the field "slug""#);
    assert_eq!(
        refused(json!({"slug": "x", "count": 1, "slugs": 2})),
        r#"report has no field "slugs", did you mean "slug"?"#
    );
    assert_eq!(refused(json!({"slug": ["x"], "count": 1})), "slug must be text, a number or a boolean, not a list");
    assert!(refused(json!({"slug": "a\0b", "count": 1})).contains("zero byte"));
    assert!(refused(json!([])).contains(r#"takes an object such as {"count": …, "slug": …}"#));
    assert_eq!(tool.check(&json!({"slug": "x", "count": "-5"})), Ok(()));
}

#[tokio::test]
async fn a_value_cannot_become_an_option() {
    let open = tool(json!({"command": "ls", "args": ["{file}"]})).unwrap();
    assert!(open.check(&json!({"file": "--recursive"})).unwrap_err().contains("taken for an option"));
    assert!(open.check(&json!({"file": -5})).unwrap_err().contains("taken for an option"));
    let closed = json!({"command": "printf", "args": ["%s", "--", "{file}"]});
    assert_eq!(output(closed, json!({"file": "-x"})).await, "---x");
}

#[test]
fn a_definition_with_a_slip_is_refused() {
    for definition in [
        json!({"command": "echo", "args": ["{slug"]}),
        json!({"command": "echo", "stdin": "}"}),
        json!({"command": ""}),
        json!({"command": "echo", "env": {"ORDO_TOKEN": "x"}}),
    ] {
        assert!(tool(definition.clone()).is_err(), "{definition}");
    }
    assert!(serde_json::from_value::<NamedDefinition>(json!({"command": "echo", "arguments": []})).is_err());
}

#[test]
fn an_option_cannot_be_put_together_nor_be_a_number() {
    let tool = tool(json!({"command": "rm", "args": ["{a}{b}", "{n}", "x{a}", "--", "{c}"]})).unwrap();
    let fields = |a: Value, b: Value, n: Value| tool.check(&json!({"a": a, "b": b, "n": n, "c": "-rf"}));
    assert_eq!(fields(json!("a"), json!("-b"), json!(5)), Ok(()));
    let refused = |a, b, n| fields(a, b, n).unwrap_err();
    assert!(refused(json!(""), json!("-rf"), json!(1)).starts_with("b: must not begin with -"));
    assert!(refused(json!("-"), json!("rf"), json!(1)).starts_with("a: must not begin with -"));
    assert!(refused(json!("a"), json!("b"), json!(-5)).starts_with("n: must not begin with -"));
}
