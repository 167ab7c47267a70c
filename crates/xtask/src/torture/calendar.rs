//! When jobs fall due, by a calendar that shares no code with the product: intervals are counted, cron expressions are
//! matched second by second. UTC only; the zones and their nights are the simulator's matter.

use anyhow::{Context, Result, bail};

use crate::lab::clock::civil;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Rhythm {
    Once { at: i64 },
    Every { start: i64, every: i64, end: Option<i64> },
    Cron { text: String, fields: CronSubset, start: i64, end: Option<i64> },
}

/// Second, minute, hour, day, month, weekday: which values each field names.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CronSubset([Vec<u32>; 6]);

const RANGES: [(u32, u32); 6] = [(0, 59), (0, 59), (0, 23), (1, 31), (1, 12), (0, 6)];

impl Rhythm {
    pub(super) fn cron(text: &str, start: i64, end: Option<i64>) -> Result<Rhythm> {
        Ok(Rhythm::Cron { text: text.to_owned(), fields: CronSubset::parse(text)?, start, end })
    }

    /// The nominal times from `from` on and before `to`.
    pub(super) fn targets(&self, from: i64, to: i64) -> Vec<i64> {
        match self {
            Rhythm::Once { at } => [*at].into_iter().filter(|at| (from..to).contains(at)).collect(),
            Rhythm::Every { start, every, end } => {
                let to = end.map_or(to, |end| end.min(to));
                let first = if from <= *start { *start } else { start + (from - start + every - 1) / every * every };
                (0..).map(|beat| first + beat * every).take_while(|at| *at < to).collect()
            }
            Rhythm::Cron { fields, start, end, .. } => {
                let (from, to) = (from.max(*start), end.map_or(to, |end| end.min(to)));
                let first = (from + 999).div_euclid(1_000) * 1_000;
                (0..)
                    .map(|second| first + second * 1_000)
                    .take_while(|at| *at < to)
                    .filter(|at| fields.match_at(*at))
                    .collect()
            }
        }
    }

    pub(super) fn end(&self) -> Option<i64> {
        match self {
            Rhythm::Once { at } => Some(at + 1),
            Rhythm::Every { end, .. } | Rhythm::Cron { end, .. } => *end,
        }
    }
}

impl CronSubset {
    /// Six fields of `*`, `*/n`, numbers, ranges and lists. Of day and weekday one at least is `*`: what cron makes of
    /// both is another matter.
    fn parse(text: &str) -> Result<CronSubset> {
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.len() != 6 || (words[3] != "*" && words[5] != "*") {
            bail!("{text:?} is not in the subset of this calendar");
        }
        let mut fields = [const { Vec::new() }; 6];
        for ((field, word), (low, high)) in fields.iter_mut().zip(words).zip(RANGES) {
            for part in word.split(',') {
                field.extend(values(part, low, high).with_context(|| format!("{part:?} in {text:?}"))?);
            }
        }
        Ok(CronSubset(fields))
    }

    fn match_at(&self, at: i64) -> bool {
        let time = civil(at);
        let parts = [time.second, time.minute, time.hour, time.day, time.month, time.weekday];
        self.0.iter().zip(parts).all(|(field, part)| field.contains(&part))
    }
}

fn values(part: &str, low: u32, high: u32) -> Option<Vec<u32>> {
    let (range, step) = part.split_once('/').map_or((part, Some(1)), |(range, step)| (range, step.parse().ok()));
    let (first, last) = match range {
        "*" => (low, high),
        _ => {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            (first.parse().ok()?, last.parse().ok()?)
        }
    };
    let step: usize = step.filter(|step| *step > 0)?;
    (low <= first && last <= high).then(|| (first..=last).step_by(step).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::clock::{parse_rfc3339, rfc3339};

    fn at(text: &str) -> i64 {
        parse_rfc3339(text).unwrap()
    }

    #[test]
    fn an_interval_is_counted_from_its_start_up_to_its_end() {
        let every = Rhythm::Every { start: 1_000, every: 300, end: Some(1_900) };
        assert_eq!(every.targets(0, 10_000), [1_000, 1_300, 1_600]);
        assert_eq!(every.targets(1_001, 1_600), [1_300]);
        assert_eq!(every.targets(1_300, 1_601), [1_300, 1_600]);
    }

    #[test]
    fn a_single_moment_is_a_target_once() {
        let once = Rhythm::Once { at: 5 };
        assert_eq!((once.targets(0, 10), once.targets(6, 10), once.targets(0, 5)), (vec![5], vec![], vec![]));
    }

    #[test]
    fn an_expression_is_matched_second_by_second() {
        let (start, end) = (at("2026-11-18T23:59:50Z"), at("2026-11-19T00:00:25Z"));
        let cron = Rhythm::cron("*/15 * 0,23 * * *", start, Some(end)).unwrap();
        let shown: Vec<String> = cron.targets(i64::MIN / 2, i64::MAX / 2).into_iter().map(rfc3339).collect();
        assert_eq!(shown, ["2026-11-19T00:00:00.000Z", "2026-11-19T00:00:15.000Z"]);
        let weekday = Rhythm::cron("0 30 9-17/4 * * 1-5", at("2026-11-21T00:00:00Z"), None).unwrap();
        let shown: Vec<String> = weekday.targets(0, at("2026-11-24T00:00:00Z")).into_iter().map(rfc3339).collect();
        assert_eq!(shown, ["2026-11-23T09:30:00.000Z", "2026-11-23T13:30:00.000Z", "2026-11-23T17:30:00.000Z"]);
    }

    #[test]
    fn what_is_not_in_the_subset_is_refused() {
        for text in ["* * * * *", "0 0 0 1 * 1", "61 * * * * *", "*/0 * * * * *", "x * * * * *"] {
            assert!(CronSubset::parse(text).is_err(), "{text}");
        }
    }
}
