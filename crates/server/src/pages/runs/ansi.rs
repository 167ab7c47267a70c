//! Colours of terminals as classes. `ansi.js` does the same for lines that arrive later.
//!
//! Invariant: no control sequence reaches the page; what cannot be shown as a class is left out, and text is always text.

use crate::pages::layout::html::Html;

const ESCAPE: char = '\u{1b}';
const BELL: char = '\u{7}';

/// What the sequences so far have switched on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Pen {
    colour: Option<u8>,
    ground: Option<u8>,
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
    struck: bool,
    is_inverse: bool,
}

impl Pen {
    fn class(self) -> String {
        let (colour, ground) = (self.colour.map(|one| format!("c{one}")), self.ground.map(|one| format!("g{one}")));
        let others = [
            (self.bold, "bold"),
            (self.dim, "dim"),
            (self.italic, "italic"),
            (self.underline, "under"),
            (self.struck, "struck"),
            (self.is_inverse, "inverse"),
        ];
        let others = others.into_iter().filter(|(on, _)| *on).map(|(_, name)| name.to_owned());
        colour.into_iter().chain(ground).chain(others).collect::<Vec<String>>().join(" ")
    }

    fn take(&mut self, codes: &str) {
        // Some write the arguments of a colour with colons.
        let mut codes = codes.split([';', ':']).map(|code| code.parse::<u16>().unwrap_or(0));
        while let Some(code) = codes.next() {
            match code {
                0 => *self = Pen::default(),
                1 => self.bold = true,
                2 => self.dim = true,
                3 => self.italic = true,
                4 => self.underline = true,
                7 => self.is_inverse = true,
                9 => self.struck = true,
                22 => (self.bold, self.dim) = (false, false),
                23 => self.italic = false,
                24 => self.underline = false,
                27 => self.is_inverse = false,
                29 => self.struck = false,
                30..=37 => self.colour = u8::try_from(code - 30).ok(),
                39 => self.colour = None,
                40..=47 => self.ground = u8::try_from(code - 40).ok(),
                49 => self.ground = None,
                90..=97 => self.colour = u8::try_from(code - 90 + 8).ok(),
                100..=107 => self.ground = u8::try_from(code - 100 + 8).ok(),
                38 | 48 => {
                    let found = colour(&mut codes);
                    if code == 38 { self.colour = found } else { self.ground = found }
                }
                _ => {}
            }
        }
    }
}

/// A colour by number or by its parts, as the nearest of the sixteen that have a class.
fn colour(codes: &mut impl Iterator<Item = u16>) -> Option<u8> {
    match codes.next()? {
        5 => match codes.next()? {
            one @ 0..=15 => u8::try_from(one).ok(),
            one @ 16..=231 => {
                let part = |of: u16| if of == 0 { 0 } else { 55 + 40 * of };
                let one = one - 16;
                nearest(part(one / 36), part(one / 6 % 6), part(one % 6))
            }
            one @ 232..=255 => nearest(8 + 10 * (one - 232), 8 + 10 * (one - 232), 8 + 10 * (one - 232)),
            _ => None,
        },
        2 => nearest(codes.next()?, codes.next()?, codes.next()?),
        _ => None,
    }
}

/// By hue, and bright or dark; grey where there is no hue to speak of.
fn nearest(red: u16, green: u16, blue: u16) -> Option<u8> {
    let parts = [red, green, blue];
    let (low, high) = (*parts.iter().min()?, *parts.iter().max()?);
    if high > 255 {
        return None;
    }
    if high - low < 48 {
        return Some(match high {
            0..64 => 0,
            64..144 => 8,
            144..208 => 7,
            _ => 15,
        });
    }
    let half = low + (high - low) / 2;
    let bits = parts.iter().enumerate().map(|(place, part)| if *part > half { 1 << place } else { 0 }).sum::<u8>();
    Some(if high > 200 { bits + 8 } else { bits })
}

pub(crate) fn draw(line: &str) -> Html {
    let mut html = Html::new();
    let (mut pen, mut rest) = (Pen::default(), line);
    while let Some(at) = rest.find(ESCAPE) {
        html = piece(html, pen, &rest[..at]);
        let (codes, behind) = sequence(&rest[at + 1..]);
        if let Some(codes) = codes {
            pen.take(codes);
        }
        rest = behind;
    }
    piece(html, pen, rest)
}

