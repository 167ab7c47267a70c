//! `OnCalendar=` as a cron expression.
//!
//! Invariant: the expression names exactly the times that systemd names. What cron cannot say is refused with the part
//! that stands in the way.

const SHORTHANDS: [(&str, &str); 9] = [
    ("minutely", "* * * * *"),
    ("hourly", "0 * * * *"),
    ("daily", "0 0 * * *"),
    ("weekly", "0 0 * * MON"),
    ("monthly", "0 0 1 * *"),
    ("quarterly", "0 0 1 1,4,7,10 *"),
    ("semiannually", "0 0 1 1,7 *"),
    ("yearly", "0 0 1 1 *"),
    ("annually", "0 0 1 1 *"),
];
const DAYS: [&str; 7] = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"];
/// The number of a weekday in `5L`, in the order of `DAYS`.
const CRON_NUMBERS: [&str; 7] = ["1", "2", "3", "4", "5", "6", "0"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CalendarEvent {
    pub(super) cron: String,
    /// Written behind the time.
    pub(super) zone: Option<String>,
}

pub(super) fn parse(text: &str) -> Result<CalendarEvent, String> {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let zone = words.pop_if(|word| is_zone(word)).map(str::to_owned);
    if let [word] = words.as_slice()
        && let Some(cron) = shorthand(word)
    {
        return Ok(CalendarEvent { cron, zone });
    }
    if words.is_empty() || words[0].starts_with('@') {
        return Err(format!("{text:?} is no calendar event"));
    }
    let mut parts = CalendarParts::default();
    for word in words {
        parts.add(word).map_err(|why| format!("OnCalendar={text}: {why}"))?;
    }
    let cron = parts.cron().map_err(|why| format!("OnCalendar={text}: {why}"))?;
    Ok(CalendarEvent { cron, zone })
}

fn shorthand(word: &str) -> Option<String> {
    let plain = word.to_ascii_lowercase().replace("semi-annually", "semiannually");
    SHORTHANDS.iter().find(|(name, _)| *name == plain).map(|(_, cron)| (*cron).to_owned())
}

/// A weekday is a word too, but a short one without a slash.
fn is_zone(word: &str) -> bool {
    let begins = word.starts_with(|c: char| c.is_ascii_alphabetic());
    begins && !word.contains(':') && shorthand(word).is_none() && weekdays(word).is_err()
}

/// The words of an event, told apart by their punctuation.
#[derive(Debug, Default)]
struct CalendarParts<'a> {
    /// By their number in `DAYS`.
    weekdays: Option<Vec<usize>>,
    date: Option<&'a str>,
    time: Option<&'a str>,
}

impl<'a> CalendarParts<'a> {
    fn add(&mut self, word: &'a str) -> Result<(), String> {
        if let Some((date, time)) = word.split_once('T').filter(|(date, time)| date.contains('-') && time.contains(':'))
        {
            self.add(date)?;
            return self.add(time);
        }
        let slot = if word.contains(':') {
            &mut self.time
        } else if word.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let found = weekdays(word.trim_end_matches(','))?;
            return match self.weekdays.replace(found) {
                None => Ok(()),
                Some(_) => Err("it names the days of the week twice".to_owned()),
            };
        } else {
            &mut self.date
        };
        match slot.replace(word) {
            None => Ok(()),
            Some(before) => Err(format!("{before} and {word} are both a date, or both a time")),
        }
    }

    fn cron(&self) -> Result<String, String> {
        let (hour, minute, second) = time(self.time.unwrap_or("00:00:00"))?;
        let (year, month, mut day) = date(self.date.unwrap_or("*-*-*"))?;
        let week = match (&self.weekdays, day.as_str()) {
            (None, _) => "*".to_owned(),
            (Some(days), "~7/1") => {
                day = "*".to_owned();
                listed(days, |day| format!("{}L", CRON_NUMBERS[day]))
            }
            (Some(days), "*") => listed(days, |day| DAYS[day].to_owned()),
            // systemd wants both to fit; cron takes either unless a plus says otherwise.
            (Some(days), _) => format!("+{}", listed(days, |day| DAYS[day].to_owned())),
        };
        let day = match day.as_str() {
            "~1" => "L".to_owned(),
            counted if counted.starts_with('~') => {
                return Err(format!(
                    "{counted} counts days from the end of the month, which cron cannot; only ~01 and a weekday with \
                     ~07/1 can be carried over"
                ));
            }
            _ => day,
        };
        let five = format!("{minute} {hour} {day} {month} {week}");
        Ok(match (second.as_str(), year.as_str()) {
            ("0", "*") => five,
            (_, "*") => format!("{second} {five}"),
            _ => format!("{second} {five} {year}"),
        })
    }
}

fn listed(days: &[usize], name: impl Fn(usize) -> String) -> String {
    days.iter().map(|day| name(*day)).collect::<Vec<_>>().join(",")
}

/// `Mon..Fri`, `Sat,Sun`, `Monday`; also `Mon-Fri`, as systemd once wrote it.
fn weekdays(word: &str) -> Result<Vec<usize>, String> {
    let refuse = || format!("{word:?} names no day of the week");
    let mut days = Vec::new();
    for part in word.split(',') {
        let (first, last) = part.split_once("..").or_else(|| part.split_once('-')).unwrap_or((part, part));
        let (first, last) = (weekday(first).ok_or_else(refuse)?, weekday(last).ok_or_else(refuse)?);
        if first > last {
            return Err(format!("{part} runs backwards"));
        }
        days.extend(first..=last);
    }
    days.sort_unstable();
    days.dedup();
    Ok(days)
}

