//! Colours of terminals as classes. `ansi.js` does the same for lines that arrive later.
//!
//! Invariant: no control sequence reaches the page; what cannot be shown as a class is left out.

use crate::pages::layout::html::Html;

/// What the sequences so far have switched on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Pen {
    colour: Option<u8>,
    bold: bool,
    dim: bool,
    underline: bool,
}

impl Pen {
    fn class(self) -> String {
        let colour = self.colour.map(|colour| format!("c{colour}"));
        let others = [(self.bold, "bold"), (self.dim, "dim"), (self.underline, "under")];
        let others = others.into_iter().filter(|(on, _)| *on).map(|(_, name)| name.to_owned());
        colour.into_iter().chain(others).collect::<Vec<String>>().join(" ")
    }

    fn take(&mut self, codes: &str) {
        let mut codes = codes.split(';').map(|code| code.parse::<u16>().unwrap_or(0));
        while let Some(code) = codes.next() {
            match code {
                0 => *self = Pen::default(),
                1 => self.bold = true,
                2 => self.dim = true,
                4 => self.underline = true,
                22 => (self.bold, self.dim) = (false, false),
                24 => self.underline = false,
                30..=37 => self.colour = u8::try_from(code - 30).ok(),
                39 => self.colour = None,
                90..=97 => self.colour = u8::try_from(code - 90 + 8).ok(),
                // Colours by number take arguments; those of the first sixteen are ours.
                38 | 48 => {
                    let kind = codes.next();
                    let colour = if kind == Some(5) { codes.next() } else { codes.nth(2).and(None) };
                    if code == 38 {
                        self.colour = colour.and_then(|colour| u8::try_from(colour).ok()).filter(|colour| *colour < 16);
                    }
                }
                _ => {}
            }
        }
    }
}

pub(crate) fn draw(line: &str) -> Html {
    let mut html = Html::new();
    let (mut pen, mut rest) = (Pen::default(), line);
    while let Some(at) = rest.find('\u{1b}') {
        html = run(html, pen, &rest[..at]);
        let (codes, behind) = sequence(&rest[at + 1..]);
        if let Some(codes) = codes {
            pen.take(codes);
        }
        rest = behind;
    }
    run(html, pen, rest)
}

/// What stands behind an escape: the codes if it sets colours, and the text after it.
fn sequence(text: &str) -> (Option<&str>, &str) {
    let Some(inner) = text.strip_prefix('[') else {
        // Other sequences have one notification; a lone escape has none.
        let mut notifications = text.chars();
        notifications.next();
        return (None, notifications.as_str());
    };
    match inner.find(|notification: char| ('@'..='~').contains(&notification)) {
        Some(end) if inner[end..].starts_with('m') => (Some(&inner[..end]), &inner[end + 1..]),
        Some(end) => (None, &inner[end + 1..]),
        None => (None, ""),
    }
}

fn run(html: Html, pen: Pen, text: &str) -> Html {
    let text: String =
        text.chars().filter(|notification| !notification.is_control() || *notification == '\t').collect();
    match pen == Pen::default() || text.is_empty() {
        true => html.text(&text),
        false => html.raw(format_args!("<span class=\"{}\">", pen.class())).text(&text).raw("</span>"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(line: &str) -> String {
        draw(line).to_string()
    }

    #[test]
    fn colours_become_classes_and_end_where_they_are_switched_off() {
        assert_eq!(drawn("a \u{1b}[1;31mred\u{1b}[0m b"), "a <span class=\"c1 bold\">red</span> b");
        assert_eq!(drawn("\u{1b}[38;5;10mx\u{1b}[39my"), "<span class=\"c10\">x</span>y");
        assert_eq!(drawn("\u{1b}[38;2;1;2;3mx"), "x");
    }

    #[test]
    fn other_sequences_and_broken_ones_vanish() {
        assert_eq!(drawn("a\u{1b}[2Kb\u{1b}[1;5Hc\u{1b}=d\u{7}"), "abcd");
        assert_eq!(drawn("end\u{1b}"), "end");
        assert_eq!(drawn("end\u{1b}[31"), "end");
        assert_eq!(drawn("<b>\u{1b}[31m<i>"), "&lt;b&gt;<span class=\"c1\">&lt;i&gt;</span>");
    }
}
