//! A cron expression cut into its fields: nicknames, five, six or seven fields, and hints for what is no cron.

use super::CronPattern;
use super::days::Days;
use super::field::{self, FieldSyntax, HOUR, MINUTE, MONTH, SECOND, YEAR};
use super::values::Years;
use crate::limits::CRON_MAX_BYTES;
use crate::time::Millis;

const FIELDS: usize = 7;
const NICKNAMES: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];
/// What people call an interval, and how `every` writes it.
const INTERVALS: [(&str, u64, &str); 9] = [
    ("second", 1, "s"),
    ("secondly", 1, "s"),
    ("minute", 1, "m"),
    ("minutely", 1, "m"),
    ("hour", 1, "h"),
    ("day", 1, "d"),
    ("week", 7, "d"),
    ("fortnight", 14, "d"),
    ("fortnightly", 14, "d"),
];

pub(super) fn parse(expr: &str) -> Result<CronPattern, String> {
    if expr.len() > CRON_MAX_BYTES {
        return Err(format!("the expression has {} bytes; at most {CRON_MAX_BYTES} are allowed", expr.len()));
    }
    let expr = expr.trim();
    let plain = if expr.starts_with('@') { nickname(expr)? } else { expr };
    let [second, minute, hour, day, month, weekday, year] = &fields(plain)?;
    for (form, field) in [(&SECOND, second), (&MINUTE, minute), (&HOUR, hour), (&field::DAY, day), (&MONTH, month)] {
        refuse_jenkins(form, field)?;
    }
    Ok(CronPattern {
        seconds: field::values(&SECOND, second)?,
        minutes: field::values(&MINUTE, minute)?,
        hours: field::values(&HOUR, hour)?,
        is_interval: is_interval(hour),
        days: Days::parse(day, weekday)?,
        months: field::values(&MONTH, month)?,
        years: years(year)?,
    })
}

fn nickname(expr: &str) -> Result<&'static str, String> {
    let lower = expr.to_ascii_lowercase();
    if let Some((_, plain)) = NICKNAMES.iter().find(|(name, _)| *name == lower) {
        return Ok(plain);
    }
    if lower == "@reboot" {
        return Err("@reboot has no time; use a manual or webhook trigger and start it from the boot script".to_owned());
    }
    let (is_every, length) = match lower[1..].strip_prefix("every") {
        Some(length) => (true, interval(length)),
        None => (false, interval(&lower[1..])),
    };
    match length {
        Some(length) => Err(format!("{expr:?} is not cron; use \"every\": {length:?} instead of \"cron\"")),
        None if is_every => Err(format!("{expr:?} is not cron; use \"every\": \"5m\" instead of \"cron\"")),
        None => Err(format!("{expr:?} is not known; use @hourly, @daily, @midnight, @weekly, @monthly or @yearly")),
    }
}

/// ` 5m`, `_second`, `_10_seconds` or `fortnightly` as `every` writes it.
fn interval(written: &str) -> Option<String> {
    let between = |c: char| c.is_whitespace() || c == '_' || c == '-';
    let written = written.trim_matches(between);
    if written.parse::<Millis>().is_ok() {
        return Some(written.to_owned());
    }
    let unit = written.trim_start_matches(|c: char| c.is_ascii_digit());
    let count: u64 = match &written[..written.len() - unit.len()] {
        "" => 1,
        digits => digits.parse().ok()?,
    };
    let unit = unit.trim_matches(between);
    let (_, size, letter) =
        INTERVALS.iter().find(|(word, _, _)| *word == unit || Some(*word) == unit.strip_suffix('s'))?;
    Some(format!("{}{letter}", count.checked_mul(*size)?))
}

fn fields(plain: &str) -> Result<[String; FIELDS], String> {
    let mut fields: Vec<String> = plain.split_whitespace().map(str::to_ascii_uppercase).collect();
    let count = fields.len();
    match count {
        0 => return Err("the expression is empty; write for example \"0 2 * * *\" for 02:00 every day".to_owned()),
        5 => fields.insert(0, "0".to_owned()),
        6 | 7 => {}
        _ => {
            let s = if count == 1 { "" } else { "s" };
            return Err(format!(
                "the expression has {count} field{s}; write 5 (minute, hour, day of month, month, day of week), \
                 6 (second before them) or 7 (year after them)"
            ));
        }
    }
    fields.resize(FIELDS, "*".to_owned());
    fields.try_into().map_err(|_| "the expression is not understood".to_owned())
}

fn refuse_jenkins(form: &FieldSyntax, field: &str) -> Result<(), String> {
    if !field.starts_with('H') {
        return Ok(());
    }
    Err(field::refuse(form, field, "H is Jenkins' own; write a number and use \"jitter\" to spread the load"))
}

/// The field as a whole decides: in a list, `*/12` names times of day like its neighbours.
fn is_interval(hour: &str) -> bool {
    hour.starts_with('*') && !hour.contains(',')
}

fn years(field: &str) -> Result<Years, String> {
    let parts = field::list(&YEAR, field, |part| field::steps(&YEAR, part))?;
    let all = |part: &field::Steps| (part.first, part.last, part.step) == (YEAR.first, YEAR.last, 1);
    Ok(if parts.iter().any(all) { Years::Every } else { Years::Of(parts) })
}