fn weekday(name: &str) -> Option<usize> {
    const FULL: [&str; 7] = ["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"];
    let upper = name.to_ascii_uppercase();
    DAYS.iter().position(|day| *day == upper).or_else(|| FULL.iter().position(|day| *day == upper))
}

/// Hour, minute and second.
fn time(word: &str) -> Result<(String, String, String), String> {
    let parts: Vec<&str> = word.split(':').collect();
    let (hour, minute, second) = match parts.as_slice() {
        [hour, minute] => (*hour, *minute, "0"),
        [hour, minute, second] => (*hour, *minute, *second),
        _ => return Err(format!("{word:?} is no time of day")),
    };
    Ok((component(hour)?, component(minute)?, component(second)?))
}

/// Year, month and day; a day counted from the end keeps its tilde.
fn date(word: &str) -> Result<(String, String, String), String> {
    let (before, day, mark) = match word.split_once('~') {
        Some((before, day)) => (before, day, "~"),
        None => {
            let (before, day) = word.rsplit_once('-').ok_or_else(|| format!("{word:?} is no date"))?;
            (before, day, "")
        }
    };
    let (year, month) = before.rsplit_once('-').unwrap_or(("*", before));
    Ok((years(year)?, component(month)?, format!("{mark}{}", component(day)?)))
}

/// Two digits mean this century, as for systemd up to 69.
fn years(field: &str) -> Result<String, String> {
    let full = |number: &str| match number.parse::<u16>() {
        Ok(year @ 0..=69) if number.len() <= 2 => (2000 + year).to_string(),
        Ok(year @ 70..=99) if number.len() <= 2 => (1900 + year).to_string(),
        Ok(_) | Err(_) => number.to_owned(),
    };
    let whole = component(field)?;
    let ends = |range: &str| range.split('-').map(full).collect::<Vec<_>>().join("-");
    let part = |part: &str| match part.split_once('/') {
        Some((range, step)) => format!("{}/{step}", ends(range)),
        None => ends(part),
    };
    Ok(whole.split(',').map(part).collect::<Vec<_>>().join(","))
}

/// A list of numbers, ranges and repetitions, in the words of cron.
fn component(field: &str) -> Result<String, String> {
    let part = |part: &str| -> Result<String, String> {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(number(step)?)),
            None => (part, None),
        };
        let range = match range.split_once("..") {
            Some((first, last)) => format!("{}-{}", number(first)?, number(last)?),
            None if range == "*" => "*".to_owned(),
            None => number(range)?,
        };
        Ok(match step {
            Some(step) => format!("{range}/{step}"),
            None => range,
        })
    };
    field.split(',').map(part).collect::<Result<Vec<_>, _>>().map(|parts| parts.join(","))
}

/// Without leading zeros.
fn number(text: &str) -> Result<String, String> {
    if let Some((whole, fraction)) = text.split_once('.')
        && !fraction.trim_end_matches('0').is_empty()
    {
        return Err(format!("{whole}.{fraction} is a fraction of a second, which cron has not"));
    }
    let whole = text.split('.').next().unwrap_or(text);
    whole.parse::<u16>().map(|number| number.to_string()).map_err(|_| format!("{text:?} is not understood"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first column is what systemd.time(7) and the timers of distributions write.
    #[test]
    fn events_become_expressions() {
        for (event, cron) in [
            ("hourly", "0 * * * *"),
            ("weekly", "0 0 * * MON"),
            ("semi-annually", "0 0 1 1,7 *"),
            ("*-*-* 6,18:00", "0 6,18 * * *"),
            ("*-*-* 02:00:00", "0 2 * * *"),
            ("02:30", "30 2 * * *"),
            ("*:0/15", "0/15 * * * *"),
            ("*:00/10", "0/10 * * * *"),
            ("*:*:0/5", "0/5 * * * * *"),
            ("*-*-* *:*:30", "30 * * * * *"),
            ("Mon..Fri 09:00", "0 9 * * MON,TUE,WED,THU,FRI"),
            ("Mon-Fri 9:00", "0 9 * * MON,TUE,WED,THU,FRI"),
            ("Sat,Sun *-*-* 10:00", "0 10 * * SAT,SUN"),
            ("Sun", "0 0 * * SUN"),
            ("Mon *-*-1..7 04:00", "0 4 1-7 * +MON"),
            ("*-*~01 23:00", "0 23 L * *"),
            ("Mon *-05~07/1", "0 0 * 5 1L"),
            ("*-01,04,07,10-01", "0 0 1 1,4,7,10 *"),
            ("2027-03-05 08:05:40", "40 5 8 5 3 * 2027"),
            ("2027-03-05T08:05", "0 5 8 5 3 * 2027"),
            ("27..29-1-1", "0 0 0 1 1 * 2027-2029"),
            ("05:40:23.000", "23 40 5 * * *"),
        ] {
            assert_eq!(parse(event).map(|event| event.cron), Ok(cron.to_owned()), "{event}");
        }
    }

    #[test]
    fn a_zone_stands_behind_the_time() {
        let zone = |event: &str| parse(event).unwrap().zone;
        assert_eq!(zone("*-*-* 02:00 Europe/Berlin").as_deref(), Some("Europe/Berlin"));
        assert_eq!(zone("daily UTC").as_deref(), Some("UTC"));
        assert_eq!(zone("Mon,Tue 10:00"), None);
        assert_eq!(zone("Sat"), None);
    }

    #[test]
    fn what_cron_cannot_say_is_refused_with_its_part() {
        for (event, part) in [
            ("*-*~03", "~3"),
            ("05:40:23.25", "fraction"),
            ("@1395716396", "calendar event"),
            ("25h", "no date"),
            ("", "no calendar"),
        ] {
            let why = parse(event).unwrap_err();
            assert!(why.contains(part), "{event}: {why}");
        }
    }
}
