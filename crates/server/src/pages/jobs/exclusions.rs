//! Times in which a job does not fire, one on each line, as people write them down.
//!
//! Invariant: what is read and written again is the same. What has no short form is a line of JSON.

use ordo_model::schedule::{Exclusion, Weekday};
use serde_json::{Value, json};

/// The lines for the exclusions of a schedule.
pub(crate) fn written(exclusions: &[Exclusion]) -> String {
    exclusions.iter().map(line_of).collect::<Vec<String>>().join("\n")
}

fn line_of(exclusion: &Exclusion) -> String {
    let value = serde_json::to_value(exclusion).unwrap_or_default();
    match exclusion {
        Exclusion::Range(range) => format!("{} / {}", range.from, range.to),
        Exclusion::Weekly(weekly) if weekly.timezone.is_none() => {
            let days =
                weekly.days.as_ref().map(|days| days.iter().map(|day| short(*day)).collect::<Vec<_>>().join(","));
            let hours = (weekly.from.is_some() || weekly.to.is_some()).then(|| {
                let time = |given: Option<ordo_model::schedule::TimeOfDay>, default: &str| {
                    given.map_or_else(|| default.to_owned(), |time| time.to_string())
                };
                format!("{}-{}", time(weekly.from, "00:00"), time(weekly.to, "24:00"))
            });
            let parts: Vec<String> = days.into_iter().chain(hours).collect();
            // Neither says always, which only JSON can say.
            if parts.is_empty() { value.to_string() } else { parts.join(" ") }
        }
        Exclusion::Dates(dates) if dates.timezone.is_none() => {
            let all = value["dates"].as_array().cloned().unwrap_or_default();
            all.iter().filter_map(Value::as_str).collect::<Vec<&str>>().join(", ")
        }
        Exclusion::Weekly(_) | Exclusion::Dates(_) => value.to_string(),
    }
}

fn short(day: Weekday) -> String {
    day.name()[..3].to_lowercase()
}

/// The exclusions as a client writes them; or the line that cannot be read.
pub(crate) fn read(text: &str) -> Result<Vec<Value>, String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| read_line(line).ok_or_else(|| refused(line))).collect()
}

fn refused(line: &str) -> String {
    format!("{line:?} is none of: sat,sun · mon-fri 22:00-06:00 · 2026-12-24, 2026-12-25 · TIME / TIME")
}

fn read_line(line: &str) -> Option<Value> {
    if line.starts_with('{') {
        return serde_json::from_str(line).ok();
    }
    if let Some((from, to)) = line.split_once('/') {
        return Some(json!({ "from": from.trim(), "to": to.trim() }));
    }
    if line.split(',').all(is_date) {
        return Some(json!({ "dates": line.split(',').map(str::trim).collect::<Vec<&str>>() }));
    }
    let (days, hours) = match line.rsplit_once(' ') {
        Some((days, hours)) if hours.contains(':') => (Some(days.trim()), Some(hours)),
        Some(_) | None if line.contains(':') => (None, Some(line)),
        Some(_) | None => (Some(line), None),
    };
    let mut window = serde_json::Map::new();
    if let Some(days) = days {
        window.insert("days".to_owned(), json!(weekdays(days)?));
    }
    if let Some(hours) = hours {
        let (from, to) = hours.split_once('-')?;
        // What is the default is left out, so that it is read back as it was.
        window.extend((from.trim() != "00:00").then(|| ("from".to_owned(), json!(from.trim()))));
        window.extend((to.trim() != "24:00").then(|| ("to".to_owned(), json!(to.trim()))));
    }
    Some(Value::Object(window))
}

fn is_date(text: &str) -> bool {
    text.trim().parse::<jiff::civil::Date>().is_ok() && text.trim().len() == 10
}

/// `mon-fri`, `sat,sun`, `mon, wed-thu`
fn weekdays(text: &str) -> Option<Vec<String>> {
    let place = |name: &str| {
        let day = name.trim().parse::<Weekday>().ok()?;
        Weekday::ALL.iter().position(|one| *one == day)
    };
    let mut days = Vec::new();
    for part in text.split(',') {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (place(first)?, place(last)?),
            None => (place(part)?, place(part)?),
        };
        // From Friday to Monday goes over the end of the week.
        let count = (last + 7 - first) % 7;
        days.extend((0..=count).map(|step| short(Weekday::ALL[(first + step) % 7])));
    }
    Some(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exclusions(lines: &str) -> Vec<Exclusion> {
        read(lines).unwrap().into_iter().map(|value| serde_json::from_value(value).unwrap()).collect()
    }

    #[test]
    fn lines_are_read_and_written_again_as_they_were() {
        for line in [
            "sat,sun",
            "22:00-06:00",
            "mon,tue,wed,thu,fri 22:00-06:00",
            "sat 00:00-12:00",
            "2026-12-24, 2026-12-25",
            "2026-12-24T00:00:00.000Z / 2026-12-27T00:00:00.000Z",
            r#"{"days":["sat"],"timezone":"Asia/Tokyo"}"#,
        ] {
            assert_eq!(written(&exclusions(line)), line);
        }
        let three = "sat,sun\n22:00-06:00\n2026-12-24";
        assert_eq!(written(&exclusions(three)), three);
    }

    #[test]
    fn short_forms_mean_what_people_mean() {
        assert_eq!(
            read("Mon-Fri 22:00-06:00").unwrap(),
            [json!({ "days": ["mon", "tue", "wed", "thu", "fri"], "from": "22:00", "to": "06:00" })]
        );
        assert_eq!(read("fri-mon").unwrap(), [json!({ "days": ["fri", "sat", "sun", "mon"] })]);
        assert_eq!(read("  \n\n").unwrap(), Vec::<Value>::new());
    }

    #[test]
    fn a_line_that_means_nothing_is_named() {
        for line in ["someday", "22:00", "mon-someday", "{not json", "sat 22:00"] {
            assert!(read(line).unwrap_err().contains("is none of"), "{line}");
        }
    }
}
