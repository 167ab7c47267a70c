//! `ordo forecast`: what fires in the days to come, what gets in each other's way, and what if a job were added.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use ordo_api::forecast::{ForecastAnswer, ForecastFigures};
use ordo_api::jobs::JobView;
use ordo_model::forecast::{Collision, Forecast, QuietTime, Saturation, SelfOverlap, ZoneClockChange};
use ordo_model::limits::FORECAST_FIRES_PER_JOB_MAX;
use ordo_model::{Millis, Timestamp};
use serde_json::{Value, json};

use super::talk::CommandSession;
use crate::cli::forecast::ForecastArgs;
use crate::error::{Error, Exit, Result};
use crate::locate::query;
use crate::output::{table, time};
use crate::zone;

/// How many of each kind of finding are shown.
const SHOWN: usize = 5;
/// How many labels of those that fire together are shown.
const NAMED: usize = 4;
pub(crate) async fn run(talk: &CommandSession, args: &ForecastArgs) -> Result<Exit> {
    let from = args.from.as_deref().map(|from| zone::parse("--from", from, &talk.zone, talk.now())).transpose()?;
    let answer = match args.proposed.is_empty() {
        true => {
            let from = from.map(|from| from.to_string());
            talk.get(&format!("/v1/forecast{}", query(&[("days", Some(args.days.to_string())), ("from", from)])))
                .await?
        }
        false => {
            let jobs: Vec<Value> =
                args.proposed.iter().map(|path| proposal(path, args.took.as_deref())).collect::<Result<_>>()?;
            let mut body = json!({ "days": args.days, "jobs": jobs });
            if let Some(from) = from {
                body["from"] = json!(from);
            }
            talk.post("/v1/forecast", &body).await?
        }
    };
    let read: ForecastAnswer = serde_json::from_value(answer.clone())
        .map_err(|error| Error::failed("the server's forecast cannot be read").detail(error.to_string()))?;
    talk.value(&answer, || human(talk, &read))?;
    Ok(Exit::Done)
}

fn proposal(path: &Path, took: Option<&str>) -> Result<Value> {
    let unread =
        |error: std::io::Error| Error::misused(format!("{} cannot be read", path.display())).detail(error.to_string());
    let mut text = String::new();
    match path == Path::new("-") {
        true => std::io::stdin().read_to_string(&mut text).map_err(unread)?,
        false => std::fs::File::open(path).and_then(|mut file| file.read_to_string(&mut text)).map_err(unread)?,
    };
    let refuse = |why: String| Error::misused(format!("{} is not a job", path.display())).detail(why);
    let mut job: Value = serde_json::from_str(&text).map_err(|error| refuse(error.to_string()))?;
    // What `ordo job show` writes says more than what makes the job.
    if let Ok(existing) = serde_json::from_value::<JobView>(job.clone()) {
        job = super::talk::wire(&existing.definition);
    }
    let mut proposal = json!({ "job": job });
    if let Some(took) = took {
        proposal["took"] = json!(took);
    }
    Ok(proposal)
}

fn human(talk: &CommandSession, answer: &ForecastAnswer) -> String {
    let forecast = &answer.forecast;
    let mut parts = vec![headline(forecast)];
    parts.extend(answer.without.as_ref().map(|without| compared(without, &ForecastFigures::of(forecast))));
    parts.push(days(talk, forecast));
    for (title, lines) in [
        ("Pool saturation", list(&forecast.saturations, |one| saturation(talk, one))),
        ("Fire in the same minute", list(&forecast.collisions, |one| collision(talk, one))),
        ("Fire again before they are likely to be over", list(&forecast.overlaps, |one| overlap(talk, one))),
        (
            if forecast.limits.is_empty() { "Quiet" } else { "Quiet, as far as is counted" },
            list(&forecast.quiet, |one| quiet(talk, one)),
        ),
        ("Clocks that change", list(&forecast.clock_changes, |one| clock_change(talk, one))),
        ("Left out", forecast.limits.clone()),
    ] {
        if !lines.is_empty() {
            parts.push(format!("{title}\n{}", lines.iter().map(|line| format!("  {line}\n")).collect::<String>()));
        }
    }
    parts.join("\n")
}

