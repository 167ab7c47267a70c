//! What is wrong with a plan.

use serde_json::Value;

/// Tables that grow with what is stored. The others have a row per partition or node.
const GROWING: [&str; 10] = [
    "entities",
    "events",
    "rows",
    "dedup",
    "chunks",
    "starts",
    "stored_jobs",
    "stored_runs",
    "stored_incidents",
    "submissions",
];
/// Rows that do not count: pages of an index are read whole.
const SLACK: f64 = 20.0;

/// Whether a relation of this schema is in the plan.
pub(crate) fn names_schema(plan: &Value, schema: &str) -> bool {
    nodes(plan).iter().any(|node| node["Schema"] == schema)
}

/// Of a plan that was executed.
pub(crate) fn executed(statement: &str, plan: &Value) -> Vec<String> {
    let mut findings = planned(statement, plan);
    let number = |node: &Value, name: &str| node[name].as_f64().unwrap_or(0.0);
    for node in nodes(plan) {
        if node["Sort Space Type"] == "Disk" || number(node, "Temp Written Blocks") > 0.0 {
            findings.push(format!("writes to a file: {statement}"));
        }
        if !is_growing(node) {
            continue;
        }
        let returned = number(node, "Actual Rows");
        let dropped = number(node, "Rows Removed by Filter") + number(node, "Rows Removed by Index Recheck");
        if dropped > returned + SLACK {
            findings.push(format!("reads {} rows of {} for {returned}: {statement}", dropped + returned, name(node)));
        }
    }
    findings
}

/// Of the plan alone.
pub(crate) fn planned(statement: &str, plan: &Value) -> Vec<String> {
    let mut findings = Vec::new();
    for node in nodes(plan).into_iter().filter(|node| is_growing(node)) {
        let kind = node["Node Type"].as_str().unwrap_or_default();
        let is_bounded = kind == "Seq Scan" && is_limited(plan, node);
        if kind == "Seq Scan" && !is_bounded {
            findings.push(format!("scans {} from end to end: {statement}", name(node)));
        }
    }
    findings
}

/// A scan that ends as soon as it has a few rows, whichever.
fn is_limited(plan: &Value, scan: &Value) -> bool {
    nodes(plan).iter().any(|node| node["Node Type"] == "Limit" && node["Plans"][0] == *scan && scan["Filter"].is_null())
}

fn name(node: &Value) -> &str {
    node["Relation Name"].as_str().unwrap_or_default()
}

fn is_growing(node: &Value) -> bool {
    GROWING.contains(&name(node))
}

fn nodes(plan: &Value) -> Vec<&Value> {
    let below = plan["Plans"].as_array().into_iter().flatten().flat_map(nodes);
    std::iter::once(plan).chain(below).collect()
}
