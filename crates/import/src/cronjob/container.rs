//! What a CronJob does: the command of its first container, run by the shell tool.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::references::expanded;

pub(super) fn input(pod: &Value, warnings: &mut Vec<String>) -> Result<Value, String> {
    let containers = pod["containers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let [container, others @ ..] = containers else { return Err("has no container".to_owned()) };
    for other in others {
        warnings.push(format!("the container {} is left out: a job runs one command", other["name"]));
    }
    let env = environment(container, warnings);
    let command: Vec<String> = texts(container, "command")?.iter().map(|word| expanded(word, &env)).collect();
    let args: Vec<String> = texts(container, "args")?.iter().map(|word| expanded(word, &env)).collect();
    let [program, rest @ ..] = command.as_slice() else {
        return Err(format!(
            "its container has no command: what the image {} starts by itself is not in the file; write it under command",
            container["image"]
        ));
    };
    warnings
        .push(format!("the image {} is left out: {program} must exist where the executor runs", container["image"]));
    let mut input = json!({ "command": program });
    let args: Vec<&String> = rest.iter().chain(&args).collect();
    if !args.is_empty() {
        input["args"] = json!(args);
    }
    if !env.is_empty() {
        input["env"] = json!(env);
    }
    if let Some(folder) = container["workingDir"].as_str() {
        input["cwd"] = json!(folder);
    }
    Ok(input)
}

/// Values that stand in the file. Those that stand elsewhere in the cluster are reported.
fn environment(container: &Value, warnings: &mut Vec<String>) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for variable in container["env"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let Some(name) = variable["name"].as_str() else { continue };
        if !variable["valueFrom"].is_null() {
            let source = variable["valueFrom"].as_object().and_then(|from| from.keys().next().cloned());
            let source = source.unwrap_or_else(|| "elsewhere".to_owned());
            warnings.push(format!("the variable {name} is left out: its value comes from {source}"));
            continue;
        }
        let value = match &variable["value"] {
            Value::Null => String::new(),
            Value::String(text) => expanded(text, &all),
            // Kubernetes wants quotes around it; what was meant is plain all the same.
            other => other.to_string(),
        };
        all.insert(name.to_owned(), value);
    }
    all
}

fn texts(container: &Value, name: &str) -> Result<Vec<String>, String> {
    let Some(words) = container[name].as_array() else { return Ok(Vec::new()) };
    let text = |word: &Value| match word {
        Value::String(text) => Ok(text.clone()),
        Value::Number(_) | Value::Bool(_) => Ok(word.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => Err(format!("{name} holds {word}, which is no text")),
    };
    words.iter().map(text).collect()
}
