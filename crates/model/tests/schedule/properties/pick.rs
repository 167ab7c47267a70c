//! What the properties choose from: real changes of real clocks, and schedules that like to run near them.

use ordo_model::schedule::{Dst, Exclusion, Repeated, Rule, Skipped};
use ordo_model::{Millis, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;

use super::oracle::{CronSets, Set};

#[derive(Debug, Clone, Copy)]
pub(crate) struct ClockChange {
    pub(crate) zone: &'static str,
    pub(crate) second: i64,
}

/// One hour, half an hour, a quarter, at midnight, in Ramadan, and a whole day.
pub(crate) fn change() -> impl Strategy<Value = ClockChange> {
    proptest::sample::select(vec![
        ("Europe/Berlin", "2026-03-29T01:00:00Z"),
        ("Europe/Berlin", "2026-10-25T01:00:00Z"),
        ("America/New_York", "2026-03-08T07:00:00Z"),
        ("America/New_York", "2026-11-01T06:00:00Z"),
        ("Australia/Lord_Howe", "2026-04-04T15:00:00Z"),
        ("Australia/Lord_Howe", "2026-10-03T15:30:00Z"),
        ("Asia/Kathmandu", "1985-12-31T18:30:00Z"),
        ("America/Sao_Paulo", "2018-11-04T03:00:00Z"),
        ("America/Sao_Paulo", "2018-02-18T02:00:00Z"),
        ("Africa/Casablanca", "2026-02-15T02:00:00Z"),
        ("Africa/Casablanca", "2026-03-22T02:00:00Z"),
        ("Pacific/Apia", "2011-12-30T10:00:00Z"),
        ("Pacific/Apia", "2011-09-24T14:00:00Z"),
        ("UTC", "2026-03-01T00:00:00Z"),
    ])
    .prop_map(|(zone, text)| ClockChange { zone, second: text.parse::<Timestamp>().unwrap().ms() / 1_000 })
}

pub(crate) fn dst() -> impl Strategy<Value = Dst> {
    let skipped = prop_oneof![Just(Skipped::Shift), Just(Skipped::Skip)];
    let repeated = prop_oneof![Just(Repeated::First), Just(Repeated::Last), Just(Repeated::Both)];
    (skipped, repeated).prop_map(|(skipped, repeated)| Dst { skipped, repeated })
}

pub(crate) fn fields() -> impl Strategy<Value = CronSets> {
    (Just(values(vec![0])), set(0, 59), hours(), days(), set_or_all(1, 12), set_or_all(0, 6)).prop_map(join)
}

pub(crate) fn fields_with_seconds() -> impl Strategy<Value = CronSets> {
    (set(0, 59), set(0, 59), hours(), Just(all(1, 31)), Just(all(1, 12)), Just(all(0, 6))).prop_map(join)
}

fn join((seconds, minutes, hours, days, months, weekdays): (Set, Set, Set, Set, Set, Set)) -> CronSets {
    CronSets { seconds, minutes, hours, days, months, weekdays }
}

/// Mostly the hours in which clocks change.
fn hours() -> impl Strategy<Value = Set> {
    let small = vec(prop_oneof![4 => 0..4i8, 1 => 0..24i8], 1..3).prop_map(values);
    prop_oneof![4 => small, 1 => range(0, 5), 1 => Just(all(0, 23)), 1 => (1..9i8).prop_map(|n| step(n, 0, 23))]
}

fn days() -> impl Strategy<Value = Set> {
    prop_oneof![4 => Just(all(1, 31)), 1 => range(1, 31), 1 => (2..9i8).prop_map(|n| step(n, 1, 31))]
}

fn set(min: i8, max: i8) -> impl Strategy<Value = Set> {
    let few = vec(min..=max, 1..4).prop_map(values);
    prop_oneof![2 => few, 1 => range(min, max), 1 => Just(all(min, max)), 2 => (2..31i8).prop_map(move |n| step(n, min, max))]
}

fn set_or_all(min: i8, max: i8) -> impl Strategy<Value = Set> {
    prop_oneof![3 => Just(all(min, max)), 1 => vec(min..=max, 1..4).prop_map(values), 1 => range(min, max)]
}

fn values(mut values: Vec<i8>) -> Set {
    values.sort_unstable();
    values.dedup();
    let text: Vec<String> = values.iter().map(i8::to_string).collect();
    Set { text: text.join(","), values }
}

fn range(min: i8, max: i8) -> impl Strategy<Value = Set> {
    (min..=max, min..=max).prop_map(|(a, b)| {
        let (a, b) = (a.min(b), a.max(b));
        Set { text: format!("{a}-{b}"), values: (a..=b).collect() }
    })
}

fn step(n: i8, min: i8, max: i8) -> Set {
    Set { text: format!("*/{n}"), values: (min..=max).step_by(usize::try_from(n).unwrap()).collect() }
}

fn all(min: i8, max: i8) -> Set {
    Set { text: "*".to_owned(), values: (min..=max).collect() }
}

pub(crate) fn rule(fields: &CronSets, zone: &str, dst: Dst) -> Rule {
    Rule::Cron { expr: fields.text(), timezone: zone.to_owned(), dst }
}

/// A rule whose zone and policy are still open.
#[derive(Debug, Clone)]
pub(crate) enum OpenRule {
    Cron(Box<CronSets>),
    Every(Millis),
    At(u64),
}

pub(crate) fn any_rule() -> impl Strategy<Value = OpenRule> {
    let every = prop_oneof![100_000..50_000_000u64, 20_000..100_000u64];
    prop_oneof![
        4 => fields().prop_map(|fields| OpenRule::Cron(Box::new(fields))),
        4 => every.prop_map(|ms| OpenRule::Every(Millis::from_ms(ms))),
        1 => (1_300_000_000_000..1_800_000_000_000u64).prop_map(OpenRule::At),
    ]
}

impl OpenRule {
    pub(crate) fn in_zone(&self, zone: &str, dst: Dst) -> Rule {
        match self {
            OpenRule::Cron(fields) => rule(fields, zone, dst),
            OpenRule::Every(every) => Rule::Every { every: *every },
            OpenRule::At(ms) => Rule::At { at: Timestamp::from_ms(i64::try_from(*ms).unwrap()).unwrap() },
        }
    }

    /// An interval's jitter is shorter than the interval.
    pub(crate) fn allows(&self, jitter: Option<Millis>) -> Option<Millis> {
        match self {
            OpenRule::Every(every) => jitter.map(|jitter| Millis::from_ms(jitter.ms() % every.ms())),
            OpenRule::Cron(_) | OpenRule::At(_) => jitter,
        }
    }
}

pub(crate) fn jitter() -> impl Strategy<Value = Option<Millis>> {
    proptest::option::of(prop_oneof![0..5u64, 0..90_000u64, 0..20_000_000u64].prop_map(Millis::from_ms))
}

/// An exclusion whose place in time is still open.
#[derive(Debug, Clone)]
pub(crate) enum OpenExclusion {
    Range { from_secs: i64, length_secs: i64 },
    Weekly(String),
    Dates(i64),
}

pub(crate) fn exclusions() -> impl Strategy<Value = Vec<OpenExclusion>> {
    let days = proptest::option::of(vec(proptest::sample::select(vec!["mon", "wed", "fri", "sat", "sun"]), 1..3));
    let time = || proptest::option::of((0..24u32, prop_oneof![Just(0u32), 0..60u32]));
    let zone = proptest::option::of(proptest::sample::select(vec!["Europe/Berlin", "Pacific/Apia", "UTC"]));
    let weekly = (days, time(), time(), zone).prop_filter_map("an empty window", |(days, from, to, zone)| {
        let clock = |time: (u32, u32)| format!("{:02}:{:02}", time.0, time.1);
        let mut json = serde_json::json!({});
        if let Some(days) = &days {
            json["days"] = serde_json::json!(days);
        }
        if let Some(from) = from {
            json["from"] = clock(from).into();
        }
        if let Some(to) = to {
            json["to"] = clock(to).into();
        }
        if let Some(zone) = zone {
            json["timezone"] = zone.into();
        }
        let empty = from.unwrap_or((0, 0)) == to.unwrap_or((24, 0));
        let all = days.is_none() && from.is_none() && to.is_none();
        (!empty && !all).then(|| OpenExclusion::Weekly(json.to_string()))
    });
    let range = (-100_000..100_000i64, 1..100_000i64);
    let range = range.prop_map(|(from_secs, length_secs)| OpenExclusion::Range { from_secs, length_secs });
    vec(prop_oneof![2 => weekly, 1 => range, 1 => (-2..3i64).prop_map(OpenExclusion::Dates)], 0..4)
}

impl OpenExclusion {
    pub(crate) fn around(self, second: i64) -> Exclusion {
        let at = |second: i64| Timestamp::from_ms(second * 1_000 + 500).unwrap().to_string();
        let json = match self {
            OpenExclusion::Range { from_secs, length_secs } => {
                let from = second + from_secs;
                serde_json::json!({"from": at(from), "to": at(from + length_secs)}).to_string()
            }
            OpenExclusion::Weekly(json) => json,
            OpenExclusion::Dates(days) => serde_json::json!({"dates": [at(second + days * 86_400)[..10]]}).to_string(),
        };
        serde_json::from_str(&json).unwrap()
    }
}
