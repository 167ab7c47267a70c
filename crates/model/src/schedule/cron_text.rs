//! Reading a cron expression: what croner would misread is refused or rewritten first, and what it refuses is explained.
//!
//! Invariant: an expression means what it says in its own field. `MON` is no month, `7L` is the last Sunday.

use croner::parser::CronParser;

use crate::limits::CRON_MAX_BYTES;

pub(super) const FIELDS: usize = 7;
pub(super) const DAY: usize = 3;
const MONTH: usize = 4;
pub(super) const WEEKDAY: usize = 5;
pub(super) const YEAR: usize = 6;

/// Name of each field and what may stand in it.
const NAMES: [(&str, &str); FIELDS] = [
    ("second", "0-59"),
    ("minute", "0-59"),
    ("hour", "0-23"),
    ("day of month", "1-31, L, LW or 15W"),
    ("month", "1-12 or JAN-DEC"),
    ("day of week", "0-7 or SUN-SAT, 5#2 or 5L"),
    ("year", "1-5000"),
];
const MONTHS: [&str; 12] = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const NICKNAMES: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// The seven fields, second to year, in the form croner reads without guessing.
pub(super) fn fields(expr: &str) -> Result<[String; FIELDS], String> {
    if expr.len() > CRON_MAX_BYTES {
        return Err(format!("the expression has {} bytes; at most {CRON_MAX_BYTES} are allowed", expr.len()));
    }
    let expr = expr.trim();
    let plain = if expr.starts_with('@') { nickname(expr)? } else { expr };
    let mut fields = seven(plain)?;
    for (place, field) in fields.iter_mut().enumerate() {
        *field = rewrite(place, field)?;
    }
    Ok(fields)
}

/// The first field croner does not take, tried alone.
pub(super) fn blame(fields: &[String; FIELDS]) -> String {
    for (place, field) in fields.iter().enumerate() {
        let mut alone: [&str; FIELDS] = ["*"; FIELDS];
        alone[place] = field;
        if let Err(error) = CronParser::new().parse(&alone.join(" ")) {
            return refuse(place, field, &reason(&error));
        }
    }
    "the expression is not understood".to_owned()
}

fn nickname(expr: &str) -> Result<&'static str, String> {
    let lower = expr.to_ascii_lowercase();
    if let Some((_, plain)) = NICKNAMES.iter().find(|(name, _)| *name == lower) {
        return Ok(plain);
    }
    if lower == "@reboot" {
        return Err("@reboot has no time; use a manual or webhook trigger and start it from the boot script".to_owned());
    }
    if lower.starts_with("@every") {
        let length = expr["@every".len()..].trim();
        let length = if length.is_empty() { "5m" } else { length };
        return Err(format!("@every is not cron; use \"every\": {length:?} instead of \"cron\""));
    }
    Err(format!("{expr:?} is not known; use @hourly, @daily, @midnight, @weekly, @monthly or @yearly"))
}

fn seven(plain: &str) -> Result<[String; FIELDS], String> {
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

fn rewrite(place: usize, field: &str) -> Result<String, String> {
    check_shape(place, field)?;
    let (and, field) = match field.strip_prefix('+') {
        Some(rest) if place == WEEKDAY => ("+", rest),
        _ => ("", field),
    };
    let parts: Result<Vec<String>, String> = field.split(',').map(|part| rewrite_part(place, field, part)).collect();
    Ok(format!("{and}{}", parts?.join(",")))
}

/// What croner would take, and then silently read as something else.
fn check_shape(place: usize, field: &str) -> Result<(), String> {
    let parts: Vec<&str> = field.trim_start_matches('+').split(',').collect();
    if parts.contains(&"") {
        return Err(refuse(place, field, "a value is missing"));
    }
    if place == WEEKDAY && parts.contains(&"L") {
        return Err(refuse(place, field, "L needs a weekday before it: 5L is the last Friday"));
    }
    if place == DAY && parts.contains(&"L") && parts.contains(&"LW") {
        return Err(refuse(place, field, "L and LW do not go together"));
    }
    if place == DAY && parts.iter().any(|part| part.starts_with("L-")) {
        return Err(refuse(place, field, "days before the last are not supported; use L, LW or a day"));
    }
    if field.starts_with('H') && place <= MONTH {
        return Err(refuse(place, field, "H is Jenkins' own; write a number and use \"jitter\" to spread the load"));
    }
    Ok(())
}

/// Names become numbers in the fields they belong to, and only there.
fn rewrite_part(place: usize, field: &str, part: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = part;
    while let Some(start) = rest.find(|c: char| c.is_ascii_alphabetic()) {
        let end = rest[start..].find(|c: char| !c.is_ascii_alphabetic()).map_or(rest.len(), |n| start + n);
        let after_digit = rest[..start].ends_with(|c: char| c.is_ascii_digit());
        out.push_str(&rest[..start]);
        out.push_str(&word(place, field, &rest[start..end], after_digit, out.ends_with('-'))?);
        rest = &rest[end..];
    }
    out.push_str(rest);
    if place == WEEKDAY && matches!(out.as_str(), "7L" | "7#L") {
        return Ok("0L".to_owned()); // croner takes 7L and then never matches it
    }
    Ok(out)
}

fn word(place: usize, field: &str, word: &str, after_digit: bool, ends_range: bool) -> Result<String, String> {
    let name = if place == WEEKDAY && !after_digit { word.strip_suffix('L').unwrap_or(word) } else { word };
    let last = &word[name.len()..];
    if place == MONTH
        && !after_digit
        && let Some(month) = MONTHS.iter().position(|month| *month == name)
    {
        return Ok((month + 1).to_string());
    }
    if place == WEEKDAY
        && !after_digit
        && let Some(day) = WEEKDAYS.iter().position(|day| *day == name)
    {
        let day = if day == 0 && ends_range { 7 } else { day };
        return Ok(format!("{day}{last}"));
    }
    let sign = match place {
        DAY => matches!(word, "L" | "W" | "LW"),
        WEEKDAY => word == "L",
        _ => false,
    };
    if sign { Ok(word.to_owned()) } else { Err(refuse(place, field, &format!("{word:?} has no meaning here"))) }
}

fn refuse(place: usize, field: &str, reason: &str) -> String {
    let (name, allowed) = NAMES[place];
    let short: String = field.chars().take(40).collect();
    format!("the {name} field {short:?}: {reason} (allowed: {allowed}, lists, ranges, */n)")
}

/// croner's reason in our words; its own speaks of positions and bits.
fn reason(error: &croner::errors::CronError) -> String {
    use croner::errors::CronError;
    match error {
        CronError::ComponentError(text) if text.contains("Invalid step syntax") => {
            "a step needs a range: write */n or a-b/n".to_owned()
        }
        CronError::ComponentError(text) if text.contains("Step cannot be zero") => "a step cannot be 0".to_owned(),
        CronError::ComponentError(text) if text.contains("ange") && text.contains("bounds") => {
            "the range is out of bounds or backwards".to_owned()
        }
        CronError::ComponentError(text) if text.contains("bounds") => "the value is out of bounds".to_owned(),
        CronError::ComponentError(_) => "this is not a value".to_owned(),
        CronError::IllegalCharacters(_) => "it contains a character that has no meaning here".to_owned(),
        CronError::EmptyPattern
        | CronError::InvalidDate
        | CronError::InvalidTime
        | CronError::TimeSearchLimitExceeded
        | CronError::InvalidPattern(_) => "this is not understood".to_owned(),
    }
}