fn headline(forecast: &Forecast) -> String {
    let least = if forecast.is_exact { "" } else { "at least " };
    let fires = if forecast.fires == 1 { "fire" } else { "fires" };
    let steady = match forecast.steady_jobs {
        0 => String::new(),
        1 => format!(", {FORECAST_FIRES_PER_JOB_MAX} of them of a job that fires too often to be counted by days"),
        count => format!(
            ", {FORECAST_FIRES_PER_JOB_MAX} of them of each of {count} jobs that fire too often to be counted by days"
        ),
    };
    let unknown = match forecast.unknown_durations {
        0 => String::new(),
        1 => "; how long one job takes is not known, it counts as instantaneous".to_owned(),
        count => format!("; how long {count} jobs take is not known, they count as instantaneous"),
    };
    let runs = if forecast.peak() == 1 { "run" } else { "runs" };
    format!("{least}{} {fires}{steady}; up to {} {runs} at once{unknown}\n", forecast.fires, forecast.peak())
}

fn compared(without: &ForecastFigures, with: &ForecastFigures) -> String {
    let rows = [
        ("fires", without.fires.to_string(), with.fires.to_string()),
        ("runs at once", without.peak.to_string(), with.peak.to_string()),
        ("too much for a pool", time::rough(without.saturated), time::rough(with.saturated)),
        ("jobs in the fullest minute", without.together.to_string(), with.together.to_string()),
    ];
    let row = |(what, before, after): (&str, String, String)| vec![what.to_owned(), before, after];
    table::rows(
        &["WHAT IF", "NOW", "THEN"],
        rows.into_iter().map(row).collect(),
        crate::output::style::Paint::for_stdout(),
    )
}

/// A line for each day of the reader's zone.
fn days(talk: &CommandSession, forecast: &Forecast) -> String {
    let date = |at: Timestamp| at.to_jiff().to_zoned(talk.zone.clone()).date();
    let mut days: BTreeMap<jiff::civil::Date, (u32, u32)> = BTreeMap::new();
    for bin in &forecast.bins {
        let day = days.entry(date(bin.from)).or_default();
        day.0 += bin.fires;
        day.1 = day.1.max(bin.peak);
    }
    let note = |day: jiff::civil::Date| {
        let changes = forecast.clock_changes.iter().any(|change| date(change.at) == day);
        let full = forecast.saturations.iter().any(|one| date(one.from) <= day && day <= date(one.to));
        let words = [changes.then_some("a clock changes"), full.then_some("too much for a pool")];
        words.into_iter().flatten().collect::<Vec<_>>().join(", ")
    };
    let row = |(day, (fires, peak)): (&jiff::civil::Date, &(u32, u32))| {
        vec![day.strftime("%a %Y-%m-%d").to_string(), fires.to_string(), peak.to_string(), talk.paint.warn(&note(*day))]
    };
    table::rows(&["DAY", "FIRES", "AT ONCE", ""], days.iter().map(row).collect(), talk.paint)
}

fn list<T>(found: &[T], line: impl Fn(&T) -> String) -> Vec<String> {
    let mut lines: Vec<String> = found.iter().take(SHOWN).map(line).collect();
    if found.len() > SHOWN {
        lines.push(format!("… and {} more", found.len() - SHOWN));
    }
    lines
}

fn at(talk: &CommandSession, at: Timestamp) -> String {
    time::absolute(at, &talk.zone)
}

fn between(talk: &CommandSession, from: Timestamp, to: Timestamp) -> String {
    format!("{} for {}", at(talk, from), time::rough(Millis::from_ms(to.since(from).ms())))
}

fn saturation(talk: &CommandSession, one: &Saturation) -> String {
    format!("{}: {} wants {} of {} slots", between(talk, one.from, one.to), one.pool, one.peak, one.slots)
}

fn collision(talk: &CommandSession, one: &Collision) -> String {
    let named = one.jobs.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if one.count as usize > NAMED { ", …" } else { "" };
    let times = match one.times {
        0 | 1 => String::new(),
        2 => ", and once more".to_owned(),
        times => format!(", and {} times more", times - 1),
    };
    format!("{}{times}: {} jobs ({named}{more})", at(talk, one.at), one.count)
}

fn overlap(talk: &CommandSession, one: &SelfOverlap) -> String {
    let (apart, typical) = (time::rough(one.apart), time::rough(one.typical));
    format!("{}: fires again after {apart} and takes {typical}, first at {}", one.label, at(talk, one.at))
}

fn quiet(talk: &CommandSession, one: &QuietTime) -> String {
    between(talk, one.from, one.to)
}

fn clock_change(talk: &CommandSession, one: &ZoneClockChange) -> String {
    let length = time::rough(Millis::from_ms(u64::from(one.by_secs.unsigned_abs()) * 1_000));
    let how = if one.by_secs > 0 { "forward" } else { "back" };
    let jobs = if one.jobs == 1 { "1 job".to_owned() } else { format!("{} jobs", one.jobs) };
    format!("{}: {} goes {how} by {length} ({jobs})", at(talk, one.at), one.timezone)
}
