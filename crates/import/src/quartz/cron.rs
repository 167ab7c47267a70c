//! A cron expression of Quartz in the words of Ordo.
//!
//! Invariant: the same times. In Quartz the week has the days 1 (Sunday) to 7 (Saturday), ranges may go round the end,
//! and `/5` begins with the first value.

const DAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const MONTHS: [&str; 12] = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];

pub(super) fn translated(expression: &str) -> Result<String, String> {
    let mut fields: Vec<String> = expression.split_whitespace().map(str::to_ascii_uppercase).collect();
    if !(6..=7).contains(&fields.len()) {
        return Err(format!("{expression:?} has {} fields; Quartz writes 6 or 7", fields.len()));
    }
    for (place, (first, last)) in [(0, (0, 59)), (1, (0, 59)), (2, (0, 23)), (3, (1, 31)), (4, (1, 12))] {
        fields[place] = each(&fields[place], |part| plain(part, first, last))?;
    }
    fields[5] = each(&fields[5], weekday)?;
    Ok(fields.join(" "))
}

fn each(field: &str, part: impl Fn(&str) -> Result<String, String>) -> Result<String, String> {
    let parts = field.split(',').map(part).collect::<Result<Vec<_>, _>>()?;
    Ok(parts.join(","))
}

/// A range that goes round the end is written as two.
fn plain(part: &str, first: u16, last: u16) -> Result<String, String> {
    if let Some(step) = part.strip_prefix('/') {
        return Ok(format!("*/{step}"));
    }
    if part.starts_with("L-") {
        return Err(format!("{part} counts days from the end of the month, which Ordo cannot"));
    }
    let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
    let Some((from, to)) = range.split_once('-') else { return Ok(part.to_owned()) };
    let number = |text: &str| text.parse().ok().or_else(|| month(text));
    match (number(from), number(to), step.map_or(Some(1), |step| step.parse().ok())) {
        (Some(from), Some(to), Some(step)) if from > to => Ok(round(from, to, step, (first, last))),
        _ => Ok(part.to_owned()),
    }
}

fn month(name: &str) -> Option<u16> {
    MONTHS.iter().position(|month| *month == name).and_then(|place| u16::try_from(place + 1).ok())
}

fn round(from: u16, to: u16, step: u16, (first, last): (u16, u16)) -> String {
    let length = last - first + 1;
    let values = (from..=to + length).step_by(usize::from(step.max(1)));
    values.map(|value| ((value - first) % length + first).to_string()).collect::<Vec<_>>().join(",")
}

fn weekday(part: &str) -> Result<String, String> {
    match part {
        "*" | "?" => return Ok(part.to_owned()),
        // Alone it is the last day of the week.
        "L" => return Ok("SAT".to_owned()),
        _ => {}
    }
    if let Some(step) = part.strip_prefix('/') {
        return listed(0, 6, step);
    }
    if let Some((day, nth)) = part.split_once('#') {
        return Ok(format!("{}#{nth}", day_name(day)?));
    }
    if let Some(day) = part.strip_suffix('L') {
        return Ok(format!("{}L", day_number(day)?));
    }
    let (range, step) = part.split_once('/').map_or((part, "1"), |(range, step)| (range, step));
    match range.split_once('-') {
        Some((first, last)) => listed(day_number(first)?, day_number(last)?, step),
        None if range == "*" => listed(0, 6, step),
        None if step != "1" || part.contains('/') => listed(day_number(range)?, 6, step),
        None => day_name(range),
    }
}

/// From the first day to the last, round the end of the week if need be.
fn listed(first: usize, last: usize, step: &str) -> Result<String, String> {
    let step: usize = step.parse().ok().filter(|step| *step > 0).ok_or_else(|| format!("{step:?} is no step"))?;
    let end = if first > last { last + DAYS.len() } else { last };
    Ok((first..=end).step_by(step).map(|day| DAYS[day % DAYS.len()]).collect::<Vec<_>>().join(","))
}

/// Sunday is 0.
fn day_number(day: &str) -> Result<usize, String> {
    let by_name = DAYS.iter().position(|name| *name == day);
    let by_number = || day.parse::<usize>().ok().filter(|day| (1..=7).contains(day)).map(|day| day - 1);
    by_name.or_else(by_number).ok_or_else(|| format!("{day:?} is no day of the week: Quartz writes 1-7 or SUN-SAT"))
}

fn day_name(day: &str) -> Result<String, String> {
    day_number(day).map(|day| DAYS[day].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_name_the_same_times() {
        for (quartz, ordo) in [
            ("0 0/15 * * * ?", "0 0/15 * * * ?"),
            ("0 0 12 ? * WED", "0 0 12 ? * WED"),
            ("0 0 12 ? * 4", "0 0 12 ? * WED"),
            ("0 15 10 ? * 2-6", "0 15 10 ? * MON,TUE,WED,THU,FRI"),
            ("0 15 10 ? * MON-FRI", "0 15 10 ? * MON,TUE,WED,THU,FRI"),
            ("0 15 10 ? * 6L", "0 15 10 ? * 5L"),
            ("0 15 10 ? * 6L 2027-2029", "0 15 10 ? * 5L 2027-2029"),
            ("0 15 10 ? * 6#3", "0 15 10 ? * FRI#3"),
            ("0 15 10 ? * L", "0 15 10 ? * SAT"),
            ("0 15 10 ? * FRI-MON", "0 15 10 ? * FRI,SAT,SUN,MON"),
            ("0 15 10 ? * 7-1", "0 15 10 ? * SAT,SUN"),
            ("0 15 10 ? * 2/2", "0 15 10 ? * MON,WED,FRI"),
            ("0 0 22-2 * * ?", "0 0 22,23,0,1,2 * * ?"),
            ("0 0 0 1 NOV-FEB ?", "0 0 0 1 11,12,1,2 ?"),
            ("0 /5 * * * ?", "0 */5 * * * ?"),
            ("0 15 10 L * ?", "0 15 10 L * ?"),
            ("0 15 10 LW * ?", "0 15 10 LW * ?"),
            ("0 15 10 15W * ? *", "0 15 10 15W * ? *"),
        ] {
            assert_eq!(translated(quartz).as_deref(), Ok(ordo), "{quartz}");
        }
        for (quartz, part) in [("0 0 12 L-3 * ?", "L-3"), ("0 0 12 * *", "5 fields"), ("0 0 12 ? * 8", "\"8\"")] {
            assert!(translated(quartz).unwrap_err().contains(part), "{quartz}");
        }
    }
}
