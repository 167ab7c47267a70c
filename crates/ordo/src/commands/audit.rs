//! `ordo audit`: who changed what, newest first.

use serde_json::Value;

use crate::cli::audit::AuditArgs;
use crate::commands::actor::who;
use crate::commands::find::text;
use crate::commands::pages;
use crate::commands::talk::CommandSession;
use crate::error::{Exit, Result};
use crate::output::{table, time};
use crate::zone;

const NAME_SHOWN: usize = 40;

pub(crate) async fn run(talk: &CommandSession, args: &AuditArgs) -> Result<Exit> {
    let moment = |flag: &str, given: &Option<String>| {
        given.as_deref().map(|text| zone::since(flag, text, talk.now()).map(|at| at.to_string())).transpose()
    };
    let filters = [
        ("actor", args.actor.clone()),
        ("kind", args.kind.clone()),
        ("type", args.event.clone()),
        ("source", args.source.clone()),
        ("stream", args.stream.clone()),
        ("since", moment("--since", &args.since)?),
        ("until", moment("--until", &args.until)?),
    ];
    let is_filtered = filters.iter().any(|(_, value)| value.is_some());
    pages::show(talk, "/v1/audit", &filters, &args.pages, |entries| human(talk, entries, is_filtered)).await
}

fn human(talk: &CommandSession, entries: &[Value], is_filtered: bool) -> String {
    if entries.is_empty() {
        return if is_filtered { "No change matches.\n" } else { "Nobody has changed anything.\n" }.to_owned();
    }
    let row = |entry: &Value| {
        let at = time::of(&entry["at"]).map(|at| time::absolute(at, &talk.zone));
        vec![
            at.unwrap_or_default(),
            who(entry),
            text(entry, "type"),
            text(entry, "kind"),
            table::short(&text(entry, "name"), NAME_SHOWN),
        ]
    };
    table::rows(&["AT", "BY", "EVENT", "KIND", "NAME"], entries.iter().map(row).collect(), talk.paint)
}
