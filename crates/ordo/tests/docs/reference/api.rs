//! Every route, from the table that server, description and tests walk.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ordo_api::{Need, Operation, Route, openapi};
use serde_json::Value;

use super::schemas::{constraints, link, resolved, shown};
use super::table;

const HEAD: &str = "# HTTP API

`GET /openapi.json` describes all of this for programs. Bodies are JSON; times are RFC 3339 in UTC, durations are written
`1h30m`. A success is answered only after it is durable. Whatever is not a success is a problem with a
[code](errors.md). Every request needs `Authorization: Bearer TOKEN` with a token of the named [role](roles.md) or of one
that may do more, unless it says *open*; the Unix socket needs no token.

";

pub(super) fn page() -> String {
    let mut text = HEAD.to_owned();
    let all: Vec<&Route> = Operation::ALL.iter().map(|operation| operation.route()).collect();
    for tag in openapi()["tags"].as_array().unwrap() {
        let name = tag["name"].as_str().unwrap();
        let _ = write!(text, "## {name}\n\n{}\n\n", tag["description"].as_str().unwrap());
        let of_tag: Vec<&&Route> = all.iter().filter(|route| route.tag == name).collect();
        let rows = of_tag.iter().map(|route| {
            vec![format!("`{} {}`", route.method.name(), route.path), need(route.need), route.summary.to_owned()]
        });
        text += &table(&["route", "role", ""], rows);
        text.push('\n');
        of_tag.iter().for_each(|route| describe(route, &mut text));
    }
    text
}

fn need(need: Need) -> String {
    match need {
        Need::Open => "*open*".to_owned(),
        Need::Right(right) => right.least().name().to_owned(),
        Need::RightOrHolder(right) => format!("{}, or the executor that has a run of it", right.least().name()),
    }
}

fn describe(route: &Route, text: &mut String) {
    let form = &openapi()["paths"][route.path][route.method.name().to_lowercase()];
    let _ = write!(text, "### {} {}\n\n{}.", route.method.name(), route.path, route.summary.trim_end_matches('.'));
    if let Some(more) = form["description"].as_str().filter(|more| *more != route.summary) {
        let _ = write!(text, " {more}");
    }
    let _ = write!(text, "\n\nRole: {}.", need(route.need));
    if let Some(content) = form["requestBody"]["content"].as_object() {
        let bodies: Vec<String> = content.iter().map(|(media, body)| body_of(media, body)).collect();
        let optional = if form["requestBody"]["required"] == true { "" } else { " (may be left out)" };
        let _ = write!(text, " Takes {}{optional}.", bodies.join(" or "));
    }
    let _ = write!(text, " Answers {}.\n\n", answers(form));
    if let Some(parameters) = form["parameters"].as_array().filter(|all| !all.is_empty()) {
        let rows = parameters.iter().map(|parameter| parameter_row(resolved(parameter)));
        text.push_str(&table(&["parameter", "in", "value", ""], rows));
        text.push('\n');
    }
    let codes: Vec<String> =
        route.codes().iter().map(|code| format!("[`{0}`](../errors/{0}.md)", code.text())).collect();
    let _ = write!(text, "Refuses with: {}.\n\n", codes.join(", "));
}

fn body_of(media: &str, body: &Value) -> String {
    let schema = &body["schema"];
    match schema["$ref"].as_str() {
        Some(_) if media == "application/json" => link(schema),
        Some(_) => format!("{} as `{media}`", link(schema)),
        None => format!("`{media}`"),
    }
}

fn answers(form: &Value) -> String {
    let successes = form["responses"].as_object().unwrap().iter().filter(|(status, _)| status.as_str() < "400");
    let sorted: BTreeMap<&String, &Value> = successes.collect();
    let texts = sorted.iter().map(|(status, answer)| {
        let content = answer["content"].as_object();
        let bodies: Vec<String> = content.into_iter().flatten().map(|(media, body)| body_of(media, body)).collect();
        match bodies.is_empty() {
            true => (*status).clone(),
            false => format!("{status} with {}", bodies.join(" or ")),
        }
    });
    texts.collect::<Vec<_>>().join(", ")
}

fn parameter_row(parameter: &Value) -> Vec<String> {
    let name = parameter["name"].as_str().unwrap_or_default();
    let required = if parameter["required"] == true && parameter["in"] != "path" { ", required" } else { "" };
    let place = parameter["in"].as_str().unwrap_or_default();
    let schema = &parameter["schema"];
    let about = parameter["description"].as_str().unwrap_or_default();
    let about = [about.to_owned(), constraints(schema)].join(" ");
    vec![format!("`{name}`"), format!("{place}{required}"), shown(schema), about]
}
