//! Cron expressions of XXL-JOB, which are those of Quartz: the week has the days 1 (Sunday) to 7 (Saturday).

const DAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// The same times in the words of Ordo.
pub(super) fn translated(expression: &str) -> Result<String, String> {
    let mut fields: Vec<String> = expression.split_whitespace().map(str::to_ascii_uppercase).collect();
    if !(6..=7).contains(&fields.len()) {
        return Err(format!("cron expression {expression:?} has {} fields; XXL-JOB writes 6 or 7", fields.len()));
    }
    let week: Result<Vec<String>, String> = fields[5].split(',').map(weekday).collect();
    fields[5] = week?.join(",");
    Ok(fields.join(" "))
}

fn weekday(part: &str) -> Result<String, String> {
    match part {
        "*" | "?" => return Ok(part.to_owned()),
        // Alone it is the last day of the week.
        "L" => return Ok("SAT".to_owned()),
        _ => {}
    }
    if let Some((day, nth)) = part.split_once('#') {
        return Ok(format!("{}#{nth}", DAYS[number(day)?]));
    }
    if let Some(day) = part.strip_suffix('L') {
        return Ok(format!("{}L", number(day)?));
    }
    let (range, step) = part.split_once('/').unwrap_or((part, ""));
    let (first, last) = match range.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None if range == "*" => (0, 6),
        None if step.is_empty() => return Ok(DAYS[number(range)?].to_owned()),
        None => (number(range)?, 6),
    };
    let step: usize = if step.is_empty() { 1 } else { step.parse().map_err(|_| format!("{step:?} is no step"))? };
    let end = if first > last { last + DAYS.len() } else { last };
    Ok((first..=end).step_by(step.max(1)).map(|day| DAYS[day % DAYS.len()]).collect::<Vec<_>>().join(","))
}

/// Sunday is 0.
fn number(day: &str) -> Result<usize, String> {
    let by_name = DAYS.iter().position(|name| *name == day);
    let by_number = || day.parse::<usize>().ok().filter(|day| (1..=7).contains(day)).map(|day| day - 1);
    by_name.or_else(by_number).ok_or_else(|| format!("{day:?} is no day of the week: 1-7 or SUN-SAT"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_days_of_the_week_are_the_same_days() {
        for (theirs, ours) in [
            ("0 0/10 * * * ?", "0 0/10 * * * ?"),
            ("0 0 12 ? * 2-6", "0 0 12 ? * MON,TUE,WED,THU,FRI"),
            ("0 0 12 ? * 1,sat", "0 0 12 ? * SUN,SAT"),
            ("0 0 12 ? * 6L", "0 0 12 ? * 5L"),
            ("0 0 12 ? * 6#3 2027", "0 0 12 ? * FRI#3 2027"),
            ("0 0 12 ? * 7-1", "0 0 12 ? * SAT,SUN"),
            ("0 0 12 ? * 2/2", "0 0 12 ? * MON,WED,FRI"),
        ] {
            assert_eq!(translated(theirs).as_deref(), Ok(ours), "{theirs}");
        }
        assert!(translated("* * * * *").is_err() && translated("0 0 0 ? * 9").is_err());
    }
}
