//! What an import did, or would do.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};

use super::compare::{Act, FieldDifference, ImportItem};
use crate::cli::import::ImportArgs;
use crate::commands::job::words;
use crate::commands::talk::{CommandSession, wire};
use crate::error::Result;
use crate::output::{self, table};

const VALUE_SHOWN: usize = 60;

pub(super) fn print(talk: &CommandSession, items: &[ImportItem], notes: &[String], args: &ImportArgs) -> Result<()> {
    let data: Vec<Value> = items.iter().map(wire).collect();
    talk.list(&data, || human(talk, items, args))?;
    // Programs find warnings in the data; people read them once, however many jobs they concern.
    if talk.format == crate::cli::Format::Table {
        warnings(items).iter().for_each(|warning| output::note(warning));
    }
    notes.iter().for_each(|note| output::note(&format!("note: {note}")));
    Ok(())
}

const fn name(act: &Act) -> &'static str {
    match act {
        Act::New { .. } => "new",
        Act::Changed { .. } => "changed",
        Act::Same { .. } => "same",
        Act::Gone { .. } => "gone",
        Act::Refused { .. } => "refused",
    }
}

fn human(talk: &CommandSession, items: &[ImportItem], args: &ImportArgs) -> String {
    let row = |item: &ImportItem| {
        let (sign, what) = line(talk, item);
        vec![sign, item.label.clone(), item.place.clone(), what]
    };
    let mut text = table::rows(&["", "LABEL", "FROM", "WHAT"], items.iter().map(row).collect(), talk.paint);
    let _ = writeln!(text, "\n{}", summary(items, args));
    text
}

fn line(talk: &CommandSession, item: &ImportItem) -> (String, String) {
    let paint = talk.paint;
    match &item.act {
        Act::New { draft, .. } => (paint.good("+"), words::trigger(&Value::Object(draft.fields.clone()))),
        Act::Changed { changes, .. } => (paint.warn("~"), changes.iter().map(describe).collect::<Vec<_>>().join("; ")),
        Act::Same { .. } => (paint.dim("="), paint.dim("the same")),
        Act::Gone { id } => (paint.warn("-"), format!("no longer in the file, left as it is: ordo job cancel {id}")),
        Act::Refused { why } => (paint.bad("!"), table::short(why, 4 * VALUE_SHOWN)),
    }
}

fn describe(change: &FieldDifference) -> String {
    let shown = |value: &Value| match (change.field, value) {
        (_, Value::Null) => "nothing".to_owned(),
        ("trigger", value) => words::trigger(&json!({ "trigger": value })),
        (_, Value::String(text)) => table::short(text, VALUE_SHOWN),
        (_, value) => table::short(&value.to_string(), VALUE_SHOWN),
    };
    format!("{}: {} → {}", change.field, shown(&change.from), shown(&change.to))
}

fn summary(items: &[ImportItem], args: &ImportArgs) -> String {
    let counts = ["new", "changed", "same", "gone", "refused"].map(|wanted| {
        let count = items.iter().filter(|item| name(&item.act) == wanted).count();
        (count > 0).then(|| format!("{count} {wanted}"))
    });
    let said = counts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let anything_new = items.iter().any(|item| matches!(item.act, Act::New { .. }));
    match (args.dry_run, args.held && anything_new) {
        (true, _) => format!("{said}; nothing was done (--dry-run)"),
        (false, true) => format!("{said}; the new ones are held until: ordo job resume LABEL"),
        (false, false) => said,
    }
}

/// Each warning once, with the places it concerns.
fn warnings(items: &[ImportItem]) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for item in items {
        for warning in &item.warnings {
            places.entry(warning).or_default().push(&item.place);
        }
    }
    places.into_iter().map(|(warning, places)| format!("warning: {}: {warning}", places.join(", "))).collect()
}
