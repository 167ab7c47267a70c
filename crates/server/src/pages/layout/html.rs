//! Text that is HTML already, and the way text becomes it.
//!
//! Invariant: an `Html` holds nothing that was not escaped or written here; templates escape everything else.

use std::fmt::{self, Display, Write};

/// A piece of HTML. Templates put it out as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Html(String);

impl askama::filters::HtmlSafe for Html {}

impl Display for Html {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Html {
    pub(crate) fn new() -> Html {
        Html::default()
    }

    /// Markup written in the code.
    pub(crate) fn raw(mut self, markup: impl Display) -> Html {
        // Writing to a String does not fail.
        write!(self.0, "{markup}").unwrap_or(());
        self
    }

    /// Text from anywhere, as content or inside a quoted attribute.
    pub(crate) fn text(mut self, text: &str) -> Html {
        for notification in text.chars() {
            match notification {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                _ => self.0.push(notification),
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        let shown = Html::new().raw("<b title=\"").text("\"><script>'&").raw("\">");
        assert_eq!(shown.to_string(), "<b title=\"&quot;&gt;&lt;script&gt;&#39;&amp;\">");
    }
}
