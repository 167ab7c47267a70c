//! What the clocks of a zone did in five years, found by looking at them, and which instants an expression names.

use std::collections::BTreeSet;

use jiff::civil::date;
use jiff::tz::TimeZone;
use ordo_model::schedule::{Dst, Repeated, Skipped};

use super::matcher::Expression;

const DAY: i64 = 86_400;
/// No zone changes its clock twice within this, in seconds.
const LOOK_EVERY: i64 = 6 * 3_600;

pub(crate) struct ZoneClock {
    pub(crate) zone: &'static str,
    /// The five years.
    pub(crate) span: (i64, i64),
    stretches: Vec<Stretch>,
}

/// A time in which the clock runs evenly: `from..to`, ahead of UTC by `offset`, all in seconds.
#[derive(Clone, Copy)]
struct Stretch {
    from: i64,
    to: i64,
    offset: i64,
}

impl ZoneClock {
    pub(crate) fn read(zone: &'static str, first_year: i16, years: i16) -> ZoneClock {
        let rules = TimeZone::get(zone).unwrap();
        let offset = |second: i64| i64::from(rules.to_offset(jiff::Timestamp::from_second(second).unwrap()).seconds());
        let span = (new_year(first_year), new_year(first_year + years));
        let (begin, end) = (span.0 - 3 * DAY, span.1 + 3 * DAY);
        let mut stretches = Vec::new();
        let mut from = begin;
        let mut at = begin;
        while at < end {
            let next = (at + LOOK_EVERY).min(end);
            if offset(next) != offset(at) {
                let change = first_with(at, next, |second| offset(second) != offset(at));
                stretches.push(Stretch { from, to: change, offset: offset(at) });
                from = change;
            }
            at = next;
        }
        stretches.push(Stretch { from, to: end, offset: offset(end) });
        ZoneClock { zone, span, stretches }
    }

    /// The moments at which the clock jumped, inside the five years.
    pub(crate) fn changes(&self) -> Vec<i64> {
        let within = self.span.0 + 3 * DAY..self.span.1 - 3 * DAY;
        self.stretches[1..].iter().map(|stretch| stretch.from).filter(|change| within.contains(change)).collect()
    }

    /// The instants in `from..to` at which the expression occurs.
    pub(crate) fn occurrences(&self, expression: &Expression, dst: Dst, from: i64, to: i64) -> Vec<i64> {
        let near = self.stretches.iter().filter(|stretch| stretch.from <= to && from <= stretch.to);
        let offsets: Vec<i64> = near.map(|stretch| stretch.offset).collect();
        let first = from + offsets.iter().min().unwrap();
        let last = to + offsets.iter().max().unwrap();
        let mut found = BTreeSet::new();
        for day in expression.days(first.div_euclid(DAY), last.div_euclid(DAY)) {
            for time in expression.times() {
                let wall = day * DAY + time;
                if (first..=last).contains(&wall) {
                    found.extend(self.instants(wall, dst, expression.is_interval()));
                }
            }
        }
        found.range(from..to).copied().collect()
    }

    /// What a wall-clock time becomes: a set, so that several skipped times become one.
    fn instants(&self, wall: i64, dst: Dst, is_interval: bool) -> Vec<i64> {
        let shows = |stretch: &&Stretch| (stretch.from..stretch.to).contains(&(wall - stretch.offset));
        let shown: Vec<i64> = self.stretches.iter().filter(shows).map(|stretch| wall - stretch.offset).collect();
        match (shown.as_slice(), is_interval) {
            (_, true) | ([_], false) => shown,
            ([], false) => match dst.skipped {
                Skipped::Skip => Vec::new(),
                Skipped::Shift => self.jump_over(wall).into_iter().collect(),
            },
            ([first, .., last], false) => match dst.repeated {
                Repeated::First => vec![*first],
                Repeated::Last => vec![*last],
                Repeated::Both => shown,
            },
        }
    }

    /// The moment at which the clock jumped over a time it never showed.
    fn jump_over(&self, wall: i64) -> Option<i64> {
        let pair = self
            .stretches
            .windows(2)
            .find(|pair| pair[0].to + pair[0].offset <= wall && wall < pair[1].from + pair[1].offset);
        pair.map(|pair| pair[1].from)
    }
}

pub(crate) fn new_year(year: i16) -> i64 {
    date(year, 1, 1).at(0, 0, 0, 0).to_zoned(TimeZone::UTC).unwrap().timestamp().as_second()
}

/// The first second in `low..=high` for which it holds, if it holds from there on.
fn first_with(low: i64, high: i64, holds: impl Fn(i64) -> bool) -> i64 {
    let (mut low, mut high) = (low, high);
    while low + 1 < high {
        let middle = (low + high) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}
