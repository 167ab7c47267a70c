//! The calendar against a matcher of its own: random expressions, in zones with odd clocks, over five years.
//!
//! The matcher (`matcher`, `clock`) is written from cron's definition and shares no code with the model: it reads the
//! text of the expression again, asks every day of five years and every time of day, and maps each wall-clock time to
//! the instants that show it. A failure prints the seed that leads back to it:
//!
//! ```sh
//! ORDO_SEED=4711 ORDO_CALENDAR_EXPRESSIONS=1 cargo test -p ordo-model --test schedule calendar::
//! ORDO_CALENDAR_EXPRESSIONS=10000 cargo test -p ordo-model --test schedule calendar:: -- --nocapture
//! ```

#![allow(clippy::disallowed_methods, reason = "zones that are not the model's, and a seed from the environment")]

mod clock;
mod expressions;
mod matcher;

use std::collections::BTreeMap;

use clock::ZoneClock;
use expressions::Dice;
use matcher::Expression;
use ordo_model::Timestamp;
use ordo_model::schedule::{Dst, Repeated, Rule, Schedule, Skipped};
use ordo_model::testing::seed_or;
use uuid::Uuid;

const SEED: u64 = 2_026;
const EXPRESSIONS: u64 = 120;
const ZONES_EACH: usize = 3;
const YEARS: i16 = 5;
/// Up to here all five years are compared; a denser expression around changes of the clock and on days by chance.
const COMPARED_WHOLE: usize = 2_000;
const COMPARED_BACKWARDS: usize = 200;
const DAY: i64 = 86_400;

/// One hour, half an hour, a quarter, at midnight, twice in Ramadan, by two hours, a whole day; and none.
const ZONES: [&str; 16] = [
    "Europe/Berlin",
    "America/New_York",
    "Europe/Dublin",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
    "Africa/Casablanca",
    "Pacific/Apia",
    "Antarctica/Troll",
    "America/Havana",
    "Asia/Beirut",
    "Asia/Gaza",
    "Africa/Cairo",
    "Pacific/Chatham",
    "America/Caracas",
    "Asia/Kathmandu",
    "UTC",
];
/// The first of the five years: with whole days skipped, with laws that changed, in our time, and far away.
const BEGINNINGS: [i16; 6] = [1984, 2007, 2010, 2024, 2036, 2390];

#[test]
fn random_expressions_occur_exactly_when_the_definition_of_cron_says() {
    let (seed, count) = (seed_or(SEED), setting("ORDO_CALENDAR_EXPRESSIONS", EXPRESSIONS));
    let mut clocks = BTreeMap::new();
    let mut compared = 0;
    for seed in seed..seed + count {
        let mut dice = Dice::new(seed);
        let beginning = dice.pick(&BEGINNINGS);
        let [first, last] = [clock::new_year(beginning), clock::new_year(beginning + YEARS)].map(|second| second / DAY);
        let expression = Expression::new(expressions::any(&mut dice, beginning), first - 5, last + 5);
        for _ in 0..ZONES_EACH {
            let zone = dice.pick(&ZONES);
            let clock = clocks.entry((zone, beginning)).or_insert_with(|| ZoneClock::read(zone, beginning, YEARS));
            compared += compare(seed, &expression, clock, &mut dice);
        }
    }
    println!("{compared} occurrences of {count} expressions compared");
    assert!(compared > 0 || count < 10, "expressions that never occur prove nothing");
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

fn compare(seed: u64, expression: &Expression, clock: &ZoneClock, dice: &mut Dice) -> usize {
    let dst = Dst {
        skipped: dice.pick(&[Skipped::Shift, Skipped::Skip]),
        repeated: dice.pick(&[Repeated::First, Repeated::Last, Repeated::Both]),
    };
    let rule = Rule::Cron { expr: expression.text.clone(), timezone: clock.zone.to_owned(), dst };
    let schedule = Schedule { rule, start: None, end: None, jitter: None, exclude: Vec::new() };
    if let Err(error) = schedule.compile() {
        panic!("{:?} is refused: {error} (ORDO_SEED={seed})", expression.text);
    }
    let mut compared = 0;
    for (from, to) in windows(expression, clock, dice) {
        let expected = clock.occurrences(expression, dst, from, to);
        let (from, to) = (instant(from), instant(to));
        let found: Vec<i64> = schedule
            .between(from, to, usize::MAX, Uuid::nil())
            .iter()
            .map(|found| found.nominal.ms() / 1_000)
            .collect();
        assert_eq!(
            shown(&found),
            shown(&expected),
            "{:?} in {} with {dst:?} from {from} to {to}: the model, then the matcher (ORDO_SEED={seed} \
             ORDO_CALENDAR_EXPRESSIONS=1)",
            expression.text,
            clock.zone
        );
        if !expected.is_empty() && expected.len() <= COMPARED_BACKWARDS {
            compare_backwards(&schedule, &expected, to, seed);
        }
        compared += expected.len();
    }
    compared
}

/// What is due is found from its end; it must be the same.
fn compare_backwards(schedule: &Schedule, expected: &[i64], to: Timestamp, seed: u64) {
    let first = schedule.first_at_or_after(instant(expected[0]), Uuid::nil()).unwrap();
    let last = Timestamp::from_ms(to.ms() - 1).unwrap();
    let due = schedule.due(first, last, usize::MAX, Uuid::nil()).newest;
    let found: Vec<i64> = due.iter().map(|found| found.nominal.ms() / 1_000).collect();
    assert_eq!(shown(&found), shown(expected), "backwards, {schedule:?} (ORDO_SEED={seed})");
}

/// All five years, or for a dense expression the surroundings of some changes of the clock and some other days.
fn windows(expression: &Expression, clock: &ZoneClock, dice: &mut Dice) -> Vec<(i64, i64)> {
    let (begin, end) = clock.span;
    let whole = expression.days(begin.div_euclid(DAY), end.div_euclid(DAY)).len() * expression.times().len();
    if whole <= COMPARED_WHOLE {
        return vec![(begin, end)];
    }
    let around = if expression.times().len() > COMPARED_WHOLE { 7_200 } else { DAY + DAY / 2 };
    let changes = clock.changes();
    let mut middles: Vec<i64> = (0..2).map(|_| dice.within(begin + 3 * DAY, end - 3 * DAY)).collect();
    if !changes.is_empty() {
        middles.extend((0..3).map(|_| dice.pick(&changes)));
    }
    middles.into_iter().map(|middle| (middle - around, middle + around)).collect()
}

fn instant(second: i64) -> Timestamp {
    Timestamp::from_ms(second * 1_000).unwrap()
}

fn shown(seconds: &[i64]) -> Vec<String> {
    seconds.iter().map(|second| instant(*second).to_string()).collect()
}
