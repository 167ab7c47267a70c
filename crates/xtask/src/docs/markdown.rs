//! The little of Markdown that the checks need: where a text points, and what it calls by a path.
//!
//! Invariant: what stands in a fenced block is an example and points nowhere.

/// The targets of inline links `[…](target)` and of definitions `[…]: target`.
pub(super) fn targets(text: &str) -> Vec<String> {
    prose(text).flat_map(|line| inline_targets(&without_code(line)).into_iter().chain(defined_target(line))).collect()
}

/// The contents of `code spans`.
pub(super) fn code_spans(text: &str) -> Vec<String> {
    prose(text).flat_map(|line| line.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// The names by which links reach the headings of a page.
pub(super) fn anchors(text: &str) -> Vec<String> {
    let titles = prose(text).filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    titles.map(|title| anchor(&without_links(title))).collect()
}

fn anchor(title: &str) -> String {
    let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

/// `[text](target)` as `text`.
pub(super) fn without_links(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, label, after)) = first_link(rest) {
        result += before;
        result += label;
        rest = after;
    }
    result + rest
}

fn first_link(text: &str) -> Option<(&str, &str, &str)> {
    let middle = text.find("](")?;
    let start = text[..middle].rfind('[')?;
    let end = middle + text[middle..].find(')')?;
    Some((&text[..start], &text[start + 1..middle], &text[end + 1..]))
}

/// The lines outside fenced blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

fn inline_targets(line: &str) -> Vec<String> {
    line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next()).map(str::to_owned).collect()
}

fn defined_target(line: &str) -> Option<String> {
    let (name, target) = line.strip_prefix('[')?.split_once("]: ")?;
    (!name.contains(']')).then(|| target.split(' ').next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_in_prose_and_not_in_examples() {
        let text =
            "See [a](one.md) and [`b`](two.md#part \"title\").\n```\n[c](three.md)\n```\n`[d](four.md)`\n[e]: five.md";
        assert_eq!(targets(text), ["one.md", "two.md#part", "five.md"]);
    }

    #[test]
    fn code_spans_are_what_stands_between_two_ticks() {
        assert_eq!(code_spans("`crates/model` and `x`\n```\n`y`\n```"), ["crates/model", "x"]);
    }
}
