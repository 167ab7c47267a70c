//! Text for Slack: what people wrote stays text.
//!
//! Invariant: no text of a user can make a link, a mention or `<!channel>`: these all need `<`, and `&`, `<`, `>` are
//! always written as entities. Formatting marks lose their meaning by a word joiner.

/// Between a mark and what follows: invisible, and the mark is only a character.
const JOINER: char = '\u{2060}';

/// A text as it was written, without any effect.
pub fn escape(text: &str) -> String {
    bounded(text, usize::MAX, write_marked)
}

/// The same, at most so many characters as Slack counts them.
pub fn text(text: &str, max_chars: usize) -> String {
    bounded(text, max_chars, write_marked)
}

/// The same on one line.
pub fn line(text: &str, max_chars: usize) -> String {
    bounded(&one_line(text), max_chars, write_marked)
}

/// A text of several lines inside a code block, from which nothing gets out.
pub fn code_block(text: &str, max_chars: usize) -> String {
    format!("```\n{}\n```", bounded(&text.replace("```", "'''"), max_chars, write_entity))
}

/// For fields of the type `plain_text`: only the entities matter there.
pub fn plain(text: &str, max_chars: usize) -> String {
    bounded(&one_line(text), max_chars, write_entity)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn write_entity(character: char, safe: &mut String) {
    match character {
        '&' => safe.push_str("&amp;"),
        '<' => safe.push_str("&lt;"),
        '>' => safe.push_str("&gt;"),
        other => safe.push(other),
    }
}

fn write_marked(character: char, safe: &mut String) {
    match character {
        '*' | '_' | '~' | '`' => safe.extend([JOINER, character, JOINER]),
        // `:fire:` would become a picture, `@here` is resolved by clients that link names.
        ':' | '@' | '#' => safe.extend([character, JOINER]),
        '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
        other => write_entity(other, safe),
    }
}

/// Writes one character after another until so many stand there: Slack counts what it gets, not what was meant. Nothing is
/// cut within an entity; an ellipsis says that there was more.
fn bounded(text: &str, max_chars: usize, write: fn(char, &mut String)) -> String {
    let mut safe = String::with_capacity(text.len() + 16);
    let (mut chars, mut cut_at) = (0, 0);
    for character in text.chars() {
        let before = safe.len();
        write(character, &mut safe);
        chars += safe[before..].chars().count();
        if chars > max_chars {
            safe.truncate(cut_at);
            safe.push('…');
            return safe;
        }
        if chars < max_chars {
            cut_at = safe.len();
        }
    }
    safe
}

/// A mention that is meant, if the id is one that Slack gives to users.
pub fn user(id: &str) -> String {
    let is_id = matches!(id.as_bytes(), [b'U' | b'W', rest @ ..] if !rest.is_empty() && rest.len() <= 20
        && rest.iter().all(u8::is_ascii_alphanumeric));
    if is_id { format!("<@{id}>") } else { escape(id) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_makes_a_link_a_mention_or_a_call_to_everybody() {
        for text in [
            "<!channel>",
            "<@U123>",
            "<https://evil.example|bank>",
            "<#C1>",
            "a<b>c&d",
            "<!subteam^S1>",
            "&lt;!here&gt;",
        ] {
            for safe in [escape(text), line(text, 100), plain(text, 100), code_block(text, 100)] {
                assert!(!safe.contains('<') && !safe.contains('>'), "{text}: {safe}");
            }
        }
        assert_eq!(escape("a&b"), "a&amp;b");
        assert_eq!(plain("&lt;", 100), "&amp;lt;", "an entity of the user's own stays what it was");
    }

    #[test]
    fn marks_are_only_characters() {
        let plain = |text: &str| escape(text).replace(JOINER, "");
        assert_eq!(plain("*bold* _i_ ~s~ `c` :fire: @here #general"), "*bold* _i_ ~s~ `c` :fire: @here #general");
        assert!(
            !escape("*bold*").contains("*b") && !escape(":fire:").contains(":f") && !escape("@here").contains("@h")
        );
    }

    #[test]
    fn a_code_block_cannot_be_left() {
        let block = code_block("a\n```\n<!here> *x*", 100);
        assert_eq!(block, "```\na\n'''\n&lt;!here&gt; *x*\n```");
    }

    #[test]
    fn a_text_is_as_long_as_slack_allows_after_it_was_escaped() {
        assert_eq!(line("a  b\nc", 10), "a b c");
        assert_eq!(plain("<<<", 12), "&lt;&lt;&lt;");
        assert_eq!(plain("<<<", 11), "&lt;&lt;…", "no half of an entity");
        assert_eq!((plain("abcd", 4), plain("abcde", 4)), ("abcd".to_owned(), "abc…".to_owned()));
        for hostile in ["<", "&", "*", ":", "a", "ü", "*<:"] {
            let long = hostile.repeat(5_000);
            for length in [line(&long, 140), text(&long, 140), plain(&long, 140)].map(|safe| safe.chars().count()) {
                assert!((130..=140).contains(&length), "{hostile}: {length}");
            }
            assert!(code_block(&long, 2_500).chars().count() <= 2_508);
        }
    }

    #[test]
    fn only_ids_of_users_are_mentioned() {
        assert_eq!(user("U2CERLKJA"), "<@U2CERLKJA>");
        for other in ["", "U", "anna", "!channel", "U1|x", "U1>", &format!("U{}", "1".repeat(30))] {
            assert!(!user(other).contains('<'), "{other}");
        }
    }

    #[test]
    fn what_turns_text_around_is_left_out() {
        assert_eq!(escape("a\u{202e}b\u{2066}c\u{7}d"), "abcd");
    }
}
