//! `ordo cron explain`: an expression in words, and when it fires next. Needs no daemon.

use jiff::tz::TimeZone;
use ordo_engine::clock::{Clock, SystemClock};
use ordo_model::Timestamp;
use ordo_model::schedule::{Dst, PreviewedOccurrence, Rule, Schedule};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::cli::cron::{CronCommand, ExplainArgs};
use crate::cli::{Common, Format};
use crate::config::Config;
use crate::error::{Error, Exit, Result};
use crate::output::style::Paint;
use crate::output::{self, table, time};
use crate::{zone, zone_data};

pub(crate) fn run(command: &CronCommand, common: &Common) -> Result<Exit> {
    let settings = Config::load(common.config.as_deref(), &[])?.settings;
    if let Some(warning) = zone_data::install(settings.time.zones) {
        eprintln!("{warning}");
    }
    match command {
        CronCommand::Explain(args) => explain(args, common.output),
    }
}

fn explain(args: &ExplainArgs, format: Format) -> Result<Exit> {
    let schedule = schedule(args)?;
    let now = SystemClock.now();
    let zone = zone::named(&args.tz).unwrap_or(TimeZone::UTC);
    let from = args.from.as_deref().map(|from| zone::parse("--from", from, &zone, now)).transpose()?;
    let next = schedule.preview(from.unwrap_or(now), args.next, Uuid::nil());
    let data = json!({ "expression": args.expr, "timezone": args.tz, "sentence": schedule.describe(), "next": next });
    output::value(format, &data, || {
        let paint = Paint::for_stdout();
        format!("{}\n\n{}", schedule.describe(), table_of(&next, &zone, now, paint))
    })?;
    Ok(Exit::Done)
}

fn schedule(args: &ExplainArgs) -> Result<Schedule> {
    let dst = Dst { skipped: args.dst_skipped.unwrap_or_default(), repeated: args.dst_repeated.unwrap_or_default() };
    let rule = Rule::Cron { expr: args.expr.clone(), timezone: args.tz.clone(), dst };
    let schedule = Schedule { rule, start: None, end: None, jitter: None, exclude: Vec::new() };
    let refuse = |why: String| Error::misused("the expression is refused").detail(why);
    schedule.validate().map_err(|error| refuse(error.to_string()))?;
    Ok(schedule)
}

/// The next times: in the schedule's zone, in UTC, and how far away; a changing clock is noted.
pub(crate) fn table_of(next: &[PreviewedOccurrence], zone: &TimeZone, now: Timestamp, paint: Paint) -> String {
    if next.is_empty() {
        return "It never fires again.\n".to_owned();
    }
    let utc = zone == &TimeZone::UTC;
    let row = |preview: &PreviewedOccurrence| {
        let at = preview.occurrence.due;
        let mut row = vec![time::absolute(at, zone)];
        row.extend((!utc).then(|| time::absolute(at, &TimeZone::UTC)));
        row.push(time::relative(at, now));
        row.push(preview.note.map(|note| paint.warn(&note.to_string())).unwrap_or_default());
        row
    };
    let names: &[&str] = if utc { &["NEXT", "FROM NOW", ""] } else { &["NEXT", "UTC", "FROM NOW", ""] };
    table::rows(names, next.iter().map(row).collect(), paint)
}

/// What a list of occurrences from the server says.
pub(crate) fn previews(items: &[Value]) -> Vec<PreviewedOccurrence> {
    items.iter().filter_map(|item| serde_json::from_value(item.clone()).ok()).collect()
}
