//! One field of a cron expression: numbers, names, ranges, steps and lists of them.
//!
//! Invariant: a value means what it says in its own field (`MON` is no month), and what is refused is refused with
//! what to write instead.

use super::values::Values;

/// What may stand in a field.
pub(super) struct FieldSyntax {
    pub(super) name: &'static str,
    allowed: &'static str,
    /// `*` is `first` to `last`, and `N/n` ends at `last`.
    pub(super) first: u16,
    pub(super) last: u16,
    /// The largest number that may be written: 7 is Sunday too.
    largest: u16,
    names: &'static [&'static str],
}

pub(super) const SECOND: FieldSyntax = numbers("second", "0-59", 0, 59);
pub(super) const MINUTE: FieldSyntax = numbers("minute", "0-59", 0, 59);
pub(super) const HOUR: FieldSyntax = numbers("hour", "0-23", 0, 23);
pub(super) const DAY: FieldSyntax = numbers("day of month", "1-31, L, LW or 15W", 1, 31);
pub(super) const MONTH: FieldSyntax = FieldSyntax {
    names: &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
    ..numbers("month", "1-12 or JAN-DEC", 1, 12)
};
pub(super) const WEEKDAY: FieldSyntax = FieldSyntax {
    largest: SUNDAY_AGAIN,
    names: &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"],
    ..numbers("day of week", "0-7 or SUN-SAT, 5#2 or 5L", 0, 6)
};
pub(super) const YEAR: FieldSyntax = numbers("year", "1970-9999", 1970, 9999);

/// In `FRI-SUN` the week ends with Sunday.
const SUNDAY_AGAIN: u16 = 7;

const fn numbers(name: &'static str, allowed: &'static str, first: u16, last: u16) -> FieldSyntax {
    FieldSyntax { name, allowed, first, last, largest: last, names: &[] }
}

/// `first`, `first + step` … up to `last`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::schedule) struct Steps {
    pub(super) first: u16,
    pub(super) last: u16,
    pub(super) step: u16,
}

impl Steps {
    pub(super) fn values(&self) -> impl Iterator<Item = u16> + use<> {
        (self.first..=self.last).step_by(usize::from(self.step))
    }
}

/// The parts of a list, each read by `part`.
pub(super) fn list<T>(
    form: &FieldSyntax,
    field: &str,
    part: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let parts: Vec<&str> = field.split(',').collect();
    let several = parts.len() > 1;
    let read = |text: &&str| match *text {
        "" => Err("a value is missing".to_owned()),
        "*" | "?" if several => Err(format!("{text:?} in a list is every value already; write it alone")),
        text => part(text),
    };
    parts.iter().map(read).collect::<Result<Vec<T>, String>>().map_err(|reason| refuse(form, field, &reason))
}

/// A field of numbers and names only.
pub(super) fn values(form: &FieldSyntax, field: &str) -> Result<Values, String> {
    let parts = list(form, field, |part| steps(form, part))?;
    Ok(parts.iter().flat_map(Steps::values).collect())
}

/// `*`, `*/n`, `a`, `a/n`, `a-b` or `a-b/n`. A start without an end goes up to the end of the field, as in Quartz and
/// Kubernetes.
pub(super) fn steps(form: &FieldSyntax, part: &str) -> Result<Steps, String> {
    let (range, step) = match part.split_once('/') {
        Some((range, step)) => (range, Some(step_of(step)?)),
        None => (part, None),
    };
    let (first, last) = match range.split_once('-') {
        _ if range == "*" => (form.first, form.last),
        Some((first, last)) => return between(form, part, (first, last), step.unwrap_or(1)),
        None => {
            let value = value(form, range)?;
            (value, if step.is_some() { form.last } else { value })
        }
    };
    if first > last {
        return Err(format!("the week begins with Sunday; write 0/{0} or SUN/{0}", step.unwrap_or(1)));
    }
    Ok(Steps { first, last, step: step.unwrap_or(1) })
}

fn step_of(text: &str) -> Result<u16, String> {
    match text.parse::<u16>() {
        Ok(0) => Err("a step cannot be 0".to_owned()),
        Ok(step) if text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(step),
        Ok(_) | Err(_) => Err(format!("{text:?} is not a step; write */n, a/n or a-b/n")),
    }
}

