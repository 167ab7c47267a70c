//! Text for Slack: what people wrote stays text.
//!
//! Invariant: no text of a user can make a link, a mention or `<!channel>`: these all need `<`, and `&`, `<`, `>` are
//! always written as entities. Formatting marks lose their meaning by a word joiner.

/// Between a mark and what follows: invisible, and the mark is only a character.
const JOINER: char = '\u{2060}';

/// The longest text of one block; Slack refuses more than 3,000 characters.
pub const TEXT_MAX_CHARS: usize = 2_900;

/// A text as it was written, without any effect.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '*' | '_' | '~' | '`' => safe.extend([JOINER, character, JOINER]),
            // `:fire:` would become a picture, `@here` is resolved by clients that link names.
            ':' | '@' | '#' => safe.extend([character, JOINER]),
            '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            other => safe.push(other),
        }
    }
    safe
}

/// The same on one line, at most so many characters of the original.
pub fn line(text: &str, max_chars: usize) -> String {
    escape(&shorten(&text.split_whitespace().collect::<Vec<_>>().join(" "), max_chars))
}

/// A text of several lines inside a code block, from which nothing gets out.
pub fn code_block(text: &str, max_chars: usize) -> String {
    let inner = shorten(text, max_chars).replace("```", "'''");
    let inner = inner.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("```\n{inner}\n```")
}

/// For fields of the type `plain_text`: only the entities matter there.
pub fn plain(text: &str, max_chars: usize) -> String {
    let text = shorten(&text.split_whitespace().collect::<Vec<_>>().join(" "), max_chars);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A mention that is meant, if the id is one that Slack gives to users.
pub fn user(id: &str) -> String {
    let is_id = matches!(id.as_bytes(), [b'U' | b'W', rest @ ..] if !rest.is_empty() && rest.len() <= 20
        && rest.iter().all(u8::is_ascii_alphanumeric));
    if is_id { format!("<@{id}>") } else { escape(id) }
}

pub(crate) fn shorten(text: &str, max_chars: usize) -> String {
    if text.chars().count() <= max_chars {
        return text.to_owned();
    }
    text.chars().take(max_chars.saturating_sub(1)).chain(['…']).collect()
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
    fn a_long_text_is_shortened_before_it_is_escaped() {
        assert_eq!(line("a  b\nc", 10), "a b c");
        assert_eq!(line(&"<".repeat(10), 4), "&lt;&lt;&lt;…");
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
