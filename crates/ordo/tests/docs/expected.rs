//! Does an output look as the page says? `…` stands for any text in a line, and alone on a line for any lines.
//!
//! Invariant: how columns are padded does not count; everything else does.

pub(crate) const ANY: &str = "…";

pub(crate) fn fits(expected: &[String], actual: &str) -> bool {
    let expected: Vec<String> = expected.iter().map(|line| squeezed(line)).collect();
    let actual: Vec<String> = actual.trim_end().lines().map(squeezed).collect();
    let actual = if actual == [""] { Vec::new() } else { actual };
    lines_fit(&expected, &actual)
}

fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn lines_fit(expected: &[String], actual: &[String]) -> bool {
    match expected.split_first() {
        None => actual.is_empty(),
        Some((any, rest)) if any == ANY => (0..=actual.len()).any(|skipped| lines_fit(rest, &actual[skipped..])),
        Some((line, rest)) => {
            actual.split_first().is_some_and(|(first, others)| line_fits(line, first) && lines_fit(rest, others))
        }
    }
}

fn line_fits(pattern: &str, line: &str) -> bool {
    let Some((start, rest)) = pattern.split_once(ANY) else { return pattern == line };
    let Some(mut line) = line.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split(ANY).collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = line.find(part) else { return false };
        line = &line[at + part.len()..];
    }
    line.ends_with(end)
}

#[test]
fn dots_stand_for_what_varies_and_for_nothing_else() {
    let fits = |expected: &str, actual: &str| fits(&expected.lines().map(str::to_owned).collect::<Vec<_>>(), actual);
    assert!(fits("added hello (…), next at …", "added hello (0198), next at 12:00 UTC\n"));
    assert!(fits("STATUS JOB\ncompleted hello", "STATUS     JOB\ncompleted  hello   \n"));
    assert!(fits("one\n…\nfour", "one\ntwo\nthree\nfour"));
    assert!(fits("…\nfour", "four"));
    assert!(fits("…", ""));
    assert!(!fits("one", "one\ntwo"));
    assert!(!fits("one …", "two one"));
    assert!(!fits("a … b", "a x c"));
    assert!(!fits("a…b…c", "a c b"));
}