fn between(form: &FieldSyntax, part: &str, ends: (&str, &str), step: u16) -> Result<Steps, String> {
    let (first, mut last) = (value(form, ends.0)?, value(form, ends.1)?);
    if form.name == WEEKDAY.name && ends.1 == "SUN" && first > 0 {
        last = SUNDAY_AGAIN;
    }
    if first > last {
        let range = part.split('/').next().unwrap_or(part);
        let instead = round_the_end(form, (first, last), step).map_or(String::new(), |list| format!("; write {list}"));
        return Err(format!("the range {range} runs backwards{instead}"));
    }
    Ok(Steps { first, last, step })
}

/// What somebody means who writes `FRI-MON` or `22-2`. Years do not come round again.
fn round_the_end(form: &FieldSyntax, (first, last): (u16, u16), step: u16) -> Option<String> {
    let shown = |value: u16| match form.names.get(usize::from(value - form.first)) {
        Some(name) => (*name).to_owned(),
        None => value.to_string(),
    };
    let range = |from: u16, to: u16| if from == to { shown(from) } else { format!("{}-{}", shown(from), shown(to)) };
    let length = form.last - form.first + 1;
    if form.name == YEAR.name {
        None
    } else if step == 1 && length > 7 {
        Some(format!("{},{}", range(first, form.last), range(form.first, last)))
    } else {
        let round = (first..=last + length).step_by(usize::from(step));
        let values: Vec<String> = round.map(|value| shown((value - form.first) % length + form.first)).collect();
        Some(values.join(","))
    }
}

pub(super) fn value(form: &FieldSyntax, text: &str) -> Result<u16, String> {
    if let Some(place) = form.names.iter().position(|name| *name == text) {
        return Ok(form.first + u16::try_from(place).unwrap_or_default());
    }
    if text.is_empty() {
        return Err("a value is missing".to_owned());
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(no_value(form, text));
    }
    let number = text.parse::<u16>().ok().filter(|number| (form.first..=form.largest).contains(number));
    number.ok_or_else(|| "the value is out of bounds".to_owned())
}

fn no_value(form: &FieldSyntax, text: &str) -> String {
    let word = text.split(|c: char| !c.is_ascii_alphabetic()).find(|word| !word.is_empty());
    match word {
        Some(word) => match form.names.iter().find(|name| word != **name && word.starts_with(**name)) {
            Some(name) => format!("{word:?} has no meaning here; write {name}"),
            None => format!("{word:?} has no meaning here"),
        },
        None if text == "?" => "\"?\" stands only for a day, and alone".to_owned(),
        None if text.bytes().all(|byte| b"0123456789*/-#+?".contains(&byte)) => "this is not a value".to_owned(),
        None => "it contains a character that has no meaning here".to_owned(),
    }
}

pub(super) fn refuse(form: &FieldSyntax, field: &str, reason: &str) -> String {
    let short: String = field.chars().take(40).collect();
    format!("the {} field {short:?}: {reason} (allowed: {}, lists, ranges, */n, a/n)", form.name, form.allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_that_goes_round_is_refused_with_what_to_write() {
        for (form, range, instead) in [
            (&WEEKDAY, "FRI-MON", "FRI,SAT,SUN,MON"),
            (&WEEKDAY, "5-1", "FRI,SAT,SUN,MON"),
            (&WEEKDAY, "SAT-MON", "SAT,SUN,MON"),
            (&WEEKDAY, "FRI-WED/2", "FRI,SUN,TUE"),
            (&HOUR, "22-2", "22-23,0-2"),
            (&HOUR, "23-0", "23,0"),
            (&HOUR, "22-4/2", "22,0,2,4"),
            (&MONTH, "NOV-FEB", "NOV-DEC,JAN-FEB"),
            (&DAY, "25-5", "25-31,1-5"),
        ] {
            let reason = steps(form, range).unwrap_err();
            assert!(reason.ends_with(&format!("; write {instead}")), "{range}: {reason}");
            assert!(values(form, instead).is_ok(), "{instead}");
        }
        assert_eq!(steps(&YEAR, "2030-2020").unwrap_err(), "the range 2030-2020 runs backwards");
    }
}
