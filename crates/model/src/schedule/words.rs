//! Numbers and lists as English words.

/// `1`, `1 and 15`, `1, 5 to 9 and 15`.
pub(super) fn list(values: &[u16]) -> String {
    let runs: Vec<String> = values
        .chunk_by(|a, b| a + 1 == *b)
        .flat_map(|run| match run {
            [first, _, .., last] => vec![format!("{first} to {last}")],
            _ => run.iter().map(u16::to_string).collect(),
        })
        .collect();
    listed(&runs)
}

pub(super) fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [front @ .., last] => format!("{} and {last}", front.join(", ")),
    }
}

pub(super) fn plural(word: &str, count: usize) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

pub(super) fn ordinal(n: u8) -> String {
    match n {
        1 => "1st".to_owned(),
        2 => "2nd".to_owned(),
        3 => "3rd".to_owned(),
        _ => format!("{n}th"),
    }
}

/// The step of values that divide the whole clock evenly: 0, 15, 30, 45 of 60 have 15.
pub(super) fn step_of(values: &[u16], length: u16) -> Option<u16> {
    let step = length / u16::try_from(values.len()).ok().filter(|count| *count > 1)?;
    let evenly = values.iter().copied().eq((0..length).step_by(usize::from(step.max(1))));
    (evenly && length.is_multiple_of(step)).then_some(step)
}

pub(super) fn sentence_case(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}
