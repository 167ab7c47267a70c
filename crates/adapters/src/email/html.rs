//! A message as simple HTML: no images, no styles from elsewhere, nothing that a user wrote takes effect.

use crate::message::{Mood, Words};

pub(super) fn page(words: &Words) -> String {
    let colour = match words.mood {
        Mood::Bad => "#b3261e",
        Mood::Worrying => "#9a5b00",
        Mood::Good => "#1b6e34",
        Mood::Neutral => "#444444",
    };
    let quote = words.quote.as_deref().map(|quote| {
        format!(
            "<pre style=\"background:#f4f4f4;padding:8px;white-space:pre-wrap\">{}</pre>\n",
            escape(quote.trim_end())
        )
    });
    let facts: String = words.facts.iter().map(|(name, fact)| fact_row(name, fact)).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\"><body style=\"font-family:sans-serif\">\n\
         <p style=\"border-left:4px solid {colour};padding-left:8px\">{}</p>\n{}<table>{facts}</table>\n</body></html>\n",
        escape(&words.line()),
        quote.unwrap_or_default(),
    )
}

fn fact_row(name: &str, fact: &str) -> String {
    format!("<tr><td style=\"color:#666666;padding-right:12px\">{}</td><td>{}</td></tr>", escape(name), escape(fact))
}

fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_user_wrote_takes_effect() {
        let words = Words {
            topic: crate::message::Topic::Job("<script>alert('1')</script>".into()),
            happening: crate::message::Phrase::text("failed"),
            quote: Some("a\n</pre><img src=\"x\">".into()),
            facts: vec![("Run", "<b>".into())],
            mood: Mood::Bad,
        };
        let page = page(&words);
        for tag in ["<script", "<img", "</pre><", "<b>"] {
            assert!(!page.contains(tag), "{tag}: {page}");
        }
    }
}
