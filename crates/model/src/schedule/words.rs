//! Numbers and lists as English words. However many there are, the words stay few.

/// So many are listed one by one.
const LISTED_MAX: usize = 10;
/// So many of a longer list are named before it is cut short.
const NAMED_OF_MANY: usize = 3;

/// `1`, `1 and 15`, `1, 5 to 9 and 15`; `1, 3, 5 and so on up to 59` for many in even steps.
pub(super) fn list(values: &[u16]) -> String {
    let runs: Vec<String> = values
        .chunk_by(|a, b| a + 1 == *b)
        .flat_map(|run| match run {
            [first, _, .., last] => vec![format!("{first} to {last}")],
            _ => run.iter().map(u16::to_string).collect(),
        })
        .collect();
    match values.last() {
        Some(last) if runs.len() > LISTED_MAX && goes_in_even_steps(values) => {
            format!("{} and so on up to {last}", runs[..NAMED_OF_MANY].join(", "))
        }
        Some(_) | None => listed(&runs),
    }
}

fn goes_in_even_steps(values: &[u16]) -> bool {
    let mut steps = values.windows(2).map(|pair| pair[1] - pair[0]);
    let first = steps.next();
    steps.all(|step| Some(step) == first)
}

/// `a`, `a and b`, `a, b and c`; of very many only the first, and how many more.
pub(super) fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        many if many.len() > LISTED_MAX => {
            format!("{} and {} more", many[..LISTED_MAX - 1].join(", "), many.len() - LISTED_MAX + 1)
        }
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
