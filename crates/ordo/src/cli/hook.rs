//! `ordo hook …`

use clap::{Args, Subcommand};
use ordo_api::hooks::SchemeName;
use ordo_model::hook::{Filter, Test};
use ordo_model::strict;
use serde_json::Value;

use super::RemovalArgs;
use super::job::Pages;
use super::values::{self, names_of};
use crate::commands::about::completions::Listed;

#[derive(Debug, Subcommand)]
pub(crate) enum HookSubcommand {
    /// Add a hook: a URL that others call and that starts jobs
    Add(HookArgs),
    /// Change how a hook verifies and filters; options that are not given stay as they are
    Update(HookUpdateArgs),
    /// List hooks
    #[command(visible_alias = "ls")]
    List(Pages),
    /// Show one hook in full
    Show(SlugArg),
    /// Remove a hook; the jobs it starts stay
    #[command(visible_alias = "rm")]
    Remove(RemovalArgs<SlugArg>),
    /// List deliveries, newest first, and what they started
    Deliveries(DeliveriesArgs),
    /// Replay a delivery to every job that listens now
    Replay(ReplayArgs),
    /// Call a hook as a verified caller would: it starts the jobs that listen
    Test(TestArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SlugArg {
    /// The last part of the hook's URL: /hooks/SLUG
    #[arg(add = names_of(Listed::Hooks))]
    pub(crate) slug: String,
}

#[derive(Debug, Args)]
pub(crate) struct HookUpdateArgs {
    #[command(flatten)]
    pub(crate) terms: HookArgs,
    /// Stop verifying callers: anyone who knows the URL may call it
    #[arg(long, conflicts_with = "verify")]
    pub(crate) no_verify: bool,
    /// Remove the filter
    #[arg(long, conflicts_with = "filter")]
    pub(crate) no_filter: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    #[command(flatten)]
    pub(crate) hook: SlugArg,
    /// How callers are verified: github, slack, stripe, standard, hmac or bearer [default: not at all]
    #[arg(long, value_name = "HOW", value_parser = values::named::<SchemeName>, requires = "any_secret")]
    pub(crate) verify: Option<SchemeName>,
    /// The secret shared with the sender; @FILE reads it from a file, @- from standard input
    #[arg(long, value_name = "SECRET", value_parser = secret, group = "any_secret", requires = "verify")]
    pub(crate) secret: Option<String>,
    /// The name of a stored secret (ordo secret set)
    #[arg(long, value_name = "NAME", group = "any_secret", requires = "verify")]
    pub(crate) secret_name: Option<String>,
    /// For hmac: the header with the signature [default: X-Signature-256, then X-Signature]
    #[arg(long, value_name = "NAME", requires = "verify")]
    pub(crate) header: Option<String>,
    /// Accept only payloads that match: /ref=refs/heads/main, /action!=closed, /pull_request, or JSON
    #[arg(long, value_name = "FILTER", value_parser = filter)]
    pub(crate) filter: Option<Filter>,
    /// The largest payload in bytes [default: 1048576]
    #[arg(long, value_name = "N")]
    pub(crate) max_bytes: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct DeliveriesArgs {
    #[command(flatten)]
    pub(crate) hook: SlugArg,
    #[command(flatten)]
    pub(crate) pages: Pages,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    pub(crate) hook: SlugArg,
    /// The delivery's id, or enough of its beginning
    pub(crate) delivery: String,
}

#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    #[command(flatten)]
    pub(crate) hook: SlugArg,
    /// The payload: JSON, @file or @- for standard input
    #[arg(long, value_name = "JSON", value_parser = values::json, default_value = r#"{"test": true}"#)]
    pub(crate) payload: Value,
}

/// The text itself, or what a file holds, without the end of its last line.
pub(crate) fn secret(text: &str) -> Result<String, String> {
    let read = match text.strip_prefix('@') {
        None => return Ok(text.to_owned()),
        Some("-") => std::io::read_to_string(std::io::stdin()).map_err(|error| format!("standard input: {error}"))?,
        Some(path) => std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?,
    };
    Ok(read.trim_end_matches(['\r', '\n']).to_owned())
}

/// `/pointer`, `/pointer=value`, `/pointer!=value`; values are JSON where they can be, text where not. Or JSON as a whole.
fn filter(text: &str) -> Result<Filter, String> {
    if !text.starts_with('/') {
        let advise = |error: String| format!("{error}; write /pointer=value, /pointer!=value, /pointer or JSON");
        let form = values::json(text).map_err(advise)?;
        return strict::from_value(form).map_err(|misread| advise(misread.to_string()));
    }
    let value = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
    let (pointer, test) = match (text.split_once("!="), text.split_once('=')) {
        (Some((pointer, unwanted)), _) => (pointer, Test::NotEquals(value(unwanted))),
        (None, Some((pointer, wanted))) => (pointer, Test::Equals(value(wanted))),
        (None, None) => (text, Test::Exists(true)),
    };
    Ok(Filter { pointer: pointer.to_owned(), test })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_filter_is_short_or_json() {
        for (typed, meant) in [
            ("/ref=refs/heads/main", json!({"pointer": "/ref", "equals": "refs/heads/main"})),
            ("/count=5", json!({"pointer": "/count", "equals": 5})),
            ("/count=\"5\"", json!({"pointer": "/count", "equals": "5"})),
            ("/action!=closed", json!({"pointer": "/action", "not_equals": "closed"})),
            ("/pull_request", json!({"pointer": "/pull_request", "exists": true})),
            (r#"{"pointer": "/a", "one_of": [1]}"#, json!({"pointer": "/a", "one_of": [1]})),
        ] {
            assert_eq!(serde_json::to_value(filter(typed).unwrap()).unwrap(), meant, "{typed}");
        }
        assert!(filter("action=opened").unwrap_err().contains("/pointer=value"));
    }
}
