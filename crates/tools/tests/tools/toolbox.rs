//! Tools are found by name, and the configuration decides which there are.

use ordo_engine::clock::new_id;
use ordo_tools::{Environment, Noop, ProcessBook, ToolOptions, Toolbox, ToolboxError};
use serde_json::{Value, json};

use crate::bench::{launcher, run};

fn toolbox(options: Value) -> Result<Toolbox, ToolboxError> {
    let options: ToolOptions = serde_json::from_value(options).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let book = ProcessBook::open(folder.path().join("processes"), new_id()).unwrap();
    Toolbox::builtin(options, book, Environment::of_this_process(), launcher())
}

#[test]
fn the_built_in_tools_and_the_named_ones_are_there() {
    let toolbox = toolbox(json!({"named": {"report": {"command": "make", "args": ["report"]}}})).unwrap();
    assert_eq!(toolbox.names().collect::<Vec<_>>(), ["http", "noop", "report", "shell"]);
    assert_eq!(toolbox.get("report").unwrap().check(&json!({})), Ok(()));
    assert!(toolbox.get("shel").is_none());
    assert_eq!(toolbox.unknown("shel"), r#"unknown tool "shel", did you mean "shell"?"#);
    assert_eq!(toolbox.unknown("rust"), r#"unknown tool "rust"; there are http, noop, report, shell"#);
}

#[test]
fn shell_can_be_switched_off_and_limited() {
    let off = toolbox(json!({"shell": {"enabled": false}})).unwrap();
    assert!(off.get("shell").is_none());
    assert!(off.unknown("shell").contains("switched off"));
    let limited = toolbox(json!({"shell": {"allow": ["make", "/usr/bin/rsync"]}})).unwrap().get("shell").unwrap();
    assert_eq!(limited.check(&json!({"command": "make"})), Ok(()));
    assert!(limited.check(&json!({"command": "sh"})).is_err());
    let none = toolbox(json!({"shell": {"allow": []}})).unwrap().get("shell").unwrap();
    assert!(none.check(&json!({"command": "true"})).is_err());
}

#[test]
fn a_configuration_with_a_slip_is_refused_with_its_key() {
    let refused = |options: Value| toolbox(options).expect_err("refused").to_string();
    assert!(refused(json!({"named": {"shell": {"command": "x"}}})).starts_with("tools.named.shell: "));
    assert!(refused(json!({"named": {"a b": {"command": "x"}}})).starts_with("tools.named.a b: "));
    assert!(refused(json!({"named": {"r": {"command": "x", "args": ["{"]}}})).starts_with("tools.named.r: "));
    assert!(refused(json!({"shell": {"allow": ["bin/x"]}})).starts_with("tools.shell.allow: "));
    assert!(refused(json!({"shell": {"limits": {"open_files": 0}}})).starts_with("tools.shell.limits.open_files: "));
    assert!(refused(json!({"shell": {"user": "no-such-user"}})).starts_with("tools.shell.user: "));
    assert!(
        refused(json!({"named": {"r": {"command": "x", "user": "no-such-user"}}})).starts_with("tools.named.r: user: ")
    );
    for unknown in [json!({"shel": {}}), json!({"shell": {"allowed": []}}), json!({"http": {"allow": ["10.0.0.1/8"]}})]
    {
        assert!(serde_json::from_value::<ToolOptions>(unknown.clone()).is_err(), "{unknown}");
    }
}

#[tokio::test]
async fn noop_takes_anything_and_does_nothing() {
    for input in [json!({}), Value::Null, json!([1, "x"])] {
        assert_eq!(run(&Noop, input).await.0, Ok(Value::Null));
    }
}

#[tokio::test]
async fn a_sweep_of_nothing_ends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let book = ProcessBook::open(folder.path(), new_id()).unwrap();
    let toolbox = Toolbox::builtin(ToolOptions::default(), book, Environment::of_this_process(), launcher()).unwrap();
    assert_eq!(toolbox.sweep().await.unwrap(), 0);
}