/// The line without its sequences.
pub(crate) fn plain(line: &str) -> String {
    let (mut text, mut rest) = (String::new(), line);
    while let Some(at) = rest.find(ESCAPE) {
        text.push_str(&rest[..at]);
        rest = sequence(&rest[at + 1..]).1;
    }
    text + rest
}

/// What stands behind an escape: the codes if it sets colours, and the text after it.
fn sequence(text: &str) -> (Option<&str>, &str) {
    let mut chars = text.chars();
    match chars.next() {
        Some('[') => control(chars.as_str()),
        // Titles, links and the like end with a bell, or with an escape and a backslash.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            let inner = chars.as_str();
            let Some(end) = inner.find([BELL, ESCAPE]) else { return (None, "") };
            let behind = &inner[end + 1..];
            (None, if inner[end..].starts_with(BELL) { behind } else { behind.strip_prefix('\\').unwrap_or(behind) })
        }
        // Other sequences have one character; a lone escape has none.
        Some(_) | None => (None, chars.as_str()),
    }
}

fn control(inner: &str) -> (Option<&str>, &str) {
    match inner.find(|one: char| ('@'..='~').contains(&one)) {
        Some(end) if inner[end..].starts_with('m') => (Some(&inner[..end]), &inner[end + 1..]),
        Some(end) => (None, &inner[end + 1..]),
        None => (None, ""),
    }
}

fn piece(html: Html, pen: Pen, text: &str) -> Html {
    let text: String = text.chars().filter(|one| !one.is_control() || *one == '\t').collect();
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
        assert_eq!(drawn("\u{1b}[41;97mx\u{1b}[49my"), "<span class=\"c15 g1\">x</span><span class=\"c15\">y</span>");
        assert_eq!(drawn("\u{1b}[3;9;7mx\u{1b}[23;29;27my"), "<span class=\"italic struck inverse\">x</span>y");
    }

    #[test]
    fn a_colour_without_a_class_becomes_the_nearest_that_has_one() {
        for (code, class) in [
            ("38;2;255;0;0", "c9"),
            ("38;2;120;0;0", "c1"),
            ("38:2:0:250:10", "c10"),
            ("38;5;27", "c12"),
            ("38;5;208", "c11"),
            ("38;5;250", "c7"),
            ("48;5;22", "g2"),
        ] {
            assert_eq!(drawn(&format!("\u{1b}[{code}mx")), format!("<span class=\"{class}\">x</span>"), "{code}");
        }
        assert_eq!(drawn("\u{1b}[38;2;999;0;0mx"), "x");
    }

    #[test]
    fn other_sequences_and_broken_ones_vanish() {
        assert_eq!(drawn("a\u{1b}[2Kb\u{1b}[1;5Hc\u{1b}=d\u{7}"), "abcd");
        assert_eq!(drawn("end\u{1b}"), "end");
        assert_eq!(drawn("end\u{1b}[31"), "end");
        assert_eq!(drawn("a\u{1b}]0;title\u{7}b\u{1b}]0;never ended"), "ab");
        assert_eq!(plain("\u{1b}[31merror\u{1b}[0m: no"), "error: no");
    }

    /// Whatever a job writes is text on the page: neither markup nor the address of a link becomes anything else.
    #[test]
    fn what_a_job_writes_stays_text() {
        assert_eq!(drawn("<b>\u{1b}[31m<i>"), "&lt;b&gt;<span class=\"c1\">&lt;i&gt;</span>");
        assert_eq!(drawn("\u{1b}]8;;javascript:alert(1)\u{1b}\\click\u{1b}]8;;\u{1b}\\"), "click");
        assert_eq!(drawn("\u{1b}[31\" onmouseover=\"alert(1)mx"), "nmouseover=&quot;alert(1)mx");
        assert_eq!(drawn("\u{1b}[1;\u{202e}31mx"), "x");
        for hostile in
            ["<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "</span></div><svg onload=alert(1)>"]
        {
            for line in
                [hostile.to_owned(), format!("\u{1b}[31m{hostile}\u{1b}[0m"), format!("\u{1b}]0;{hostile}\u{7}")]
            {
                let shown = drawn(&line);
                let inner = shown.replace("<span class=\"c1\">", "").replace("</span>", "");
                assert!(!inner.contains(['<', '>', '"']), "{shown}");
            }
        }
    }
}
