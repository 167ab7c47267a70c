//! Lengths of time as systemd writes them: `1h 30min`, `90`, `5min 20s`, `infinity`.

use ordo_model::Millis;

/// Longest names first, so that `min` is not read as `m` and a rest.
const UNITS: [(&str, f64); 29] = [
    ("seconds", 1e3),
    ("minutes", 6e4),
    ("second", 1e3),
    ("minute", 6e4),
    ("months", 2_630_016e3),
    ("hours", 36e5),
    ("month", 2_630_016e3),
    ("weeks", 6_048e5),
    ("years", 31_557_600e3),
    ("hour", 36e5),
    ("days", 864e5),
    ("week", 6_048e5),
    ("year", 31_557_600e3),
    ("msec", 1.0),
    ("usec", 1e-3),
    ("sec", 1e3),
    ("min", 6e4),
    ("day", 864e5),
    ("hr", 36e5),
    ("ms", 1.0),
    ("us", 1e-3),
    ("μs", 1e-3),
    ("s", 1e3),
    ("m", 6e4),
    ("h", 36e5),
    ("d", 864e5),
    ("w", 6_048e5),
    ("M", 2_630_016e3),
    ("y", 31_557_600e3),
];

/// None for `infinity`. A number without a unit counts seconds.
pub(super) fn parse(text: &str) -> Result<Option<Millis>, String> {
    let mut rest = text.trim();
    if rest == "infinity" {
        return Ok(None);
    }
    let refuse = || format!("{text:?} is no length of time");
    let mut total = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().map_err(|_| refuse())?;
        rest = rest[digits..].trim_start();
        let unit = UNITS.iter().find(|(name, _)| rest.starts_with(name));
        let is_number_next = rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_digit());
        let (length, factor) = match unit {
            Some((name, factor)) => (name.len(), *factor),
            None if is_number_next => (0, 1e3),
            None => return Err(refuse()),
        };
        total += number * factor;
        rest = rest[length..].trim_start();
    }
    millis(total).map(Some).ok_or_else(refuse)
}

/// Whole milliseconds; what is shorter than one is one.
fn millis(total: f64) -> Option<Millis> {
    const MOST: f64 = 1e15;
    if !(0.0..MOST).contains(&total) {
        return None;
    }
    format!("{:.0}", total.ceil()).parse().ok().map(Millis::from_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_as_systemd_reads_them() {
        for (text, length) in [
            ("90", "1m30s"),
            ("15min", "15m"),
            ("1h 30min", "1h30m"),
            ("2hours5m", "2h5m"),
            ("1.5h", "1h30m"),
            ("300ms20s 5day", "5d20s300ms"),
            ("1w", "7d"),
            ("500us", "1ms"),
            ("0", "0s"),
        ] {
            assert_eq!(parse(text).unwrap().unwrap().to_string(), length, "{text}");
        }
        assert_eq!(parse("infinity").unwrap(), None);
        for text in ["soon", "5 parsecs", "-5s", "1e400"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
